#include "analyze/rank_summary.h"

#include <algorithm>
#include <charconv>
#include <memory>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "analyze/fault_summary.h"
#include "analyze/json_field.h"
#include "analyze/operator_rules.h"
#include "analyze/rank_collectives.h"
#include "analyze/steady_steps.h"
#include "analyze/step_spans.h"
#include "analyze/training_thread.h"
#include "analyze/walk_in_time.h"
#include "base/saturating.h"
#include "trace/function_name.h"

namespace stepscope {
namespace {

constexpr int64_t kMostRanks = 10'000'000;
constexpr size_t kLongestName = 512;
constexpr int64_t kMostBaseNs = int64_t{1} << 61;  // in the year 2043

int64_t parse_rank(std::string_view text, int64_t otherwise) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool is_whole = error == std::errc() && end == text.data() + text.size();
  return is_whole && value >= 0 && value < kMostRanks ? value : otherwise;
}

// What was computed, communicated and copied when.
struct Activity {
  IntervalSet compute;
  IntervalSet communication;
  IntervalSet copies;

  void normalize() {
    for (IntervalSet* set : {&compute, &communication, &copies}) set->normalize();
  }
};

bool works_on_device(const Trace& trace) {
  const std::vector<Label>& labels = trace.labels().all();
  return std::any_of(labels.begin(), labels.end(),
                     [](const Label& label) { return is_device_work(label.kind); });
}

Activity find_device_activity(const Trace& trace) {
  enum Class : uint8_t { kNone, kCompute, kCommunication, kCopy };
  std::vector<uint8_t> classes;
  for (const Label& label : trace.labels().all()) {
    Class what = kNone;
    if (label.kind == SliceKind::kKernel) {
      what = is_communication_kernel(trace.string(label.name)) ? kCommunication : kCompute;
    } else if (is_device_work(label.kind)) {
      what = kCopy;
    }
    classes.push_back(what);
  }
  Activity activity;
  const SliceColumns& slices = trace.slices();
  for (uint32_t row = 0; row < slices.size(); ++row) {
    const uint8_t what = classes[index(slices.label[row])];
    if (what == kNone) continue;
    IntervalSet& set = what == kCompute         ? activity.compute
                       : what == kCommunication ? activity.communication
                                                : activity.copies;
    set.add(slices.start_ns[row], slices.end_ns(row));
  }
  return activity;
}

// Of a host that computes itself: operators of any thread of the training process. Collectives are
// none, and may reach over others: an asynchronous one ends long after its call.
Activity find_host_activity(const Trace& trace) {
  Activity activity;
  const auto thread = TrainingThread::of(trace);
  if (!thread->track()) return activity;
  const uint32_t process = trace.tracks()[index(*thread->track())].process;
  const SliceColumns& slices = trace.slices();
  for (const Track& track : trace.tracks()) {
    if (track.kind != TrackKind::kThread || track.process != process) continue;
    for (uint32_t row = track.first_slice; row < track.first_slice + track.slice_count; ++row) {
      const LabelId label = slices.label[row];
      if (trace.labels()[label].kind != SliceKind::kOperator) continue;
      if (thread->role(label) == TrainingRole::kCommunication) continue;
      activity.compute.add(slices.start_ns[row], slices.end_ns(row));
    }
  }
  return activity;
}

class Summarizer {
 public:
  Summarizer(const Trace& trace, const SummaryOptions& options)
      : trace_(trace), options_(options), spans_(StepSpans::of(trace)) {}

  RankSummary summarize() {
    out_.source = options_.source;
    find_rank();
    out_.has_device = works_on_device(trace_);
    RankCollectives collectives = RankCollectives::find(trace_, out_.world_size);
    activity_ = out_.has_device ? find_device_activity(trace_) : find_host_activity(trace_);
    if (!collectives.is_on_device) {
      for (const CollectiveCall& call : collectives.calls) {
        activity_.communication.add(call.start_ns, call.end_ns);
      }
    }
    activity_.normalize();
    find_steps();
    out_.groups = std::move(collectives.groups);
    out_.shapes = std::move(collectives.shapes);
    take_calls(std::move(collectives.calls));
    out_.is_training = out_.has_steps || !out_.calls.empty();
    find_kernels();
    find_host_work();
    find_clock();
    find_notes();
    move_to_wall_clock();
    return std::move(out_);
  }

 private:
  // What the trace says of the process's place in its job: PyTorch in distributedInfo, recordings
  // and others by themselves. "" where it says nothing.
  std::string find_place(const std::string& key) const {
    const std::string_view info = trace_.find_metadata("distributedInfo");
    if (const auto told = find_json_field(info, "$." + key)) return *told;
    return std::string(trace_.find_metadata(key));
  }

