#include "analyze/input_pipelines.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <numeric>
#include <string_view>
#include <unordered_map>

#include "analyze/input_calls.h"
#include "analyze/input_waits.h"
#include "analyze/quantile.h"
#include "base/flat_map.h"
#include "base/saturating.h"

namespace stepscope {
namespace {

// What a file may claim: beyond these, iterators are left out and counted.
constexpr size_t kMaxStages = 4'096;
constexpr size_t kMaxPipelines = 256;
constexpr size_t kMaxRoots = 10'000;

// Stages that work ahead, on threads of their own.
constexpr std::array<std::string_view, 8> kAsyncStages = {
    "Prefetch",     "ParallelMap", "ParallelInterleave",       "MapAndBatch",
    "ParseExample", "DataService", "LegacyParallelInterleave", "ParallelBatch"};
// Those that only hand on what others made.
constexpr std::array<std::string_view, 3> kHandingOn = {"Prefetch", "ParallelInterleave",
                                                        "LegacyParallelInterleave"};
// Whose inputs are different datasets, not instances of one.
constexpr std::array<std::string_view, 3> kManyInputs = {"Zip", "Concatenate",
                                                         "DirectedInterleave"};
constexpr std::array<std::string_view, 12> kParameters = {
    "parallelism",       "buffer_limit", "buffer_size",     "batch_size",
    "cycle_length",      "block_length", "autotune",        "deterministic",
    "max_batch_results", "cpu_budget",   "threadpool_size", "intra_op_parallelism"};

constexpr std::array<std::string_view, 3> kThreadPools = {"tf_Compute",
                                                          "tf_data_private_threadpool", "tf_numa_"};

template <size_t N>
bool is_one_of(std::string_view name, const std::array<std::string_view, N>& known) {
  return std::find(known.begin(), known.end(), name) != known.end();
}

// "ParallelMapV2" is ParallelMap.
std::string_view without_version(std::string_view name) {
  const size_t at = name.rfind('V');
  const bool has_version = at != name.npos && at > 0 && at + 1 < name.size() &&
                           name.find_first_not_of("0123456789", at + 1) == name.npos;
  return has_version ? name.substr(0, at) : name;
}

// "Iterator::Root::FlatMap[3]::TFRecord" without the number of the instance.
std::string without_instances(std::string_view long_name) {
  std::string result;
  while (!long_name.empty()) {
    const size_t end = std::min(long_name.find("::"), long_name.size());
    const std::string_view part = long_name.substr(0, end);
    const std::string_view stem = part.substr(0, part.find('['));
    if (!result.empty()) result += "::";
    result += is_one_of(without_version(stem), kManyInputs) ? part : stem;
    long_name.remove_prefix(std::min(end + 2, long_name.size()));
  }
  return result;
}

std::string last_part(std::string_view long_name) {
  const size_t at = long_name.rfind("::");
  return std::string(at == long_name.npos ? long_name : long_name.substr(at + 2));
}

class Builder {
 public:
  explicit Builder(const Trace& trace)
      : trace_(trace), slices_(trace.slices()), input_(InputCalls::collect(trace)) {}

  InputPipelines build() && {
    InputPipelines result;
    if (input_.calls.empty()) return result;
    index_children();
    number_names();
    group_roots();
    for (size_t i = 0; i < roots_.size(); ++i) {
      if (pipeline_of_root_[i] != kNone) walk(roots_[i], pipeline_of_root_[i]);
    }
    add_functions();
    result.orphans = input_.orphans + left_out_;
    for (Draft& draft : drafts_) finish(draft);
    find_cores(result);
    result.element_bytes = find_element_bytes();
    for (Draft& draft : drafts_) draft.pipeline.find_sections(result.cores);
    link_devices();
    for (Draft& draft : drafts_) result.pipelines.push_back(std::move(draft.pipeline));
    sort_pipelines(result);
    find_step_waits(trace_, result);
    return result;
  }

