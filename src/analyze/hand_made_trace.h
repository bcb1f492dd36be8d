// For tests: a small trace as Kineto writes it, made by hand. Times are in ns.
//
//   HandMadeTrace made;
//   made.op("aten::mm", 0, 100);
//   made.launch(10, 20, 7);                  // a runtime call with correlation id 7
//   made.kernel("volta_sgemm", 50, 400, 7);
//   Trace trace = made.build();
#pragma once

#include <string_view>
#include <utility>

#include "analyze/table.h"
#include "trace/trace_builder.h"

namespace stepscope {

class HandMadeTrace {
 public:
  enum class Style { kNew, kOld };  // "cpu_op" and "kernel", or "Operator" and "Kernel"

  explicit HandMadeTrace(Style style = Style::kNew) : HandMadeTrace(1, style) {}
  // With another number for its thread than its process has.
  explicit HandMadeTrace(int64_t thread, Style style = Style::kNew)
      : is_old_(style == Style::kOld),
        thread_(builder_.add_thread(ForeignId{1}, ForeignId{thread})) {
    stream_ = add_stream(0, 7);
  }

  TraceBuilder& builder() { return builder_; }
  TrackId thread() const { return thread_; }
  TrackId add_stream(int32_t device, int64_t stream) {
    Track track;
    track.kind = TrackKind::kStream;
    track.process = builder_.add_process(ForeignId{device});
    track.device = device;
    track.stream = stream;
    return builder_.add_track(track);
  }

  SliceRef op(std::string_view name, int64_t start_ns, int64_t dur_ns) {
    return add(thread_, name, is_old_ ? "Operator" : "cpu_op", SliceKind::kOperator, start_ns,
               dur_ns);
  }
  SliceRef annotation(std::string_view name, int64_t start_ns, int64_t dur_ns) {
    return add(thread_, name, "user_annotation", SliceKind::kAnnotation, start_ns, dur_ns);
  }
  SliceRef python(std::string_view name, int64_t start_ns, int64_t dur_ns) {
    return add(thread_, name, "python_function", SliceKind::kPython, start_ns, dur_ns);
  }
  SliceRef step(std::string_view name, int64_t start_ns, int64_t dur_ns) {
    return add(thread_, name, is_old_ ? "Operator" : "user_annotation", SliceKind::kStep, start_ns,
               dur_ns);
  }
  SliceRef launch(int64_t start_ns, int64_t dur_ns, int64_t correlation) {
    const SliceRef slice = add(thread_, "cudaLaunchKernel", is_old_ ? "Runtime" : "cuda_runtime",
                               SliceKind::kRuntime, start_ns, dur_ns);
    set_int(slice, "correlation", correlation);
    return slice;
  }
  SliceRef kernel(std::string_view name, int64_t start_ns, int64_t dur_ns, int64_t correlation) {
    return device_work(stream_, name, SliceKind::kKernel, start_ns, dur_ns, correlation);
  }
  SliceRef device_work(TrackId stream, std::string_view name, SliceKind kind, int64_t start_ns,
                       int64_t dur_ns, int64_t correlation) {
    const SliceRef slice = add(stream, name, is_old_ ? "Kernel" : "kernel", kind, start_ns, dur_ns);
    set_int(slice, "correlation", correlation);
    return slice;
  }
  SliceRef add(TrackId track, std::string_view name, std::string_view category, SliceKind kind,
               int64_t start_ns, int64_t dur_ns) {
    return builder_.add_slice(track, start_ns, dur_ns, builder_.label(name, category, kind));
  }

  void set_int(SliceRef slice, std::string_view key, int64_t value) {
    builder_.add_int(builder_.arg_column(key, ArgType::kInt), slice, value);
  }
  void set_double(SliceRef slice, std::string_view key, double value) {
    builder_.add_double(builder_.arg_column(key, ArgType::kDouble), slice, value);
  }
  void set_json(SliceRef slice, std::string_view key, std::string_view json) {
    builder_.add_string(builder_.arg_column(key, ArgType::kJson), slice, builder_.string(json));
  }
  void set_string(SliceRef slice, std::string_view key, std::string_view text) {
    builder_.add_string(builder_.arg_column(key, ArgType::kString), slice, builder_.string(text));
  }
  void allocate(int64_t time_ns, int64_t bytes, int16_t device_type = 0, int16_t device_id = -1) {
    TraceBuilder::Allocation allocation;
    allocation.time_ns = time_ns;
    allocation.bytes = bytes;
    allocation.device_type = device_type;
    allocation.device_id = device_id;
    builder_.add_allocation(thread_, allocation);
  }

  Trace build() { return std::move(builder_).finish(); }

 private:
  TraceBuilder builder_;
  bool is_old_;
  TrackId thread_;
  TrackId stream_{};
};

// The row whose column `key` has the text, or SIZE_MAX.
inline size_t find_row(const Table& table, std::string_view key, std::string_view text) {
  const Column* column = table.find(key);
  for (size_t row = 0; row < table.rows(); ++row) {
    if (column != nullptr && column->get_string(row) == text) return row;
  }
  return SIZE_MAX;
}

// -1 where the row or the value is missing.
inline int64_t int_at(const Table& table, std::string_view column_name, size_t row) {
  const Column* column = table.find(column_name);
  if (column == nullptr || row >= column->size() || column->is_null(row)) return -1;
  return column->get_int(row);
}

inline int64_t int_of(const Table& table, std::string_view name, std::string_view column_name) {
  return int_at(table, column_name, find_row(table, "name", name));
}

}  // namespace stepscope
