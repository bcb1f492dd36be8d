#include "analyze/calls_of_samples.h"

#include <algorithm>
#include <bit>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analyze/sample_cells.h"
#include "analyze/sampled_frames.h"
#include "analyze/training_thread.h"
#include "trace/sample_weights.h"
#include "trace/stack_walk.h"
#include "trace/torch_scopes.h"
#include "trace/trace_builder.h"

namespace stepscope {
namespace {

constexpr std::string_view kMadeOfSamples = "made_of_samples";
constexpr std::string_view kOriginal = "original_slice";
constexpr uint32_t kMaxLevels = 1'000;
constexpr int64_t kMaxWeightNs = 10'000'000'000;
// A thread that does not run crosses no mark: few looks stand for all of them.
constexpr int64_t kMostLooks = 4;

// A slice that is open, or is to be.
struct Entry {
  LabelId label{};
  uint32_t mark = UINT32_MAX;  // the row of a recorded mark
  TrainingRole role = TrainingRole::kNone;
  bool has_opener = false;  // a mark that lies in the function that opens it
  SliceRef slice = kNoSliceRef;

  bool is_mark() const { return mark != UINT32_MAX; }
  bool is_same(const Entry& other) const { return label == other.label && mark == other.mark; }
};

enum class MarkKind : uint8_t { kNone, kStep, kScope, kGarbageCollection };

struct Look {
  StackId stack;
  uint8_t flags;
};

// The marks of one region, outermost first.
struct OpenMarks {
  std::vector<uint32_t> steps, scopes, collections;  // rows
};

class Maker {
 public:
  explicit Maker(const Trace& trace)
      : trace_(trace),
        slices_(trace.slices()),
        stacks_(trace.stacks()),
        thread_(TrainingThread::of(trace)),
        meanings_(find_frame_meanings(trace)) {}

  Trace make() {
    copy_surroundings();
    make_labels();
    find_stacks();
    std::vector<std::vector<uint32_t>> rows(trace_.tracks().size());
    const SampleColumns& samples = trace_.samples();
    for (uint32_t row = 0; row < samples.size(); ++row) {
      const bool is_known =
          index(samples.track[row]) < rows.size() && index(samples.stack[row]) < stacks_.size();
      if (is_known) rows[index(samples.track[row])].push_back(row);
    }
    for (uint32_t track = 0; track < rows.size(); ++track) make_track(TrackId{track}, rows[track]);
    return std::move(builder_).finish();
  }

 private:
  StringId copy(StringId id) { return builder_.string(trace_.string(id)); }
  ForeignId copy(const ForeignId& id) { return {id.number, copy(id.text)}; }

  void copy_surroundings() {
    builder_.set_source(trace_.source());
    builder_.set_format(trace_.format());
    builder_.set_clock_base_ns(trace_.clock_base_ns());
    for (const MetadataEntry& entry : trace_.metadata()) {
      builder_.add_metadata(trace_.string(entry.key), trace_.string(entry.value), entry.is_json);
    }
    builder_.add_metadata(kMadeOfSamples, "1", false);
    for (const Process& process : trace_.processes()) {
      Process& copied = builder_.process(builder_.add_new_process(copy(process.pid)));
      copied.name = copy(process.name);
      copied.labels = copy(process.labels);
      copied.sort_index = process.sort_index;
      copied.has_sort_index = process.has_sort_index;
    }
    for (const Track& track : trace_.tracks()) {
      Track copied = track;
      copied.tid = copy(track.tid);
      copied.name = copy(track.name);
      copied.series = copy(track.series);
      copied.unit = copy(track.unit);
      copied.first_slice = copied.slice_count = 0;
      copied.first_value = copied.value_count = 0;
      const TrackId id = builder_.add_track(copied);
      for (uint64_t i = 0; i < track.value_count; ++i) {
        const uint64_t at = track.first_value + i;
        builder_.add_counter_value(id, trace_.counters().time_ns[at], trace_.counters().value[at]);
      }
    }
  }