  void find_rank() {
    out_.world_size =
        options_.world_size > 0 ? options_.world_size : parse_rank(find_place("world_size"), 0);
    out_.rank = options_.rank;
    out_.rank_origin = RankOrigin::kOption;
    if (out_.rank >= 0) return;
    out_.rank = parse_rank(find_place("rank"), -1);
    out_.rank_origin = RankOrigin::kTrace;
    if (out_.rank >= 0) return;
    out_.rank = find_rank_in_name(options_.source);
    out_.rank_origin = out_.rank >= 0 ? RankOrigin::kFileName : RankOrigin::kUnknown;
  }

  void find_steps() {
    const SteadySteps steady = SteadySteps::find(trace_, *spans_);
    out_.has_steps = spans_->origin != StepOrigin::kWhole && !spans_->steps.empty();
    const std::vector<PhaseTimes> phases = find_phase_times(trace_, spans_->steps);
    IntervalSet overlap = activity_.communication;
    overlap.intersect(activity_.compute);
    IntervalSet copies = activity_.copies;
    copies.subtract(activity_.compute);
    copies.subtract(activity_.communication);
    for (size_t i = 0; i < spans_->steps.size(); ++i) {
      const Step& from = spans_->steps[i];
      RankStep step;
      step.number = from.number;
      step.span = from.span;
      step.compute_ns = activity_.compute.total_ns_in(from.span);
      step.communication_ns = activity_.communication.total_ns_in(from.span);
      step.overlap_ns = overlap.total_ns_in(from.span);
      step.copy_ns = copies.total_ns_in(from.span);
      step.idle_ns = from.span.end_ns - from.span.begin_ns - step.compute_ns -
                     step.communication_ns + step.overlap_ns - step.copy_ns;
      if (i < phases.size()) step.phases = phases[i];
      step.is_steady = !out_.has_steps || i >= steady.warm_up_steps;
      if (step.is_steady) steady_.add(step.span.begin_ns, step.span.end_ns);
      out_.steps.push_back(step);
    }
    steady_.normalize();
  }

  void take_calls(std::vector<CollectiveCall> calls) {
    if (calls.size() > options_.max_calls) {
      out_.calls_left_out = calls.size() - options_.max_calls;
      calls.resize(options_.max_calls);
    }
    const IntervalTotals compute(activity_.compute);
    size_t step = 0;
    for (CollectiveCall& call : calls) {
      while (step < out_.steps.size() && out_.steps[step].span.end_ns <= call.start_ns) ++step;
      if (step < out_.steps.size() && out_.steps[step].span.begin_ns <= call.start_ns) {
        call.step = static_cast<int32_t>(step);
      }
      const Interval* busy = activity_.compute.find(call.start_ns);
      call.exposed_from_ns = busy == nullptr ? call.start_ns : std::min(busy->end_ns, call.end_ns);
      call.exposed_ns = call.end_ns - call.start_ns - compute.ns_in({call.start_ns, call.end_ns});
    }
    out_.calls = std::move(calls);
  }

  // The items that cost most, and all others as one.
  std::vector<RankWork> take_most(std::unordered_map<std::string, RankWork> items) const {
    std::vector<RankWork> list;
    for (auto& [name, item] : items) {
      item.name = name.substr(0, kLongestName);
      list.push_back(std::move(item));
    }
    std::sort(list.begin(), list.end(), [](const RankWork& a, const RankWork& b) {
      return a.total_ns != b.total_ns ? a.total_ns > b.total_ns : a.name < b.name;
    });
    if (list.size() <= options_.max_work) return list;
    RankWork others;
    for (size_t i = options_.max_work; i < list.size(); ++i) {
      others.calls += list[i].calls;
      others.total_ns += list[i].total_ns;
    }
    list.resize(options_.max_work);
    list.push_back(std::move(others));
    return list;
  }

  void find_kernels() {
    if (!out_.has_device) return;
    const SliceColumns& slices = trace_.slices();
    std::vector<RankWork> by_label(trace_.labels().size());
    std::vector<uint8_t> is_wanted;
    for (const Label& label : trace_.labels().all()) {
      is_wanted.push_back(label.kind == SliceKind::kKernel &&
                          !is_communication_kernel(trace_.string(label.name)));
    }
    for (uint32_t row = 0; row < slices.size(); ++row) {
      const uint32_t label = index(slices.label[row]);
      if (is_wanted[label] == 0 || !steady_.contains(slices.start_ns[row])) continue;
      ++by_label[label].calls;
      by_label[label].total_ns += slices.dur_ns[row];
    }
    std::unordered_map<std::string, RankWork> items;
    for (uint32_t i = 0; i < by_label.size(); ++i) {
      if (by_label[i].calls == 0) continue;
      add_work(items, std::string(trace_.string(trace_.labels()[LabelId{i}].name)), by_label[i]);
    }
    out_.kernels = take_most(std::move(items));
  }

  static void add_work(std::unordered_map<std::string, RankWork>& items, const std::string& name,
                       const RankWork& work) {
    RankWork& item = items[name];
    item.calls += work.calls;
    item.total_ns += work.total_ns;
  }

