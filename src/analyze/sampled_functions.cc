#include "analyze/sampled_functions.h"

#include "analyze/function_columns.h"
#include "analyze/slice_filter.h"
#include "analyze/text_value.h"
#include "base/flat_map.h"
#include "base/saturating.h"
#include "format/recording_metadata.h"
#include "trace/sample_weights.h"
#include "trace/stack_walk.h"
#include "trace/track_title.h"

#include <algorithm>
#include <utility>

namespace stepscope {
namespace {

SampleSums& operator+=(SampleSums& sum, const SampleSums& other) {
  sum.wall_ns = add_saturating(sum.wall_ns, other.wall_ns);
  sum.cpu_ns = add_saturating(sum.cpu_ns, other.cpu_ns);
  sum.weight_ns = add_saturating(sum.weight_ns, other.weight_ns);
  sum.samples += other.samples;
  sum.gil_samples += other.gil_samples;
  return sum;
}

class Summation {
 public:
  Summation(const Trace& trace, const SliceScope& scope, SampledBy by)
      : trace_(trace), stacks_(trace.stacks()), by_(by), sums_(stacks_.size()) {
    const SampleColumns& samples = trace.samples();
    const SampleWeights weights(samples, scope.sample_weight);
    result_.is_cpu = weights.is_cpu();
    result_.fell_back = weights.fell_back();
    result_.has_cpu = !samples.cpu_ns.empty();
    result_.has_gil = std::any_of(samples.flags.begin(), samples.flags.end(),
                                  [](uint8_t flags) { return (flags & kSampleHeldGil) != 0; });
    result_.has_ticks = !trace.find_metadata(format::kSamplingKey).empty();
    add_samples(samples, weights, scope);
  }

  SampledFunctions run() && {
    subtree_ = sums_;
    for (auto i = static_cast<uint32_t>(stacks_.size()); i-- > 0;) {
      const uint32_t parent = parent_of_stack(stacks_, i);
      if (parent != kNoParent) subtree_[parent] += subtree_[i];
    }
    walk_stacks(
        stacks_, [&](uint32_t node) { open(node); }, [&](uint32_t node) { close(node); });
    std::erase_if(result_.functions, [](const SampledFunction& function) {
      return function.total.wall_ns == 0 && function.total.weight_ns == 0 &&
             function.total.samples == 0;
    });
    return std::move(result_);
  }

 private:
  void add_samples(const SampleColumns& samples, const SampleWeights& weights,
                   const SliceScope& scope) {
    double squares = 0;
    for (size_t i = 0; i < samples.size(); ++i) {
      if (!scope.takes_track(samples.track[i]) || !scope.takes_time(samples.time_ns[i])) continue;
      if (index(samples.stack[i]) >= sums_.size()) continue;
      SampleSums sample;
      sample.wall_ns = samples.weight_ns[i];
      sample.cpu_ns = std::max<int64_t>(0, samples.get_cpu_ns(i));
      if (weights.counts(i)) {
        sample.weight_ns = weights[i];
        sample.samples = samples.get_count(i);
        const bool has_gil = (samples.get_flags(i) & kSampleHeldGil) != 0;
        sample.gil_samples = has_gil ? sample.samples : 0;
        const auto weight = static_cast<double>(sample.weight_ns);
        squares += weight * weight / static_cast<double>(sample.samples);
      }
      sums_[index(samples.stack[i])] += sample;
      result_.all += sample;
    }
    const auto sum = static_cast<double>(result_.all.weight_ns);
    result_.effective_samples = squares > 0 ? sum * sum / squares : 0;
  }

  bool is_known(uint32_t node) const { return index(stacks_[node].frame) < trace_.frames().size(); }

  uint32_t number_of(uint32_t node) {
    const StackNode& stack = stacks_[node];
    const int32_t line = by_ == SampledBy::kLine ? stack.line : 0;
    const uint64_t key = uint64_t{index(stack.frame)} << 32 | static_cast<uint32_t>(line);
    const auto number = numbers_.try_emplace(key, static_cast<uint32_t>(result_.functions.size()));
    if (number.is_new) {
      const Frame& frame = trace_.frames()[index(stack.frame)];
      result_.functions.push_back(
          {{trace_.string(frame.name), trace_.string(frame.file), line > 0 ? line : frame.line},
           {},
           {}});
      open_.push_back(0);
    }
    return number.value;
  }

  void open(uint32_t node) {
    if (!is_known(node)) return;
    const uint32_t number = number_of(node);
    SampledFunction& function = result_.functions[number];
    function.self += sums_[node];
    if (open_[number]++ == 0) function.total += subtree_[node];
  }

  void close(uint32_t node) {
    if (is_known(node)) --open_[number_of(node)];
  }

