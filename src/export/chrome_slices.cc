#include "export/chrome_slices.h"

#include <algorithm>
#include <string>

namespace stepscope {

ChromeSlices::ChromeSlices(ChromeEventText& to, const std::vector<uint8_t>* is_critical)
    : to_(to),
      trace_(to.trace()),
      slices_(trace_.slices()),
      args_(trace_),
      times_(trace_),
      kineto_ids_(trace_),
      is_critical_(is_critical),
      instant_scope_(trace_.find_args("s", ArgType::kString)),
      async_id_(trace_.find_args("async id", ArgType::kInt)) {}

void ChromeSlices::write(const Track& track) {
  if (track.kind != TrackKind::kAsync) {
    write_threads_slices(track);
  } else if (to_.adds_kineto_fields() && holds_steps(track)) {
    write_steps(track);
  } else {
    write_async_slices(track);
  }
}

void ChromeSlices::write_thread_metadata(const Track& track) {
  const auto begin = [&](std::string_view name) {
    to_.begin_event("M");
    to_.field("name", name);
    to_.thread(track);
    to_.begin_args();
  };
  // A thread that nothing happened on is there all the same.
  if (track.name != kEmptyString || track.slice_count == 0) {
    begin("thread_name");
    to_.arg("name", trace_.string(track.name));
    to_.end_event();
  }
  if (track.has_sort_index) {
    begin("thread_sort_index");
    to_.arg_int("sort_index", track.sort_index);
    to_.end_event();
  }
}

void ChromeSlices::write_threads_slices(const Track& track) {
  write_thread_metadata(track);
  if (!to_.is_from_trace_events()) times_.load(track);
  for (uint32_t i = 0; i < track.slice_count && to_.ok(); ++i) {
    write_slice(track, track.first_slice + i);
  }
}

void ChromeSlices::write_slice(const Track& track, uint32_t row) {
  const SliceKind kind = trace_.labels()[slices_.label[row]].kind;
  const bool is_instant = kind == SliceKind::kInstant && slices_.dur_ns[row] == 0;
  const bool is_as_it_was = to_.is_from_trace_events();
  to_.begin_event(is_instant ? "i" : "X");
  to_.label(slices_.label[row]);
  to_.thread(track);
  to_.field_us("ts", is_as_it_was ? slices_.start_ns[row] : times_.start_ns(row));
  if (!is_instant) to_.field_us("dur", is_as_it_was ? slices_.dur_ns[row] : times_.dur_ns(row));
  take_args(row);
  // How far an instant reaches (thread, process, global) stands outside of its arguments.
  if (const auto scope = is_instant ? take_arg(instant_scope_) : std::nullopt) {
    to_.raw_key("s");
    write_value(*scope);
  }
  write_args(row);
  to_.end_event();
}

bool ChromeSlices::holds_steps(const Track& track) const {
  if (track.slice_count == 0) return false;
  return trace_.labels()[slices_.label[track.first_slice]].kind == SliceKind::kStep;
}

// Readers know steps by torch.profiler's name for them. Calls and steps overlap, so that these have
// a thread of their own, under a number that no thread has. They end 1 ns early: where a reader
// adds begin and duration as doubles, the next step would begin before the end.
void ChromeSlices::write_steps(const Track& track) {
  constexpr int64_t kMaxThreadId = 1 << 22;  // Linux's
  Track lane = track;
  lane.tid.number += kMaxThreadId;
  write_thread_metadata(lane);
  for (uint32_t i = 0; i < track.slice_count && to_.ok(); ++i) {
    const uint32_t row = track.first_slice + i;
    std::string_view number = trace_.slice_name(SliceId{row});
    if (number.starts_with("step ")) number.remove_prefix(5);
    to_.begin_event("X");
    to_.field("cat", kineto_category(SliceKind::kStep));
    to_.field("name", "ProfilerStep#" + std::string(number));
    to_.thread(lane);
    to_.field_us("ts", slices_.start_ns[row]);
    to_.field_us("dur", std::max<int64_t>(0, slices_.dur_ns[row] - 1));
    take_args(row);
    write_args(row);
    to_.end_event();
  }
}

void ChromeSlices::write_async_slices(const Track& track) {
  struct Open {
    uint32_t row;
    uint64_t id;
  };
  std::vector<Open> open;
  const auto close = [&] {
    const Open last = open.back();
    open.pop_back();
    write_async_point("e", track, last.row, last.id, slices_.end_ns(last.row));
    to_.end_event();
  };
  for (uint32_t i = 0; i < track.slice_count && to_.ok(); ++i) {
    const uint32_t row = track.first_slice + i;
    while (!open.empty() && SliceId{open.back().row} != slices_.parent[row]) close();
    take_args(row);
    // The id of an operation is an argument in the trace and a field of its own in the file.
    const auto own_id = take_arg(async_id_);
    const uint64_t id = own_id ? static_cast<uint64_t>(async_id_->ints[own_id->at]) : row;
    const bool is_instant = trace_.labels()[slices_.label[row]].kind == SliceKind::kInstant;
    write_async_point(is_instant ? "n" : "b", track, row, id, slices_.start_ns[row]);
    write_args(row);
    to_.end_event();
    if (!is_instant) open.push_back({row, id});
  }
  while (!open.empty()) close();
}

void ChromeSlices::write_async_point(std::string_view phase, const Track& track, uint32_t row,
                                     uint64_t id, int64_t time_ns) {
  to_.begin_event(phase);
  to_.label(slices_.label[row]);
  to_.field_uint("id", id);
  to_.process(track.process);
  to_.field_us("ts", time_ns);
}

void ChromeSlices::take_args(uint32_t row) {
  taken_args_.clear();
  args_.take(SliceId{row}, [&](const ArgColumn& column, size_t at) {
    taken_args_.push_back({&column, at});
  });
}

// One of those taken, which is then no argument any more.
std::optional<ChromeSlices::TakenArg> ChromeSlices::take_arg(const ArgColumn* column) {
  const auto at = std::find_if(taken_args_.begin(), taken_args_.end(),
                               [&](const TakenArg& arg) { return arg.column == column; });
  if (at == taken_args_.end()) return std::nullopt;
  const TakenArg taken = *at;
  taken_args_.erase(at);
  return taken;
}

void ChromeSlices::write_args(uint32_t row) {
  const Label& label = trace_.labels()[slices_.label[row]];
  const bool has_category = to_.has_foreign_category(label);
  const bool has_ids = to_.adds_kineto_fields() && kineto_ids_.has_ids(label.kind);
  const bool is_critical = is_critical_ != nullptr && (*is_critical_)[row] != 0;
  if (taken_args_.empty() && !has_category && !has_ids && !is_critical) return;
  to_.begin_args();
  if (has_ids) write_kineto_ids(row);
  if (has_category) to_.arg("category", trace_.string(label.category));
  for (const TakenArg& arg : taken_args_) {
    to_.arg_key(trace_.string(arg.column->key));
    write_value(arg);
  }
  if (is_critical) to_.arg_int("critical", 1);
}

void ChromeSlices::write_kineto_ids(uint32_t row) {
  const auto python = kineto_ids_.find_python_ids(row);
  if (!python) {
    to_.arg_int("External id", KinetoIds::external_id(row));
    to_.arg_int("Ev Idx", row);
    return;
  }
  if (python->parent_id != 0) {
    to_.arg_int("Python parent id", python->parent_id);
  } else {
    to_.arg_key("Python parent id");
    to_.text() += "null";
  }
  to_.arg_int("Python id", python->id);
  if (python->module_id >= 0) to_.arg_int("Python module id", python->module_id);
}

void ChromeSlices::write_value(const TakenArg& arg) {
  const ArgColumn& column = *arg.column;
  switch (column.type) {
    case ArgType::kInt:
      json::append_int(to_.text(), column.ints[arg.at]);
      break;
    case ArgType::kDouble:
      json::append_double(to_.text(), column.doubles[arg.at]);
      break;
    case ArgType::kString:
      json::append_string(to_.text(), trace_.string(column.string(arg.at)));
      break;
    case ArgType::kBool:
      to_.text() += column.ints[arg.at] != 0 ? "true" : "false";
      break;
    case ArgType::kJson:
      to_.json_value(trace_.string(column.string(arg.at)));
      break;
  }
}

}  // namespace stepscope