  void make_labels() {
    for (const Label& label : trace_.labels().all()) {
      const std::string_view category = trace_.string(label.category);
      labels_.push_back(builder_.label(trace_.string(label.name), category, label.kind));
      const TrainingRole role = thread_->role(LabelId{static_cast<uint32_t>(kinds_.size())});
      MarkKind kind = MarkKind::kNone;
      if (label.kind == SliceKind::kStep) {
        kind = MarkKind::kStep;
      } else if (category == "gc") {
        kind = MarkKind::kGarbageCollection;
      } else if (role != TrainingRole::kNone && role != TrainingRole::kHost) {
        kind = MarkKind::kScope;
      }
      kinds_.push_back(kind);
    }
    for (const Frame& frame : trace_.frames()) {
      // As the tracer names what it records.
      std::string name(trace_.string(frame.file));
      if (!name.empty()) name += "(" + std::to_string(frame.line) + "): ";
      name += trace_.string(frame.name);
      functions_.push_back(builder_.label(name, "python_function", SliceKind::kPython));
    }
    const auto phase = [&](std::string_view name) {
      return builder_.label(name, kPhaseCategory, SliceKind::kAnnotation);
    };
    fetch_ = phase("fetch");
    collate_ = phase("collate");
    checkpoint_ = phase("checkpoint");
    module_ = builder_.label("nn.Module", "nn_module", SliceKind::kAnnotation);
    collective_ = builder_.label("c10d::collective", "cpu_op", SliceKind::kAnnotation);
    waiting_ = builder_.label("waiting", kSampledWaitCategory, SliceKind::kOther);
    native_ = builder_.label("native code", "cpu_op", SliceKind::kOperator);
    original_ = builder_.arg_column(kOriginal, ArgType::kInt);
  }

  LabelId label_of(FrameMark mark) const {
    switch (mark) {
      case FrameMark::kForward:
        return module_;
      case FrameMark::kFetch:
        return fetch_;
      case FrameMark::kCollate:
        return collate_;
      case FrameMark::kCheckpoint:
        return checkpoint_;
      default:
        return collective_;
    }
  }

  void find_stacks() {
    levels_.resize(stacks_.size());
    for (uint32_t node = 0; node < stacks_.size(); ++node) {
      const uint32_t parent = parent_of_stack(stacks_, node);
      levels_[node] = parent == kNoParent ? 0 : levels_[parent] + 1;
      uses_torch_ |= meanings_[node].is_torch;
    }
  }

  // The nodes of a stack, outermost first.
  void list_nodes(StackId stack, std::vector<uint32_t>& nodes) const {
    nodes.clear();
    for (uint32_t node = index(stack); node != kNoParent; node = parent_of_stack(stacks_, node)) {
      if (levels_[node] < kMaxLevels) nodes.push_back(node);
    }
    std::reverse(nodes.begin(), nodes.end());
  }

  void make_track(TrackId id, std::vector<uint32_t>& rows) {
    const Track& track = trace_.tracks()[index(id)];
    if (rows.empty()) return copy_slices(id, track);
    std::vector<Look> looks;
    std::vector<SampleLook> times;
    list_looks(rows, looks, times);
    std::vector<SampleRegion> regions;
    std::vector<OpenMarks> marks;
    list_regions(track, times, regions, marks);
    open_.clear();
    int64_t end_ns = regions.front().time.begin_ns;
    for (const SampleCell& cell : find_sample_cells(regions, times)) {
      const Look* look = cell.look == kNoLook ? nullptr : &looks[cell.look];
      show(id, marks[cell.region], look, cell.time.begin_ns);
      end_ns = cell.time.end_ns;
    }
    close(0, end_ns);
  }

  void copy_slices(TrackId id, const Track& track) {
    for (uint32_t row = track.first_slice; row < track.first_slice + track.slice_count; ++row) {
      const SliceRef slice = builder_.add_slice(id, slices_.start_ns[row], slices_.dur_ns[row],
                                                labels_[index(slices_.label[row])]);
      builder_.add_int(original_, slice, row);
    }
  }

  void list_looks(std::vector<uint32_t>& rows, std::vector<Look>& looks,
                  std::vector<SampleLook>& times) const {
    const SampleColumns& samples = trace_.samples();
    std::stable_sort(rows.begin(), rows.end(), [&](uint32_t a, uint32_t b) {
      return samples.time_ns[a] < samples.time_ns[b];
    });
    for (const uint32_t row : rows) {
      const int64_t count = std::clamp<int64_t>(samples.get_count(row), 1, kMostLooks);
      const int64_t weight_ns =
          std::clamp<int64_t>(samples.weight_ns[row], 0, kMaxWeightNs) / count;
      for (int64_t i = 0; i < count; ++i) {
        const int64_t time_ns = samples.time_ns[row] + i * weight_ns;
        if (!times.empty() && time_ns < times.back().time_ns) continue;
        looks.push_back({samples.stack[row], samples.get_flags(row)});
        times.push_back({time_ns, weight_ns});
      }
    }
  }