 private:
  static constexpr uint32_t kNone = UINT32_MAX;

  // What a stage's figures are made of.
  struct StageDraft {
    std::vector<int64_t> durations;
    uint64_t calls_with_children = 0;
    uint32_t last_row = 0;
  };
  struct Draft {
    InputPipeline pipeline;
    std::vector<StageDraft> stages;
    std::vector<uint32_t> names;       // sorted: numbers of names
    FlatMap by_name;                   // name -> stage
    std::vector<Interval> generators;  // calls of Generator: a device's
  };
  struct Group {  // the calls below roots of one iterator
    uint32_t process = 0;
    uint64_t calls = 0;
    uint32_t draft = kNone;
    std::vector<uint32_t> names;
  };
  struct Visit {
    uint32_t call;
    Interval wait;
  };

  Interval span_of(uint32_t call) const {
    const uint32_t row = input_.calls[call].row;
    return {slices_.start_ns[row], slices_.end_ns(row)};
  }
  LabelId label_of(uint32_t call) const { return slices_.label[input_.calls[call].row]; }
  uint32_t name_of(uint32_t call) const { return name_of_label_[index(label_of(call))]; }

  // Children in order of time, call after call.
  void index_children() {
    const std::vector<IteratorCall>& calls = input_.calls;
    first_child_.assign(calls.size() + 1, 0);
    for (const IteratorCall& call : calls) {
      if (call.parent != kNoCall) ++first_child_[call.parent + 1];
    }
    std::partial_sum(first_child_.begin(), first_child_.end(), first_child_.begin());
    children_.resize(first_child_.back());
    std::vector<uint32_t> next(first_child_.begin(), first_child_.end() - 1);
    for (uint32_t i = 0; i < calls.size(); ++i) {
      if (calls[i].parent != kNoCall) {
        children_[next[calls[i].parent]++] = i;
      } else if (calls[i].parent_id == 0) {
        roots_.push_back(i);
      }
    }
    const auto earlier = [&](uint32_t a, uint32_t b) {
      return slices_.start_ns[calls[a].row] < slices_.start_ns[calls[b].row];
    };
    for (size_t i = 0; i < calls.size(); ++i) {
      const auto begin = children_.begin() + first_child_[i];
      const auto end = children_.begin() + first_child_[i + 1];
      if (!std::is_sorted(begin, end, earlier)) std::stable_sort(begin, end, earlier);
    }
  }

  void number_names() {
    std::unordered_map<std::string, uint32_t> numbers;
    for (const Label& label : trace_.labels().all()) {
      const std::string_view name = trace_.string(label.name);
      if (!is_iterator_name(name)) {
        name_of_label_.push_back(kNone);
        continue;
      }
      const auto [it, is_new] =
          numbers.emplace(without_instances(name), static_cast<uint32_t>(names_.size()));
      if (is_new) names_.push_back(it->first);
      name_of_label_.push_back(it->second);
    }
  }

  // Epochs have a root iterator each; those of the same stages are one pipeline.
  void group_roots() {
    std::map<std::pair<uint32_t, int64_t>, uint32_t> group_of_id;
    std::vector<Group> groups;
    std::vector<uint32_t> group_of_root(roots_.size(), kNone);
    std::vector<uint32_t> stack;
    for (size_t i = 0; i < roots_.size(); ++i) {
      const IteratorCall& root = input_.calls[roots_[i]];
      const uint32_t process =
          trace_.tracks()[index(trace_.find_track_of(SliceId{root.row}))].process;
      const auto [it, is_new] =
          group_of_id.emplace(std::pair{process, root.id}, static_cast<uint32_t>(groups.size()));
      if (is_new && groups.size() == kMaxRoots) {
        group_of_id.erase(it);
        ++left_out_;
        continue;
      }
      if (is_new) groups.push_back({process});
      group_of_root[i] = it->second;
      collect_names(roots_[i], groups[it->second], stack);
    }
    merge_groups(groups);
    for (const uint32_t group : group_of_root) {
      pipeline_of_root_.push_back(group == kNone ? kNone : groups[group].draft);
    }
  }

