// Traces of tf.data pipelines for tests: iterators, elements that are produced and consumed,
// functions and what runs them, on named threads. Times are in us.
//
//   HandMadeInput in;
//   in.step(0, 100);
//   in.call("python", "Iterator::Root", 1, 0, 0, 60);       // name, id, parent's id, start,
//   duration in.call("python", "Iterator::Root::Map", 2, 1, 5, 50); Trace trace = in.finish();
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>

#include "trace/trace_builder.h"

namespace stepscope {

class HandMadeInput {
 public:
  SliceRef call(const std::string& thread, std::string_view name, int64_t id, int64_t parent_id,
                int64_t start_us, int64_t dur_us) {
    const SliceRef slice = add(thread, name, "tf_data", SliceKind::kOther, start_us, dur_us);
    set(slice, "id", id);
    if (parent_id != 0) set(slice, "parent_id", parent_id);
    return slice;
  }
  void produce(const std::string& thread, std::string_view kind, int64_t element, int64_t start_us,
               int64_t dur_us) {
    set(add(thread, std::string(kind) + "Produce", "", SliceKind::kOther, start_us, dur_us),
        "element_id", element);
  }
  void consume(const std::string& thread, std::string_view kind, int64_t element, int64_t at_us) {
    set(add(thread, std::string(kind) + "Consume", "", SliceKind::kOther, at_us, 0), "element_id",
        element);
  }
  void run(const std::string& thread, std::string_view how, int64_t id, int64_t start_us,
           int64_t dur_us) {
    set(add(thread, "InstantiatedCapturedFunction::" + std::string(how), "", SliceKind::kCall,
            start_us, dur_us),
        "id", id);
  }
  void execute(const std::string& thread, int64_t id, int64_t start_us, int64_t dur_us) {
    set(add(thread, "ExecutorState::Process", "", SliceKind::kCall, start_us, dur_us), "id", id);
  }
  void step(int64_t start_us, int64_t dur_us) {
    add("main", "train#" + std::to_string(steps_++), "step", SliceKind::kStep, start_us, dur_us);
  }
  void set(SliceRef slice, std::string_view key, int64_t value) {
    builder_.add_int(builder_.arg_column(key, ArgType::kInt), slice, value);
  }
  void set(SliceRef slice, std::string_view key, std::string_view value) {
    builder_.add_string(builder_.arg_column(key, ArgType::kString), slice, builder_.string(value));
  }
  Trace finish() { return std::move(builder_).finish(); }

 private:
  SliceRef add(const std::string& thread, std::string_view name, std::string_view category,
               SliceKind kind, int64_t start_us, int64_t dur_us) {
    const auto known =
        threads_.try_emplace(thread, static_cast<int64_t>(threads_.size()) + 1).first;
    const TrackId track = builder_.add_thread(ForeignId{1}, ForeignId{known->second});
    builder_.track(track).name = builder_.string(thread);
    return builder_.add_slice(track, 1000 * start_us, 1000 * dur_us,
                              builder_.label(name, category, kind));
  }

  TraceBuilder builder_;
  std::unordered_map<std::string, int64_t> threads_;
  int steps_ = 0;
};

}  // namespace stepscope