  // From the first look or mark to the last, divided where a mark begins or ends.
  void list_regions(const Track& track, const std::vector<SampleLook>& looks,
                    std::vector<SampleRegion>& regions, std::vector<OpenMarks>& marks) const {
    std::vector<uint32_t> open;  // rows
    uint64_t last_label = 0;     // of the scope that ended last
    int64_t at_ns = looks.front().time_ns;
    const auto divide = [&](int64_t until_ns) {
      if (until_ns <= at_ns) return;
      OpenMarks around;
      uint64_t kind = last_label;
      for (const uint32_t row : open) {
        switch (kinds_[index(slices_.label[row])]) {
          case MarkKind::kStep:
            around.steps.push_back(row);
            break;
          case MarkKind::kGarbageCollection:
            around.collections.push_back(row);
            break;
          default:
            if (around.scopes.empty()) kind = 1;
            kind = kind * 1'000'003 + index(slices_.label[row]) + 2;
            around.scopes.push_back(row);
        }
      }
      // Regions that are about as long are alike.
      kind = kind * 64 +
             static_cast<uint64_t>(std::bit_width(static_cast<uint64_t>(until_ns - at_ns)) / 2);
      regions.push_back({{at_ns, until_ns}, kind});
      marks.push_back(std::move(around));
      at_ns = until_ns;
    };
    const auto close_until = [&](int64_t time_ns) {
      while (!open.empty()) {
        const auto first = std::min_element(open.begin(), open.end(), [&](uint32_t a, uint32_t b) {
          return slices_.end_ns(a) < slices_.end_ns(b);
        });
        const uint32_t row = *first;
        if (slices_.end_ns(row) > time_ns) break;
        divide(slices_.end_ns(row));
        open.erase(first);
        const LabelId label = slices_.label[row];
        if (kinds_[index(label)] == MarkKind::kScope) last_label = 2 * index(label) + 1;
      }
    };
    for (uint32_t row = track.first_slice; row < track.first_slice + track.slice_count; ++row) {
      if (kinds_[index(slices_.label[row])] == MarkKind::kNone) continue;
      const int64_t start_ns = slices_.start_ns[row];
      if (regions.empty() && open.empty()) at_ns = std::min(at_ns, start_ns);
      close_until(start_ns);
      divide(start_ns);
      open.push_back(row);
    }
    close_until(INT64_MAX);
    divide(
        std::max(at_ns + 1, looks.back().time_ns + std::max<int64_t>(1, looks.back().weight_ns)));
  }

  // Closes what is over and opens what is new, of the marks and the functions at a moment.
  void show(TrackId track, const OpenMarks& marks, const Look* look, int64_t time_ns) {
    wanted_.clear();
    // Marks that are open stay where they are, with what is around them.
    std::vector<uint32_t> rows = marks.steps;
    rows.insert(rows.end(), marks.scopes.begin(), marks.scopes.end());
    size_t kept_marks = 0;
    size_t kept = 0;
    for (size_t i = 0; i < open_.size() && kept_marks < rows.size(); ++i) {
      if (!open_[i].is_mark()) continue;
      if (open_[i].mark != rows[kept_marks]) break;
      ++kept_marks;
      kept = i + 1;
    }
    wanted_.assign(open_.begin(), open_.begin() + static_cast<ptrdiff_t>(kept));

    nodes_.clear();
    if (look != nullptr) list_nodes(look->stack, nodes_);
    size_t next = 0;  // of nodes_
    if (kept > 0 && wanted_.back().has_opener) {
      next = find_inside(wanted_.back().role, 0).value_or(nodes_.size());
    }
    for (size_t i = kept_marks; i < rows.size(); ++i) {
      const LabelId label = slices_.label[rows[i]];
      Entry entry{labels_[index(label)], rows[i], thread_->role(label), false, kNoSliceRef};
      const auto inside = i < marks.steps.size() ? std::nullopt : find_inside(entry.role, next);
      if (inside) {
        want_functions(next, *inside);
        next = *inside;
        entry.has_opener = true;
      }
      wanted_.push_back(entry);
    }
    want_functions(next, nodes_.size());
    if (look != nullptr && (look->flags & kSampleWaited) != 0) {
      wanted_.push_back({.label = waiting_});
    } else if (look != nullptr && uses_torch_ && (look->flags & kSampleHeldGil) == 0) {
      wanted_.push_back({.label = native_});
    }
    for (const uint32_t row : marks.collections) {
      wanted_.push_back({.label = labels_[index(slices_.label[row])], .mark = row});
    }
    apply(track, time_ns);
  }