  void collect_names(uint32_t root, Group& group, std::vector<uint32_t>& stack) {
    stack.assign(1, root);
    while (!stack.empty()) {
      const uint32_t call = stack.back();
      stack.pop_back();
      ++group.calls;
      const uint32_t name = name_of(call);
      const auto at = std::lower_bound(group.names.begin(), group.names.end(), name);
      if (at == group.names.end() || *at != name) {
        if (group.names.size() < kMaxStages) group.names.insert(at, name);
      }
      stack.insert(stack.end(), children_.begin() + first_child_[call],
                   children_.begin() + first_child_[call + 1]);
    }
  }

  void merge_groups(std::vector<Group>& groups) {
    std::vector<uint32_t> order(groups.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
      return groups[a].names.size() > groups[b].names.size();
    });
    for (const uint32_t i : order) {
      Group& group = groups[i];
      const auto same = std::find_if(drafts_.begin(), drafts_.end(), [&](const Draft& draft) {
        return draft.pipeline.process == group.process &&
               std::includes(draft.names.begin(), draft.names.end(), group.names.begin(),
                             group.names.end());
      });
      if (same != drafts_.end()) {
        group.draft = static_cast<uint32_t>(same - drafts_.begin());
      } else if (drafts_.size() < kMaxPipelines) {
        group.draft = static_cast<uint32_t>(drafts_.size());
        Draft& draft = drafts_.emplace_back();
        draft.pipeline.process = group.process;
        draft.names = group.names;
      } else {
        left_out_ += group.calls;
      }
    }
  }

  // All that one request made.
  void walk(uint32_t root, uint32_t pipeline) {
    Draft& draft = drafts_[pipeline];
    draft.pipeline.waits.push_back(span_of(root));
    visits_.assign(1, Visit{root, span_of(root)});
    while (!visits_.empty()) {
      const Visit visit = visits_.back();
      visits_.pop_back();
      add_call(draft, visit);
    }
  }

  void add_call(Draft& draft, const Visit& visit) {
    const Interval span = span_of(visit.call);
    int64_t self_ns = span.end_ns - span.begin_ns;
    int64_t wait_ns = visit.wait.end_ns - visit.wait.begin_ns;
    int64_t self_from = span.begin_ns, wait_from = visit.wait.begin_ns;
    const size_t first = visits_.size();
    for (uint32_t i = first_child_[visit.call]; i < first_child_[visit.call + 1]; ++i) {
      const Interval child = span_of(children_[i]);
      const Interval covered{std::max(child.begin_ns, self_from),
                             std::min(child.end_ns, span.end_ns)};
      if (covered.end_ns > covered.begin_ns) {
        self_ns -= covered.end_ns - covered.begin_ns;
        self_from = covered.end_ns;
      }
      Interval waited{std::max(child.begin_ns, wait_from),
                      std::min(child.end_ns, visit.wait.end_ns)};
      if (waited.end_ns > waited.begin_ns) {
        wait_ns -= waited.end_ns - waited.begin_ns;
        wait_from = waited.end_ns;
      } else {
        waited = {};
      }
      visits_.push_back({children_[i], waited});
    }
    // The first child is the next to be seen, so that stages come in the order of the calls.
    std::reverse(visits_.begin() + static_cast<std::ptrdiff_t>(first), visits_.end());

    const uint32_t stage_number = find_stage(draft, visit.call);
    if (stage_number == kNone) return;
    InputStage& stage = draft.pipeline.stages[stage_number];
    StageDraft& figures = draft.stages[stage_number];
    const int64_t dur_ns = span.end_ns - span.begin_ns;
    if (stage.longest == kNoSlice || dur_ns > slices_.dur_ns[index(stage.longest)]) {
      stage.longest = SliceId{input_.calls[visit.call].row};
    }
    ++stage.calls;
    stage.blocking_calls += visit.wait.end_ns > visit.wait.begin_ns;
    add_to(stage.total_ns, dur_ns);
    add_to(stage.self_ns, self_ns);
    add_to(stage.wait_ns, wait_ns);
    figures.durations.push_back(dur_ns);
    figures.calls_with_children += first_child_[visit.call] < first_child_[visit.call + 1];
    figures.last_row = input_.calls[visit.call].row;
    if (stage.name == "Generator") draft.generators.push_back(span);
  }

