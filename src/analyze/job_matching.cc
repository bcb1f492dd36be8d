#include "analyze/job_matching.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "analyze/quantile.h"
#include "base/saturating.h"

namespace stepscope {
namespace {

constexpr size_t kMostPairs = 4'000'000;  // that are looked at to find a shift
constexpr int64_t kMostShiftNs = 10'000'000'000;
// Ends of one collective are so close: a part of what lies between two, within bounds.
constexpr int64_t kPartOfGap = 20;
constexpr int64_t kAgreeNs = 200'000;
constexpr int64_t kMostAgreeNs = 5'000'000;
constexpr double kMostAgree = 0.6;  // of the calls, to be in order

using Call = JobCollective::Member;

// Where only a kernel tells what a call was, an all_to_all is a send_recv.
CollectiveType kind_to_match(CollectiveType type) {
  return type == CollectiveType::kAllToAll ? CollectiveType::kSendReceive : type;
}

class Matcher {
 public:
  explicit Matcher(Job& job) : job_(job) {}

  void match() {
    find_groups();
    collect();
    for (const auto& [key, calls] : by_sequence_) add(std::get<0>(key), calls);
    for (const auto& [group, lists] : by_order_) match_by_order(group, lists);
    std::erase_if(job_.collectives,
                  [](const JobCollective& one) { return one.members.size() < 2; });
  }

 private:
  using Kinds = std::map<uint8_t, std::vector<Call>>;  // by kind, in order
  using Lists = std::map<uint32_t, Kinds>;             // by rank

  const CollectiveCall& call_of(const Call& call) const {
    return job_.ranks[call.rank].summary.calls[call.call];
  }
  CollectiveType type_of(const Call& call) const {
    const RankSummary& summary = job_.ranks[call.rank].summary;
    return summary.shapes[summary.calls[call.call].shape].type;
  }

  // A name stands for one group; the ranks are part of it, because frameworks give the same name to
  // the groups of different ranks ("tp").
  void find_groups() {
    std::map<std::pair<std::string, std::vector<int32_t>>, uint32_t> known;
    for (JobRank& rank : job_.ranks) {
      for (const ProcessGroup& group : rank.summary.groups) {
        const auto [it, is_new] =
            known.try_emplace({group.name, group.ranks}, static_cast<uint32_t>(job_.groups.size()));
        if (is_new) {
          job_.groups.push_back({group.name, group.description, group.ranks, group.size});
        }
        rank.groups.push_back(it->second);
      }
    }
  }

  void collect() {
    for (uint32_t r = 0; r < job_.ranks.size(); ++r) {
      const RankSummary& summary = job_.ranks[r].summary;
      for (uint32_t i = 0; i < summary.calls.size(); ++i) {
        const CollectiveCall& call = summary.calls[i];
        const CollectiveShape& shape = summary.shapes[call.shape];
        const uint32_t group = job_.ranks[r].groups[shape.group];
        const bool is_pair = is_point_to_point(shape.type);
        if (call.sequence >= 0) {
          by_sequence_[{group, is_pair, call.sequence}].push_back({r, i});
        } else {
          const auto kind = static_cast<uint8_t>(kind_to_match(shape.type));
          by_order_[group][r][kind].push_back({r, i});
        }
      }
    }
  }

  // A rank that has two calls under one number says nothing by it.
  void add(uint32_t group, const std::vector<Call>& calls) {
    JobCollective one;
    one.group = group;
    for (const Call& call : calls) {
      if (!one.members.empty() && one.members.back().rank == call.rank) continue;
      one.members.push_back(call);
    }
    // The first that says more than what kernel it was.
    const auto telling = std::find_if(
        one.members.begin(), one.members.end(),
        [&](const Call& call) { return type_of(call) != CollectiveType::kSendReceive; });
    one.type = type_of(telling == one.members.end() ? one.members.front() : *telling);
    job_.collectives.push_back(std::move(one));
  }

  // The rank whose numbers of calls most ranks have is the model; others are laid against it.
  void match_by_order(uint32_t group, const Lists& lists) {
    std::map<std::map<uint8_t, size_t>, std::pair<size_t, uint32_t>> shapes;  // ranks, the first
    for (const auto& [rank, kinds] : lists) {
      std::map<uint8_t, size_t> counts;
      for (const auto& [kind, calls] : kinds) counts[kind] = calls.size();
      ++shapes.try_emplace(std::move(counts), 0, rank).first->second.first;
    }
    const auto most = std::max_element(
        shapes.begin(), shapes.end(),
        [](const auto& a, const auto& b) { return a.second.first < b.second.first; });
    const Kinds& model = lists.at(most->second.second);
    const int64_t agree_ns = find_tolerance(model);
    std::map<uint8_t, std::vector<std::vector<Call>>> found;
    for (const auto& [kind, calls] : model) {
      for (const Call& call : calls) found[kind].push_back({call});
    }
    for (const auto& [rank, kinds] : lists) {
      if (&kinds == &model) continue;
      if (is_in_order(model, kinds, agree_ns)) {
        for (const auto& [kind, calls] : kinds) {
          for (size_t i = 0; i < calls.size(); ++i) found[kind][i].push_back(calls[i]);
        }
        continue;
      }
      const int64_t shift_ns = find_shift(model, kinds, agree_ns);
      for (const auto& [kind, calls] : kinds) {
        const auto of_model = model.find(kind);
        if (of_model == model.end()) continue;
        match_shifted(of_model->second, calls, shift_ns, agree_ns, found[kind]);
      }
    }
    for (const auto& [kind, collectives] : found) {
      for (const std::vector<Call>& calls : collectives) add(group, calls);
    }
  }