  // Own times of operators and functions, of the training process.
  void find_host_work() {
    const auto thread = TrainingThread::of(trace_);
    if (!thread->track()) return;
    const uint32_t process = trace_.tracks()[index(*thread->track())].process;
    std::vector<RankWork> by_label(trace_.labels().size());
    Nesting nesting;
    const auto close = [&](const Nesting::Slice& slice) {
      RankWork& work = by_label[index(slice.label)];
      ++work.calls;
      work.total_ns += slice.self_ns();
    };
    for (const Track& track : trace_.tracks()) {
      if (track.kind != TrackKind::kThread || track.process != process) continue;
      for (const Interval& time : steady_.intervals()) {
        walk_in_time(
            trace_, track, time, nesting, [](uint32_t, bool) {}, close);
      }
    }
    std::unordered_map<std::string, RankWork> operators;
    std::unordered_map<std::string, RankWork> functions;
    for (uint32_t i = 0; i < by_label.size(); ++i) {
      if (by_label[i].calls == 0) continue;
      const Label& label = trace_.labels()[LabelId{i}];
      const std::string_view name = trace_.string(label.name);
      if (label.kind == SliceKind::kOperator) {
        if (thread->role(LabelId{i}) == TrainingRole::kCommunication) continue;
        add_work(operators, std::string(name), by_label[i]);
      } else if (label.kind == SliceKind::kPython || label.kind == SliceKind::kCall) {
        add_work(functions, function_text(name), by_label[i]);
      }
    }
    out_.operators = take_most(std::move(operators));
    out_.functions = take_most(std::move(functions));
  }

  // By its file's name and its own: folders differ from machine to machine.
  static std::string function_text(std::string_view text) {
    const FunctionName function = parse_function_name(text);
    if (function.file.empty()) return std::string(text);
    return std::string(function.file.substr(function.file.rfind('/') + 1)) + ": " +
           std::string(function.name);
  }

  // Counters of a device's clock: "GPU 0 SM clock (MHz)", "gpu_clock".
  void find_clock() {
    double sum = 0;
    uint64_t count = 0;
    for (const Track& track : trace_.tracks()) {
      if (track.kind != TrackKind::kCounter) continue;
      std::string name(trace_.string(track.name));
      for (char& c : name) c = static_cast<char>(c >= 'A' && c <= 'Z' ? c + 32 : c);
      const bool is_clock = name.find("clock") != name.npos || name.find("freq") != name.npos;
      const bool is_device = name.find("gpu") != name.npos || name.find("sm ") != name.npos;
      if (!is_clock || !is_device || name.find("mem") != name.npos) continue;
      for (uint64_t i = track.first_value; i < track.first_value + track.value_count; ++i) {
        sum += trace_.counters().value[i];
        ++count;
      }
    }
    if (count > 0) out_.clock_mhz = sum / static_cast<double>(count);
  }

  void find_notes() {
    const Stats& stats = trace_.stats();
    out_.is_truncated = stats.get(Stat::kBytesTruncated) > 0;
    if (const std::string faults = fault_summary(stats); !faults.empty()) {
      out_.notes.push_back(faults);
    }
    if (out_.calls_left_out > 0) {
      out_.notes.push_back(std::to_string(out_.calls_left_out) + " collectives after the first " +
                           std::to_string(out_.calls.size()) + " are left out");
    }
  }

  void move_to_wall_clock() {
    int64_t base_ns = trace_.clock_base_ns();
    if (base_ns <= -kMostBaseNs || base_ns >= kMostBaseNs) base_ns = 0;  // no clock shows that
    for (RankStep& step : out_.steps) {
      add_to(step.span.begin_ns, base_ns);
      add_to(step.span.end_ns, base_ns);
    }
    for (CollectiveCall& call : out_.calls) {
      add_to(call.start_ns, base_ns);
      add_to(call.end_ns, base_ns);
      add_to(call.exposed_from_ns, base_ns);
    }
  }

  const Trace& trace_;
  const SummaryOptions& options_;
  std::shared_ptr<const StepSpans> spans_;
  Activity activity_;
  IntervalSet steady_;
  RankSummary out_;
};

}  // namespace

uint64_t RankSummary::steady_steps() const {
  return static_cast<uint64_t>(std::count_if(steps.begin(), steps.end(),
                                             [](const RankStep& step) { return step.is_steady; }));
}

RankSummary summarize_rank(const Trace& trace, const SummaryOptions& options) {
  return Summarizer(trace, options).summarize();
}

int64_t find_rank_in_name(std::string_view path) {
  constexpr std::string_view kWord = "rank";
  std::string_view name = path.substr(path.rfind('/') + 1);
  for (size_t at = name.find(kWord); at != name.npos; at = name.find(kWord, at + 1)) {
    std::string_view rest = name.substr(at + kWord.size());
    if (!rest.empty() && (rest[0] == '-' || rest[0] == '_' || rest[0] == '=' || rest[0] == '.')) {
      rest.remove_prefix(1);
    }
    int64_t rank = -1;
    const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), rank);
    if (error == std::errc() && rank >= 0 && rank < kMostRanks) return rank;
  }
  return -1;
}

}  // namespace stepscope