  uint32_t find_stage(Draft& draft, uint32_t call) {
    const uint32_t name = name_of(call);
    if (const uint32_t* known = draft.by_name.find(name)) return *known;
    if (draft.pipeline.stages.size() == kMaxStages) return kNone;
    InputStage stage;
    stage.long_name = names_[name];
    stage.name = last_part(stage.long_name);
    stage.is_async = is_one_of(stage.kind(), kAsyncStages);
    const uint32_t parent = input_.calls[call].parent;
    if (parent != kNoCall) {
      if (const uint32_t* at = draft.by_name.find(name_of(parent))) {
        stage.parent = *at;
        stage.depth = draft.pipeline.stages[*at].depth + 1;
      }
    }
    const auto number = static_cast<uint32_t>(draft.pipeline.stages.size());
    draft.by_name.try_emplace(name, number);
    draft.pipeline.stages.push_back(std::move(stage));
    draft.stages.emplace_back();
    return number;
  }

  void add_functions() {
    std::vector<uint32_t> root_of(input_.calls.size(), kNone);
    for (size_t i = 0; i < roots_.size(); ++i) root_of[roots_[i]] = static_cast<uint32_t>(i);
    for (const FunctionRun& run : input_.runs) {
      if (run.call == kNoCall) continue;
      uint32_t top = run.call;
      // Bounded: a hostile file may have calls that are each other's parents.
      for (size_t i = 0; input_.calls[top].parent != kNoCall && i < kMaxStages; ++i) {
        top = input_.calls[top].parent;
      }
      const uint32_t root = root_of[top];
      if (root == kNone || pipeline_of_root_[root] == kNone) continue;
      Draft& draft = drafts_[pipeline_of_root_[root]];
      const uint32_t* stage = draft.by_name.find(name_of(run.call));
      if (stage == nullptr) continue;
      InputStage& to = draft.pipeline.stages[*stage];
      ++to.function_runs;
      add_to(to.function_ns,
             run.executor_ns > 0 || run.is_async ? run.executor_ns : slices_.dur_ns[run.row]);
    }
  }

  void finish(Draft& draft) {
    InputPipeline& pipeline = draft.pipeline;
    std::sort(pipeline.waits.begin(), pipeline.waits.end(),
              [](const Interval& a, const Interval& b) { return a.begin_ns < b.begin_ns; });
    pipeline.requests = describe_requests(pipeline.waits);
    for (size_t i = 0; i < pipeline.stages.size(); ++i) {
      InputStage& stage = pipeline.stages[i];
      stage.p95_ns = quantile(draft.stages[i].durations, 0.95);
      read_parameters(draft.stages[i].last_row, stage);
      stage.is_injected = stage.dataset.starts_with("inject/");
      if (stage.parent != kNoStage) {
        stage.calls_per_batch = pipeline.stages[stage.parent].calls_per_batch *
                                find_ratio(pipeline, stage, draft.stages[stage.parent]);
      }
      stage.work_ns = find_work(stage);
      const bool is_below_prefetch =
          stage.depth == 2 && pipeline.stages[stage.parent].name == "Prefetch";
      pipeline.is_device = pipeline.is_device || (stage.name == "Generator" && is_below_prefetch);
    }
  }