  const Trace& trace_;
  std::span<const StackNode> stacks_;
  SampledBy by_;
  std::vector<SampleSums> sums_, subtree_;  // by stack
  FlatMap numbers_;
  std::vector<uint32_t> open_;  // by function: how often it is above
  SampledFunctions result_;
};

class SampledTable {
 public:
  explicit SampledTable(bool by_thread)
      : table("functions"),
        function_(table, "name", ""),
        cost_(table),
        share_(table.add("share", ColumnType::kDouble, Unit::kFraction)),
        low_(table.add("share_low", ColumnType::kDouble, Unit::kFraction)),
        high_(table.add("share_high", ColumnType::kDouble, Unit::kFraction)),
        self_cpu_(table.add("self_cpu_ns", ColumnType::kInt, Unit::kNs)),
        total_cpu_(table.add("total_cpu_ns", ColumnType::kInt, Unit::kNs)),
        samples_(table.add("samples", ColumnType::kInt, Unit::kCount)),
        gil_(table.add("gil_fraction", ColumnType::kDouble, Unit::kFraction)),
        thread_(by_thread ? &table.add("thread", ColumnType::kString) : nullptr) {}

  void add(const SampledFunctions& sampled, std::string_view thread) {
    for (const SampledFunction& function : sampled.functions) {
      function_.push(function.name);
      push_share(sampled, function);
      push_if(self_cpu_, sampled.has_cpu, function.self.cpu_ns);
      push_if(total_cpu_, sampled.has_cpu, function.total.cpu_ns);
      cost_.push({0, 0, function.self.wall_ns, function.total.wall_ns});
      push_if(samples_, sampled.has_ticks, static_cast<int64_t>(function.self.samples));
      if (sampled.has_gil && function.self.samples > 0) {
        gil_.push(static_cast<double>(function.self.gil_samples) /
                  static_cast<double>(function.self.samples));
      } else {
        gil_.push_null();
      }
      if (thread_ != nullptr) thread_->push(thread);
    }
  }

  Table table;

 private:
  static void push_if(Column& column, bool is_known, int64_t value) {
    is_known ? column.push(value) : column.push_null();
  }

  void push_share(const SampledFunctions& sampled, const SampledFunction& function) {
    const double share = sampled.share(function);
    share_.push(share);
    if (sampled.has_ticks && sampled.effective_samples > 0) {
      const ShareInterval interval = share_interval_95(share, sampled.effective_samples);
      low_.push(interval.low);
      high_.push(interval.high);
    } else {
      low_.push_null();
      high_.push_null();
    }
  }

  FunctionColumns function_;
  CostColumns cost_;  // the columns that every view of functions has come first
  Column &share_, &low_, &high_, &self_cpu_, &total_cpu_;
  Column &samples_, &gil_;
  Column* thread_;
};

std::vector<TrackId> tracks_of_samples(const Trace& trace, const SliceScope& scope) {
  std::vector<uint8_t> is_seen(trace.tracks().size(), 0);
  for (const TrackId track : trace.samples().track) {
    if (index(track) < is_seen.size() && scope.takes_track(track)) is_seen[index(track)] = 1;
  }
  std::vector<TrackId> tracks;
  for (uint32_t i = 0; i < is_seen.size(); ++i) {
    if (is_seen[i] != 0) tracks.push_back(TrackId{i});
  }
  return tracks;
}

}  // namespace

double SampledFunctions::share(const SampledFunction& function) const {
  if (all.weight_ns <= 0) return 0;
  return static_cast<double>(function.self.weight_ns) / static_cast<double>(all.weight_ns);
}

SampledFunctions build_sampled_functions(const Trace& trace, const SliceScope& scope,
                                         SampledBy by) {
  return Summation(trace, scope, by).run();
}

std::string sample_note(uint64_t samples, bool is_cpu_time) {
  const std::string count =
      text_of_count(static_cast<int64_t>(std::min<uint64_t>(samples, INT64_MAX)));
  return (is_cpu_time ? "times are CPU time, estimated from " : "times are estimated from ") +
         count + (samples == 1 ? " sample" : " samples") + "; samples do not count calls" +
         (is_cpu_time ? " (--weight wall counts waiting too)" : "");
}

Result<Table> sampled_functions_table(const Trace& trace, const TableOptions& options) {
  const Result<SliceFilter> filter = SliceFilter::make(trace, options);
  if (!filter) return filter.status();
  const bool by_thread = options.by == "thread";
  const SampledBy by = options.by == "line" ? SampledBy::kLine : SampledBy::kFunction;
  SampledTable out(by_thread);
  const SampledFunctions all = build_sampled_functions(trace, filter->scope(), by);
  if (by_thread) {
    for (const TrackId track : tracks_of_samples(trace, filter->scope())) {
      SliceScope scope = filter->scope();
      scope.tracks.assign(trace.tracks().size(), 0);
      scope.tracks[index(track)] = 1;
      out.add(build_sampled_functions(trace, scope, by), track_title(trace, track));
    }
  } else {
    out.add(all, "");
  }
  out.table.default_sort = all.is_cpu ? "-self_cpu_ns" : "-self_ns";
  std::string note = "shares and times are estimated from " +
                     text_of_count(static_cast<int64_t>(all.all.samples)) + " samples";
  if (all.is_cpu) {
    note += " that used the CPU; share is of CPU time (--weight wall: of all time)";
  } else if (all.fell_back) {
    note += "; nothing used the CPU, so share is of all time, waiting too";
  } else if (all.has_cpu) {
    note += "; share is of all time, waiting too";
  }
  out.table.notes.push_back(std::move(note));
  return std::move(out.table);
}

}  // namespace stepscope