  int64_t end_of(const Call& call) const { return call_of(call).end_ns; }

  // How far apart ends may be to be one collective's: little against what lies between two.
  int64_t find_tolerance(const Kinds& model) const {
    std::vector<int64_t> ends;
    for (const auto& [kind, calls] : model) {
      for (const Call& call : calls) ends.push_back(end_of(call));
    }
    std::sort(ends.begin(), ends.end());
    std::vector<int64_t> gaps;
    for (size_t i = 1; i < ends.size(); ++i) gaps.push_back(ends[i] - ends[i - 1]);
    return std::clamp(quantile(gaps, 0.5) / kPartOfGap, kAgreeNs, kMostAgreeNs);
  }

  // Whether the n-th call of a kind is the n-th of the other: as many, and at one distance.
  bool is_in_order(const Kinds& model, const Kinds& kinds, int64_t agree_ns) const {
    std::vector<int64_t> shifts;
    if (model.size() != kinds.size()) return false;
    for (const auto& [kind, calls] : kinds) {
      const auto other = model.find(kind);
      if (other == model.end() || other->second.size() != calls.size()) return false;
      for (size_t i = 0; i < calls.size(); ++i) {
        shifts.push_back(end_of(calls[i]) - end_of(other->second[i]));
      }
    }
    const int64_t middle = quantile(shifts, 0.5);
    const auto near = std::count_if(shifts.begin(), shifts.end(), [&](int64_t shift) {
      return subtract_saturating(shift, middle) <= agree_ns &&
             subtract_saturating(middle, shift) <= agree_ns;
    });
    return static_cast<double>(near) >= kMostAgree * static_cast<double>(shifts.size());
  }

  // One to one, with the nearest end.
  void match_shifted(const std::vector<Call>& model, const std::vector<Call>& calls,
                     int64_t shift_ns, int64_t agree_ns,
                     std::vector<std::vector<Call>>& found) const {
    size_t at = 0;
    for (const Call& call : calls) {
      const int64_t wanted_ns = end_of(call) - shift_ns;
      while (at < model.size() && end_of(model[at]) < wanted_ns - agree_ns) ++at;
      if (at == model.size()) return;
      const auto distance = [&](size_t i) { return std::abs(end_of(model[i]) - wanted_ns); };
      while (at + 1 < model.size() && distance(at + 1) < distance(at)) ++at;
      if (distance(at) <= agree_ns) found[at++].push_back(call);
    }
  }

  // Between the ends of two ranks: that at which most of them meet, the smallest of several.
  int64_t find_shift(const Kinds& model, const Kinds& kinds, int64_t agree_ns) const {
    std::vector<int64_t> shifts;
    for (const auto& [kind, calls] : kinds) {
      const auto other = model.find(kind);
      if (other == model.end()) continue;
      for (const Call& a : calls) {
        if (shifts.size() > kMostPairs) break;
        for (const Call& b : other->second) {
          const int64_t shift = end_of(a) - end_of(b);
          if (shift >= -kMostShiftNs && shift <= kMostShiftNs) shifts.push_back(shift);
        }
      }
    }
    std::sort(shifts.begin(), shifts.end());
    size_t best = 0;
    int64_t best_shift = 0;
    for (size_t begin = 0, end = 0; begin < shifts.size(); ++begin) {
      while (end < shifts.size() && shifts[end] - shifts[begin] <= agree_ns) ++end;
      const int64_t middle = shifts[begin + (end - begin) / 2];
      const size_t count = end - begin;
      if (count > best || (count == best && std::abs(middle) < std::abs(best_shift))) {
        best = count;
        best_shift = middle;
      }
    }
    return best_shift;
  }

  Job& job_;
  std::map<std::tuple<uint32_t, bool, int64_t>, std::vector<Call>> by_sequence_;
  std::map<uint32_t, Lists> by_order_;
};

}  // namespace

void match_collectives(Job& job) { Matcher(job).match(); }

}  // namespace stepscope