  void read_parameters(uint32_t row, InputStage& stage) const {
    if (const ArgColumn* names = trace_.find_args("name", ArgType::kString)) {
      if (const auto at = names->find(SliceId{row})) {
        stage.dataset = trace_.string(names->string(*at));
      }
    }
    for (const std::string_view key : kParameters) {
      if (const ArgColumn* ints = trace_.find_args(key, ArgType::kInt)) {
        if (const auto at = ints->find(SliceId{row})) {
          stage.parameters.emplace_back(key, std::to_string(ints->ints[*at]));
          continue;
        }
      }
      if (const ArgColumn* texts = trace_.find_args(key, ArgType::kString)) {
        if (const auto at = texts->find(SliceId{row})) {
          stage.parameters.emplace_back(key, trace_.string(texts->string(*at)));
        }
      }
    }
  }

  // How often a stage is called for a call of its parent.
  static double find_ratio(const InputPipeline& pipeline, const InputStage& stage,
                           const StageDraft& of_parent) {
    const InputStage& parent = pipeline.stages[stage.parent];
    if (const auto batch = parent.find_number("batch_size"); batch && *batch > 0) {
      return static_cast<double>(*batch);
    }
    // What was produced before the recording began is in no call.
    const uint64_t calls = parent.is_async ? of_parent.calls_with_children : parent.calls;
    return calls > 0 ? static_cast<double>(stage.calls) / static_cast<double>(calls) : 1;
  }

  static double find_work(const InputStage& stage) {
    if (stage.calls == 0) return 0;
    const double self_ns = static_cast<double>(stage.self_ns) / static_cast<double>(stage.calls);
    if (!stage.is_async) return self_ns;
    if (stage.function_runs > 0 && stage.function_ns > 0) {
      const double runs =
          static_cast<double>(std::max<int64_t>(stage.find_number("batch_size").value_or(1), 1));
      return runs * static_cast<double>(stage.function_ns) /
             static_cast<double>(stage.function_runs);
    }
    return is_one_of(stage.kind(), kHandingOn) ? 0 : self_ns;
  }

  // tf.data tells what it counts with, unless its autotuning is off; its pools have a thread for
  // each core.
  void find_cores(InputPipelines& result) const {
    for (const Draft& draft : drafts_) {
      if (draft.pipeline.stages.empty()) continue;
      const auto budget = draft.pipeline.stages.front().find_number("cpu_budget");
      result.cores = std::max(result.cores, budget.value_or(0));
    }
    if (result.cores > 0) return;
    std::map<std::pair<uint32_t, std::string_view>, int64_t> threads;
    for (const Track& track : trace_.tracks()) {
      const std::string_view name = trace_.string(track.name);
      for (const std::string_view pool : kThreadPools) {
        if (!name.starts_with(pool)) continue;
        int64_t& count = threads[{track.process, pool}];
        result.cores = std::max(result.cores, ++count);
      }
    }
  }

  double find_element_bytes() const {
    const ArgColumn* sizes = trace_.find_args("element_size", ArgType::kInt);
    if (sizes == nullptr || sizes->rows.empty()) return 0;
    double sum = 0;
    for (size_t i = 0; i < sizes->rows.size(); ++i) sum += static_cast<double>(sizes->ints[i]);
    return sum / static_cast<double>(sizes->rows.size());
  }

  // A device pipeline waits while a host pipeline works for it.
  void link_devices() {
    for (uint32_t device = 0; device < drafts_.size(); ++device) {
      if (!drafts_[device].pipeline.is_device) continue;
      IntervalSet waiting;
      for (const Interval& span : drafts_[device].generators) {
        waiting.add(span.begin_ns, span.end_ns);
      }
      waiting.normalize();
      for (Draft& host : drafts_) {
        if (host.pipeline.is_device || host.pipeline.feeds ||
            host.pipeline.process != drafts_[device].pipeline.process) {
          continue;
        }
        IntervalSet working;
        for (const Interval& span : host.pipeline.waits) working.add(span.begin_ns, span.end_ns);
        working.normalize();
        const int64_t alone_ns = working.total_ns();
        working.intersect(waiting);
        // It is asked for nothing but what the device pipeline waits for, or is ahead of it.
        if (working.total_ns() > alone_ns / 4) host.pipeline.feeds = device;
      }
    }
  }

