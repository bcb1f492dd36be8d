#include "analyze/job_clocks.h"

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <vector>

namespace stepscope {
namespace {

constexpr int kRounds = 6;

// The mean of the two in the middle, where there are two.
int64_t median_of(std::vector<int64_t>& values) {
  const size_t half = values.size() / 2;
  const auto middle = values.begin() + static_cast<ptrdiff_t>(half);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1) return *middle;
  const int64_t below = *std::max_element(values.begin(), middle);
  return below + (*middle - below) / 2;
}

class Aligner {
 public:
  explicit Aligner(Job& job) : job_(job), links_(job.ranks.size()), offsets_(job.ranks.size()) {}

  void align() {
    collect(true);
    if (ends_.empty()) collect(false);
    if (ends_.empty()) return;
    moments_.resize(ends_.size());
    spread();
    for (int round = 0; round < kRounds; ++round) {
      find_moments();
      find_offsets();
    }
    find_moments();
    finish();
  }

 private:
  struct End {
    uint32_t rank;
    int64_t end_ns;  // from the job's origin
  };

  void collect(bool only_together) {
    for (const JobCollective& one : job_.collectives) {
      if (only_together && !ends_together(one.type)) continue;
      std::vector<End> ends;
      for (const auto& member : one.members) {
        const JobRank& rank = job_.ranks[member.rank];
        const int64_t end_ns = job_.relative_ns(rank.summary.calls[member.call].end_ns);
        ends.push_back({member.rank, end_ns});
        links_[member.rank].push_back({static_cast<uint32_t>(ends_.size()), end_ns});
      }
      ends_.push_back(std::move(ends));
    }
  }

  // From one rank to those that it communicates with, and on. Pieces of the job that never meet
  // keep a clock each.
  void spread() {
    for (uint32_t first = 0; first < offsets_.size(); ++first) {
      if (offsets_[first] || links_[first].empty()) continue;
      // Where nothing connects it with the ranks before, its own clock has to be believed.
      offsets_[first] = 0;
      std::vector<uint32_t> wave = {first};
      std::vector<uint8_t> is_seen(offsets_.size());
      while (!wave.empty()) {
        std::vector<uint32_t> next;
        find_moments();
        for (const uint32_t rank : wave) {
          for (const Link& link : links_[rank]) {
            for (const End& end : ends_[link.collective]) {
              if (offsets_[end.rank] || is_seen[end.rank] != 0) continue;
              is_seen[end.rank] = 1;
              next.push_back(end.rank);
            }
          }
        }
        std::vector<std::optional<int64_t>> found(next.size());
        for (size_t i = 0; i < next.size(); ++i) found[i] = offset_of(next[i]);
        for (size_t i = 0; i < next.size(); ++i) offsets_[next[i]] = found[i];
        wave = std::move(next);
      }
    }
  }

  void find_moments() {
    std::vector<int64_t> values;
    for (size_t i = 0; i < ends_.size(); ++i) {
      values.clear();
      for (const End& end : ends_[i]) {
        if (offsets_[end.rank]) values.push_back(end.end_ns - *offsets_[end.rank]);
      }
      moments_[i] = values.empty() ? std::nullopt : std::optional(median_of(values));
    }
  }

  std::optional<int64_t> offset_of(uint32_t rank) const {
    std::vector<int64_t> values;
    for (const Link& link : links_[rank]) {
      if (moments_[link.collective]) values.push_back(link.end_ns - *moments_[link.collective]);
    }
    return values.empty() ? std::nullopt : std::optional(median_of(values));
  }

  void find_offsets() {
    for (uint32_t rank = 0; rank < offsets_.size(); ++rank) {
      if (!links_[rank].empty()) offsets_[rank] = offset_of(rank);
    }
  }

  void finish() {
    const auto first = std::find_if(offsets_.begin(), offsets_.end(),
                                    [](const auto& offset) { return offset.has_value(); });
    const int64_t base_ns = first == offsets_.end() ? 0 : **first;
    for (uint32_t rank = 0; rank < offsets_.size(); ++rank) {
      if (!offsets_[rank]) continue;
      std::vector<int64_t> errors;
      for (const Link& link : links_[rank]) {
        if (!moments_[link.collective]) continue;
        errors.push_back(std::abs(link.end_ns - *offsets_[rank] - *moments_[link.collective]));
      }
      JobRank& out = job_.ranks[rank];
      out.clock_offset_ns = *offsets_[rank] - base_ns;
      out.clock_calls = errors.size();
      if (!errors.empty()) out.clock_error_ns = median_of(errors);
    }
  }

  struct Link {
    uint32_t collective;  // into ends_
    int64_t end_ns;
  };

  Job& job_;
  std::vector<std::vector<End>> ends_;           // by collective that ends together
  std::vector<std::vector<Link>> links_;         // by rank
  std::vector<std::optional<int64_t>> offsets_;  // by rank
  std::vector<std::optional<int64_t>> moments_;  // by collective
};

}  // namespace

void align_clocks(Job& job) { Aligner(job).align(); }

}  // namespace stepscope