  // Where the functions begin that lie in a scope of that role.
  std::optional<size_t> find_inside(TrainingRole role, size_t from) const {
    for (size_t i = from; i < nodes_.size(); ++i) {
      if (role == TrainingRole::kNone) break;
      if (meanings_[nodes_[i]].is_in == role) return i;
      if (meanings_[nodes_[i]].opens == role) return i + 1;
    }
    return std::nullopt;
  }

  void want_functions(size_t from, size_t to) {
    for (size_t i = from; i < to; ++i) {
      const uint32_t node = nodes_[i];
      const uint32_t frame = index(stacks_[node].frame);
      if (frame >= functions_.size()) continue;
      const FrameMark mark = meanings_[node].mark;
      if (mark != FrameMark::kNone) wanted_.push_back({.label = label_of(mark)});
      wanted_.push_back({.label = functions_[frame]});
    }
  }

  void apply(TrackId track, int64_t time_ns) {
    size_t same = 0;
    while (same < open_.size() && same < wanted_.size() && open_[same].is_same(wanted_[same])) {
      ++same;
    }
    close(same, time_ns);
    for (size_t i = same; i < wanted_.size(); ++i) {
      Entry entry = wanted_[i];
      entry.slice = builder_.add_slice(track, time_ns, 0, entry.label);
      if (entry.is_mark()) builder_.add_int(original_, entry.slice, entry.mark);
      open_.push_back(entry);
    }
  }

  void close(size_t levels, int64_t end_ns) {
    for (; open_.size() > levels; open_.pop_back()) {
      const SliceRef slice = open_.back().slice;
      builder_.set_dur_ns(slice, end_ns - builder_.start_ns(slice));
    }
  }

  const Trace& trace_;
  const SliceColumns& slices_;
  const std::span<const StackNode> stacks_;
  const std::shared_ptr<const TrainingThread> thread_;
  const std::vector<FrameMeaning> meanings_;
  TraceBuilder builder_;
  ArgColumnRef original_{};
  bool uses_torch_ = false;
  std::vector<LabelId> labels_;     // here, by label of the run
  std::vector<MarkKind> kinds_;     // by label of the run
  std::vector<LabelId> functions_;  // by frame
  LabelId fetch_{}, collate_{}, checkpoint_{}, module_{}, collective_{}, waiting_{}, native_{};
  std::vector<uint32_t> levels_;  // by stack
  std::vector<Entry> open_, wanted_;
  std::vector<uint32_t> nodes_;  // of the stack that is shown
};

}  // namespace

std::shared_ptr<const CallsOfSamples> CallsOfSamples::of(const Trace& trace) {
  if (trace.find_metadata("sampling").empty() || is_made_of_samples(trace)) return nullptr;
  if (!functions_are_sampled(trace)) return nullptr;
  return trace.derived().get<CallsOfSamples>("calls of samples",
                                             [&] { return CallsOfSamples(Maker(trace).make()); });
}

SliceId CallsOfSamples::find_original(SliceId slice) const {
  const ArgColumn* rows = trace_.find_args(kOriginal, ArgType::kInt);
  if (rows == nullptr || slice == kNoSlice) return kNoSlice;
  const auto at = rows->find(slice);
  return at ? SliceId{static_cast<uint32_t>(rows->ints[*at])} : kNoSlice;
}

const Trace& trace_with_calls(const Trace& trace) {
  const auto calls = CallsOfSamples::of(trace);
  return calls == nullptr ? trace : calls->trace();
}

bool is_made_of_samples(const Trace& trace) { return !trace.find_metadata(kMadeOfSamples).empty(); }

}  // namespace stepscope