  static void sort_pipelines(InputPipelines& result) {
    std::vector<InputPipeline>& all = result.pipelines;
    std::vector<uint32_t> order(all.size());
    std::iota(order.begin(), order.end(), 0);
    const auto wait_of = [&](uint32_t i) {
      return all[i].requests.typical_ns * static_cast<double>(all[i].requests.count);
    };
    std::stable_sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
      const bool a_feeds = all[a].feeds.has_value(), b_feeds = all[b].feeds.has_value();
      return a_feeds != b_feeds ? b_feeds : wait_of(a) > wait_of(b);
    });
    std::vector<uint32_t> place(all.size());
    for (uint32_t i = 0; i < order.size(); ++i) place[order[i]] = i;
    std::vector<InputPipeline> sorted;
    for (const uint32_t i : order) {
      sorted.push_back(std::move(all[i]));
      if (sorted.back().feeds) sorted.back().feeds = place[*sorted.back().feeds];
    }
    all = std::move(sorted);
  }

  const Trace& trace_;
  const SliceColumns& slices_;
  const InputCalls input_;
  std::vector<uint32_t> first_child_, children_;
  std::vector<uint32_t> roots_;
  std::vector<uint32_t> pipeline_of_root_;  // kNone: left out
  std::vector<std::string> names_;
  std::vector<uint32_t> name_of_label_;
  std::vector<Draft> drafts_;
  std::vector<Visit> visits_;
  uint64_t left_out_ = 0;
};

}  // namespace

std::string_view InputStage::kind() const { return without_version(name); }

std::optional<int64_t> InputStage::find_number(std::string_view parameter) const {
  for (const auto& [key, text] : parameters) {
    if (key != parameter) continue;
    int64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error == std::errc() && end == text.data() + text.size()) return number;
  }
  return std::nullopt;
}

bool InputStage::is_autotuned() const {
  return std::find(parameters.begin(), parameters.end(),
                   std::pair<std::string, std::string>("autotune", "true")) != parameters.end();
}

const InputStage* InputPipeline::find_prefetch() const {
  const auto at = std::find_if(stages.begin(), stages.end(), [](const InputStage& stage) {
    return stage.depth == 1 && stage.name == "Prefetch";
  });
  return at == stages.end() ? nullptr : &*at;
}

std::shared_ptr<const InputPipelines> InputPipelines::of(const Trace& trace) {
  return trace.derived().get<InputPipelines>("input pipelines",
                                             [&] { return Builder(trace).build(); });
}

const InputPipeline* InputPipelines::asked() const {
  return pipelines.empty() ? nullptr : &pipelines.front();
}

bool InputPipelines::is_input_bound() const {
  if (waits.wait_ns <= static_cast<double>(kReadyNs) || waits.share() <= kModerateShare)
    return false;
  return asked()->requests.median_ns > kReadyNs || waits.share() > kHighShare;
}

IntervalSet InputPipelines::find_waiting() const {
  IntervalSet waiting;
  for (const InputPipeline& pipeline : pipelines) {
    if (pipeline.feeds || pipeline.process != pipelines.front().process) continue;
    for (const Interval& wait : pipeline.waits) waiting.add(wait.begin_ns, wait.end_ns);
  }
  waiting.normalize();
  return waiting;
}

const InputPipeline* InputPipelines::working() const {
  if (pipelines.empty()) return nullptr;
  if (!pipelines.front().is_device) return &pipelines.front();
  for (const InputPipeline& pipeline : pipelines) {
    if (pipeline.feeds == 0u) return &pipeline;
  }
  return &pipelines.front();
}

}  // namespace stepscope
