#include "trace/sampled_calls.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "base/flat_map.h"
#include "base/saturating.h"
#include "trace/stack_walk.h"
#include "trace/trace_builder.h"

namespace stepscope {
namespace {

constexpr uint32_t kMaxLevels = 64;

class SampledCalls {
 public:
  explicit SampledCalls(const Trace& trace)
      : trace_(trace), samples_(trace.samples()), stacks_(trace.stacks()) {}

  Trace build() {
    builder_.set_source(trace_.source());
    builder_.set_format(trace_.format());
    find_levels();
    std::vector<std::vector<uint32_t>> rows(trace_.tracks().size());
    for (uint32_t row = 0; row < samples_.time_ns.size(); ++row) {
      const bool is_known =
          index(samples_.track[row]) < rows.size() && index(samples_.stack[row]) < stacks_.size();
      if (is_known) rows[index(samples_.track[row])].push_back(row);
    }
    for (uint32_t track = 0; track < rows.size(); ++track) {
      std::stable_sort(rows[track].begin(), rows[track].end(), [&](uint32_t a, uint32_t b) {
        return samples_.time_ns[a] < samples_.time_ns[b];
      });
      if (!rows[track].empty()) add_track(trace_.tracks()[track], rows[track]);
    }
    return std::move(builder_).finish();
  }

 private:
  struct Open {
    StackId stack;
    SliceRef slice;
  };

  // A stack comes after the one that called it. Stacks that differ only in lines are one: the
  // first of them stands for all.
  void find_levels() {
    levels_.resize(stacks_.size());
    callers_.resize(stacks_.size(), kNoStack);
    shown_.resize(stacks_.size());
    std::vector<StackId> same(stacks_.size());
    FlatMap by_functions;
    for (uint32_t id = 0; id < stacks_.size(); ++id) {
      const uint32_t parent = parent_of_stack(stacks_, id);
      const bool has_parent = parent != kNoParent;
      if (has_parent) callers_[id] = same[parent];
      const uint64_t key = uint64_t{index(callers_[id])} << 32 | index(stacks_[id].frame);
      same[id] = StackId{by_functions.try_emplace(key, id).value};
      levels_[id] = has_parent ? levels_[parent] + 1 : 0;
      shown_[id] = levels_[id] < kMaxLevels ? same[id] : shown_[parent];
    }
  }

  LabelId label_of(StackId stack) {
    const uint32_t frame_id = index(stacks_[index(stack)].frame);
    if (frame_id >= trace_.frames().size()) return builder_.label("?", "", SliceKind::kCall);
    const Frame& frame = trace_.frames()[frame_id];
    std::string name(trace_.string(frame.name));
    if (frame.file != kEmptyString) {
      name.append(" (").append(trace_.string(frame.file));
      if (frame.line > 0) name += ":" + std::to_string(frame.line);
      name += ")";
    }
    return builder_.label(name, "", SliceKind::kCall);
  }

  ForeignId copy(const ForeignId& id) {
    return {id.number, builder_.string(trace_.string(id.text))};
  }

  void add_track(const Track& from, const std::vector<uint32_t>& rows) {
    const Process& process = trace_.processes()[from.process];
    const ForeignId pid = copy(process.pid);
    const StringId process_name = builder_.string(trace_.string(process.name));
    builder_.process(builder_.add_process(pid)).name = process_name;
    const TrackId track = builder_.add_thread(pid, copy(from.tid));
    builder_.track(track).name = builder_.string(trace_.string(from.name));
    int64_t end_ns = 0;
    int64_t weight_ns = 0;
    for (const uint32_t row : rows) {
      const int64_t time_ns = samples_.time_ns[row];
      // After a pause nothing is known to have gone on.
      if (time_ns > add_saturating(end_ns, weight_ns / 2)) close(0, end_ns);
      show(track, shown_[index(samples_.stack[row])], time_ns);
      weight_ns = std::max<int64_t>(0, samples_.weight_ns[row]);
      end_ns = std::max(time_ns, add_saturating(time_ns, weight_ns));
    }
    close(0, end_ns);
  }

  void close(size_t levels, int64_t end_ns) {
    for (; open_.size() > levels; open_.pop_back()) {
      const SliceRef slice = open_.back().slice;
      builder_.set_dur_ns(
          slice, std::max<int64_t>(0, subtract_saturating(end_ns, builder_.start_ns(slice))));
    }
  }

  // Closes what is not in the stack and opens what is new in it.
  void show(TrackId track, StackId stack, int64_t time_ns) {
    std::vector<StackId> fresh;
    StackId at = stack;
    while (true) {
      const uint32_t level = levels_[index(at)];
      if (level < open_.size() && open_[level].stack == at) {
        close(level + 1, time_ns);
        break;
      }
      fresh.push_back(at);
      if (level == 0) {
        close(0, time_ns);
        break;
      }
      at = callers_[index(at)];
    }
    for (size_t i = fresh.size(); i-- > 0;) {
      open_.push_back({fresh[i], builder_.add_slice(track, time_ns, 0, label_of(fresh[i]))});
    }
  }

  const Trace& trace_;
  const SampleColumns& samples_;
  const std::span<const StackNode> stacks_;
  std::vector<uint32_t> levels_;  // by stack
  std::vector<StackId> callers_;  // by stack: the parent, whatever its line
  std::vector<StackId>
      shown_;  // by stack: itself, whatever its line, or the deepest one around it that is shown
  std::vector<Open> open_;
  TraceBuilder builder_;
};

}  // namespace

Trace build_sampled_calls(const Trace& trace) { return SampledCalls(trace).build(); }

}  // namespace stepscope
