#include "analyze/input_calls.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <tuple>

#include "analyze/int_args.h"
#include "base/flat_map.h"
#include "base/saturating.h"

namespace stepscope {
namespace {

enum class Role : uint8_t { kNone, kIterator, kProduce, kConsume, kRun, kExecutor };

Role role_of(std::string_view name) {
  if (is_iterator_name(name)) return Role::kIterator;
  if (name.ends_with("Produce")) return Role::kProduce;
  if (name.ends_with("Consume")) return Role::kConsume;
  if (name.starts_with("InstantiatedCapturedFunction::")) return Role::kRun;
  if (name == "ExecutorState::Process" || name == "ExecutorState::ProcessInline") {
    return Role::kExecutor;
  }
  return Role::kNone;
}

uint64_t key_of(int64_t id) { return static_cast<uint64_t>(id); }

class Collector {
 public:
  explicit Collector(const Trace& trace)
      : trace_(trace),
        slices_(trace.slices()),
        ids_(trace, "id"),
        parent_ids_(trace, "parent_id"),
        element_ids_(trace, "element_id") {
    for (const Label& label : trace.labels().all()) {
      roles_.push_back(role_of(trace.string(label.name)));
    }
  }

  InputCalls collect() && {
    const bool has_any = std::find(roles_.begin(), roles_.end(), Role::kIterator) != roles_.end();
    if (!has_any) return {};
    for (const Track& track : trace_.tracks()) add_track(track);
    join_elements();
    bind_runs();
    sum_executors();
    return std::move(result_);
  }

 private:
  static constexpr uint32_t kNone = UINT32_MAX;

  // A slice with a role that is open, with what is innermost of those that hold it and itself.
  struct Open {
    int64_t end_ns;
    uint32_t call;     // kNone: no iterator's
    uint32_t produce;  // inside of that call; kNone: no element is being produced there
    bool is_executor;
  };
  struct Produce {
    int64_t element;
    int64_t owner = 0;         // the iterator that it is for: the parent of those called in it
    uint32_t taker = kNoCall;  // the call that took the element
  };
  struct Consume {
    int64_t element;
    int64_t iterator;
    uint32_t call;
    friend bool operator<(const Consume& a, const Consume& b) {
      return std::tie(a.element, a.iterator, a.call) < std::tie(b.element, b.iterator, b.call);
    }
  };
  struct Pending {  // until all elements are known
    uint32_t call;
    uint32_t produce;
  };

  void add_track(const Track& track) {
    open_.clear();
    for (uint32_t row = track.first_slice; row < track.first_slice + track.slice_count; ++row) {
      const Role role = roles_[index(slices_.label[row])];
      if (role == Role::kNone) continue;
      const int64_t start_ns = slices_.start_ns[row], end_ns = slices_.end_ns(row);
      while (!open_.empty() && (start_ns >= open_.back().end_ns || end_ns > open_.back().end_ns)) {
        open_.pop_back();
      }
      const Open around = open_.empty() ? Open{0, kNone, kNone, false} : open_.back();
      Open inside = around;
      inside.end_ns = end_ns;
      switch (role) {
        case Role::kIterator:
          inside.call = add_call(row, around);
          inside.produce = kNone;
          break;
        case Role::kProduce:
          inside.produce = add_produce(row);
          break;
        case Role::kConsume:
          add_consume(row, around);
          break;
        case Role::kRun:
          add_run(row, around);
          break;
        case Role::kExecutor:
          if (!around.is_executor) add_executor(row);
          inside.is_executor = true;
          break;
        case Role::kNone:
          break;
      }
      open_.push_back(inside);
    }
  }

  uint32_t add_call(uint32_t row, const Open& around) {
    const auto number = static_cast<uint32_t>(result_.calls.size());
    IteratorCall call;
    call.row = row;
    call.id = ids_.find(row).value_or(0);
    call.parent_id = parent_ids_.find(row).value_or(0);
    if (call.parent_id != 0) {
      if (around.call != kNone && result_.calls[around.call].id == call.parent_id) {
        call.parent = around.call;
      } else {
        pending_.push_back({number, around.produce});
      }
      if (around.produce != kNone && produces_[around.produce].owner == 0) {
        produces_[around.produce].owner = call.parent_id;
      }
    }
    result_.calls.push_back(call);
    return number;
  }

  uint32_t add_produce(uint32_t row) {
    const auto element = element_ids_.find(row);
    if (!element) return kNone;
    produces_.push_back({*element});
    return static_cast<uint32_t>(produces_.size() - 1);
  }

  void add_consume(uint32_t row, const Open& around) {
    const auto element = element_ids_.find(row);
    if (!element || around.call == kNone) return;
    consumes_.push_back({*element, result_.calls[around.call].id, around.call});
  }

  void add_run(uint32_t row, const Open& around) {
    FunctionRun run;
    run.row = row;
    if (around.produce == kNone) run.call = around.call;
    run.is_async = trace_.slice_name(SliceId{row}) == "InstantiatedCapturedFunction::RunAsync";
    if (const auto id = ids_.find(row)) {
      run_by_id_.try_emplace(key_of(*id), static_cast<uint32_t>(result_.runs.size()));
    }
    produce_of_run_.push_back(around.produce);
    result_.runs.push_back(run);
  }

  void add_executor(uint32_t row) {
    if (const auto id = ids_.find(row)) executors_.push_back({*id, slices_.dur_ns[row]});
  }

  // The call of that iterator which took the element.
  uint32_t find_taker(int64_t element, int64_t iterator) const {
    const Consume wanted{element, iterator, 0};
    const auto at = std::lower_bound(consumes_.begin(), consumes_.end(), wanted);
    const bool found = at != consumes_.end() && at->element == element && at->iterator == iterator;
    return found ? at->call : kNoCall;
  }

  void join_elements() {
    std::sort(consumes_.begin(), consumes_.end());
    for (Produce& produce : produces_) {
      if (produce.owner != 0) produce.taker = find_taker(produce.element, produce.owner);
    }
    for (const Pending& pending : pending_) {
      IteratorCall& call = result_.calls[pending.call];
      if (pending.produce != kNone) {
        const Produce& produce = produces_[pending.produce];
        call.parent = produce.owner == call.parent_id ? produce.taker
                                                      : find_taker(produce.element, call.parent_id);
      }
      result_.orphans += call.parent == kNoCall;
    }
  }

  // A run that was started for an element belongs to any call of the iterator that produces it.
  void bind_runs() {
    FlatMap call_of_owner;
    for (const Produce& produce : produces_) {
      if (produce.taker != kNoCall) call_of_owner.try_emplace(key_of(produce.owner), produce.taker);
    }
    for (size_t i = 0; i < result_.runs.size(); ++i) {
      FunctionRun& run = result_.runs[i];
      if (produce_of_run_[i] == kNone) continue;
      const Produce& produce = produces_[produce_of_run_[i]];
      run.call = produce.taker;
      if (run.call != kNoCall) continue;
      const uint32_t* known = call_of_owner.find(key_of(produce.owner));
      if (known != nullptr) run.call = *known;
    }
  }

  void sum_executors() {
    if (run_by_id_.size() == 0) return;
    for (const auto& [id, dur_ns] : executors_) {
      const uint32_t* run = run_by_id_.find(key_of(id));
      if (run != nullptr) add_to(result_.runs[*run].executor_ns, dur_ns);
    }
  }

  const Trace& trace_;
  const SliceColumns& slices_;
  IntArgs ids_, parent_ids_, element_ids_;
  std::vector<Role> roles_;  // by label
  std::vector<Open> open_;
  std::vector<Produce> produces_;
  std::vector<Consume> consumes_;
  std::vector<Pending> pending_;
  std::vector<uint32_t> produce_of_run_;
  FlatMap run_by_id_;
  std::vector<std::pair<int64_t, int64_t>> executors_;  // id, dur_ns
  InputCalls result_;
};

}  // namespace

bool is_iterator_name(std::string_view name) { return name.starts_with("Iterator::"); }

InputCalls InputCalls::collect(const Trace& trace) { return Collector(trace).collect(); }

}  // namespace stepscope
