#include "ingest/event_assembler.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <iterator>
#include <string>
#include <tuple>

#include "ingest/json_text.h"
#include "ingest/kineto.h"
#include "ingest/megengine_timeline.h"

namespace stepscope {
namespace {

std::optional<double> as_number(const RawArg& arg, ArgType type) {
  switch (type) {
    case ArgType::kInt:
    case ArgType::kBool:
      return static_cast<double>(static_cast<int64_t>(arg.value));
    case ArgType::kDouble:
      return std::bit_cast<double>(arg.value);
    default:
      return std::nullopt;
  }
}

}  // namespace

size_t EventAssembler::AsyncKeyHash::operator()(const AsyncKey& key) const {
  uint64_t hash = key.id * 0x9E3779B97F4A7C15ull;
  hash ^= (uint64_t{key.process} << 32 | index(key.category)) * 0xD6E8FEB86659FD93ull;
  hash ^= index(key.scope) + (hash >> 29);
  return static_cast<size_t>(hash);
}

void EventAssembler::add_names(const EventBatch& batch) {
  if (batch.parser >= names_.size()) names_.resize(batch.parser + 1);
  Names& names = names_[batch.parser];
  StringPool& strings = builder_.strings();
  for (const std::string_view raw : batch.new_strings) {
    const bool has_escapes = raw.find('\\') != std::string_view::npos;
    if (has_escapes && (raw[0] == '{' || raw[0] == '[')) {
      names.raw_json.emplace(static_cast<uint32_t>(names.strings.size()), strings.intern(raw));
    }
    names.strings.push_back(has_escapes ? strings.intern(unescape(raw)) : strings.intern(raw));
  }
  for (const RawLabel& raw : batch.new_labels) {
    Label label;
    label.name = names.strings[raw.name];
    label.category = names.strings[raw.category];
    label.kind = kind_of(strings.view(label.category), strings.view(label.name));
    names.labels.push_back(builder_.labels().intern(label));
    names.instant_labels.push_back(kNoLabel);
  }
  for (const RawThread& raw : batch.new_threads) {
    names.threads.push_back(kNoTrack);
    names.pids.emplace_back();
    names.raw_threads.push_back(raw);
  }
  for (const RawColumn& raw : batch.new_columns) {
    names.columns.push_back(builder_.arg_column(names.strings[raw.key], raw.type));
    names.raw_columns.push_back(raw);
  }
}

TrackId EventAssembler::thread_track(Names& names, uint32_t thread) {
  TrackId& track = names.threads[thread];
  if (track == kNoTrack) {
    const auto foreign_id = [&](uint32_t string) {
      const StringId text = names.strings[string];
      const auto number = parse_int(builder_.strings().view(text));
      return number ? ForeignId{*number, kEmptyString} : ForeignId{0, text};
    };
    names.pids[thread] = foreign_id(names.raw_threads[thread].pid);
    track = builder_.add_thread(names.pids[thread], foreign_id(names.raw_threads[thread].tid));
  }
  return track;
}

void EventAssembler::add(const EventBatch& batch) {
  add_names(batch);
  Names& names = names_[batch.parser];
  builder_.stats().add(Stat::kEventsRead, batch.events.size() + batch.events_skipped);
  builder_.stats().add(Stat::kEventsSkipped, batch.events_skipped);
  builder_.stats().add(Stat::kValuesSkipped, batch.values_skipped);
  slices_.clear();
  slices_.reserve(batch.events.size());
  for (const RawEvent& event : batch.events) slices_.push_back(add_event(event, batch, names));
  add_args(batch, names, slices_);
}

SliceRef EventAssembler::add_event(const RawEvent& event, const EventBatch& batch, Names& names) {
  const TrackId track = thread_track(names, event.thread);
  const LabelId label = names.labels[event.label];
  switch (event.phase) {
    case 'X': {
      if (is_device_work(builder_.labels()[label].kind)) mark_stream(track);
      return builder_.add_slice(track, event.time_ns, event.dur_ns, label);
    }
    case 'B':
      if (is_device_work(builder_.labels()[label].kind)) mark_stream(track);
      return builder_.begin_slice(track, event.time_ns, label);
    case 'E':
      return builder_.end_slice(track, event.time_ns, event.has(RawEvent::kHasArgs));
    case 'i':
    case 'I':
    case 'R':
      return add_instant(event, batch, names);
    case 'C':
      add_counter(event, batch, names);
      return kNoSliceRef;
    case 'M':
      add_metadata(event, batch, names);
      return kNoSliceRef;
    case 's':
    case 't':
    case 'f':
      add_flow(event, names);
      return kNoSliceRef;
    case 'b':
    case 'S':
      return add_async(event, names, 'b');
    case 'n':
    case 'T':
    case 'p':
      return add_async(event, names, 'n');
    case 'e':
    case 'F':
      return add_async(event, names, 'e');
    default:
      ++skipped_phases_[static_cast<unsigned char>(event.phase)];
      builder_.stats().add(Stat::kEventsSkipped);
      return kNoSliceRef;
  }
}

void EventAssembler::add_args(const EventBatch& batch, const Names& names,
                              const std::vector<SliceRef>& slices) {
  for (size_t column = 0; column < batch.columns.size(); ++column) {
    const ColumnValues& values = batch.columns[column];
    if (values.event.empty()) continue;
    ArgColumn& into = builder_.arg_values(names.columns[column]);
    // Calls push(value) for the value of each slice.
    const auto add = [&](auto&& push) {
      for (size_t i = 0; i < values.event.size(); ++i) {
        const SliceRef slice = slices[values.event[i]];
        if (slice == kNoSliceRef) continue;
        into.rows.push_back(SliceId{index(slice)});
        push(values.value[i]);
      }
    };
    switch (into.type) {
      case ArgType::kInt:
      case ArgType::kBool:
        add([&](uint64_t value) { into.ints.push_back(static_cast<int64_t>(value)); });
        break;
      case ArgType::kDouble:
        add([&](uint64_t value) { into.doubles.push_back(std::bit_cast<double>(value)); });
        break;
      case ArgType::kString:
        add([&](uint64_t value) { into.ints.push_back(index(names.strings[value])); });
        break;
      case ArgType::kJson:
        add([&](uint64_t value) {
          const auto raw = names.raw_json.find(static_cast<uint32_t>(value));
          into.ints.push_back(
              index(raw != names.raw_json.end() ? raw->second : names.strings[value]));
        });
        break;
    }
  }
}

LabelId EventAssembler::instant_label(Names& names, uint32_t label) {
  LabelId& instant = names.instant_labels[label];
  if (instant == kNoLabel) {
    Label as_instant = builder_.labels()[names.labels[label]];
    as_instant.kind = SliceKind::kInstant;
    instant = builder_.labels().intern(as_instant);
  }
  return instant;
}

SliceRef EventAssembler::add_instant(const RawEvent& event, const EventBatch& batch, Names& names) {
  const Label& label = builder_.labels()[names.labels[event.label]];
  if (builder_.strings().view(label.name) == "[memory]") {
    add_allocation(event, batch, names);
    return kNoSliceRef;
  }
  return builder_.add_slice(names.threads[event.thread], event.time_ns, 0,
                            instant_label(names, event.label));
}

void EventAssembler::add_allocation(const RawEvent& event, const EventBatch& batch,
                                    const Names& names) {
  TraceBuilder::Allocation allocation;
  allocation.time_ns = event.time_ns;
  for (uint32_t i = 0; i < event.side_arg_count; ++i) {
    const RawArg& arg = batch.side_args[event.first_side_arg + i];
    const RawColumn& column = names.raw_columns[arg.column];
    if (column.type != ArgType::kInt) continue;
    const std::string_view key = builder_.strings().view(names.strings[column.key]);
    const int64_t value = static_cast<int64_t>(arg.value);
    if (key == "Addr") {
      allocation.address = arg.value;
    } else if (key == "Bytes") {
      allocation.bytes = value;
    } else if (key == "Device Type") {
      allocation.device_type = static_cast<int16_t>(value);
    } else if (key == "Device Id") {
      allocation.device_id = static_cast<int16_t>(value);
    } else if (key == "Total Allocated") {
      allocation.total_allocated_bytes = value;
    } else if (key == "Total Reserved") {
      allocation.total_reserved_bytes = value;
    }
  }
  builder_.add_allocation(names.threads[event.thread], allocation);
}

void EventAssembler::add_counter(const RawEvent& event, const EventBatch& batch,
                                 const Names& names) {
  StringId name = builder_.labels()[names.labels[event.label]].name;
  const std::string_view spelt = builder_.strings().view(name);
  if (const std::string_view right = correct_counter_name(spelt); right != spelt) {
    name = builder_.string(right);
  }
  if (event.has(RawEvent::kHasId)) {  // counters of one name and several ids are several
    name = builder_.string(std::string(builder_.strings().view(name)) + " id " +
                           std::to_string(event.id));
  }
  if (event.side_arg_count == 0) builder_.stats().add(Stat::kEventsSkipped);
  for (uint32_t i = 0; i < event.side_arg_count; ++i) {
    const RawArg& arg = batch.side_args[event.first_side_arg + i];
    const RawColumn& column = names.raw_columns[arg.column];
    auto value = as_number(arg, column.type);
    if (!value && column.type == ArgType::kString) {
      value = parse_double(builder_.strings().view(names.strings[arg.value]));
    }
    if (!value || !std::isfinite(*value)) {
      builder_.stats().add(Stat::kValuesSkipped);
      continue;
    }
    const TrackId track =
        builder_.add_counter(names.pids[event.thread], name, names.strings[column.key]);
    builder_.add_counter_value(track, event.time_ns, *value);
  }
}

void EventAssembler::add_metadata(const RawEvent& event, const EventBatch& batch,
                                  const Names& names) {
  const std::string_view what =
      builder_.strings().view(builder_.labels()[names.labels[event.label]].name);
  const TrackId track_id = names.threads[event.thread];
  for (uint32_t i = 0; i < event.side_arg_count; ++i) {
    const RawArg& arg = batch.side_args[event.first_side_arg + i];
    const RawColumn& column = names.raw_columns[arg.column];
    const std::string_view key = builder_.strings().view(names.strings[column.key]);
    Track& track = builder_.track(track_id);
    Process& process = builder_.process(track.process);
    if (column.type == ArgType::kString && key == "name" && what == "thread_name") {
      track.name = names.strings[arg.value];
    } else if (column.type == ArgType::kString && key == "name" && what == "process_name") {
      process.name = names.strings[arg.value];
    } else if (column.type == ArgType::kString && key == "labels" && what == "process_labels") {
      process.labels = names.strings[arg.value];
    } else if (column.type == ArgType::kInt && what == "thread_sort_index") {
      track.sort_index = static_cast<int64_t>(arg.value);
      track.has_sort_index = true;
    } else if (column.type == ArgType::kInt && what == "process_sort_index") {
      process.sort_index = static_cast<int64_t>(arg.value);
      process.has_sort_index = true;
    }
  }
}

void EventAssembler::add_flow(const RawEvent& event, const Names& names) {
  const FlowPhase phase = event.phase == 's'   ? FlowPhase::kStart
                          : event.phase == 't' ? FlowPhase::kStep
                                               : FlowPhase::kEnd;
  const LabelId label = names.labels[event.label];
  // Ids count up in a file. Their keys do too, so that chains are found in the order of memory.
  uint64_t group = (uint64_t{index(label)} << 32 | index(names.strings[event.scope]));
  group *= 0x9E3779B97F4A7C15ull;
  if (event.has(RawEvent::kIdIsLocal)) {
    group ^= (builder_.add_process(names.pids[event.thread]) + 1) * 0xD6E8FEB86659FD93ull;
  }
  const uint64_t key = event.id + group;
  const bool binds_next = phase == FlowPhase::kEnd && !event.has(RawEvent::kBindsEnclosing);
  builder_.add_flow_point(names.threads[event.thread], event.time_ns, phase, binds_next, key,
                          event.id, label);
}

SliceRef EventAssembler::add_async(const RawEvent& event, const Names& names, char phase) {
  const Label label = builder_.labels()[names.labels[event.label]];
  const TrackId track = names.threads[event.thread];
  const uint32_t process = builder_.track(track).process;
  const AsyncKey key{event.id, event.has(RawEvent::kIdIsGlobal) ? UINT32_MAX : process,
                     label.category, names.strings[event.scope]};
  const int64_t time_ns =
      std::clamp(event.time_ns, -TraceBuilder::kMaxTimeNs, TraceBuilder::kMaxTimeNs);
  auto it = open_async_.find(key);
  if (phase == 'e') {
    if (it == open_async_.end()) {
      std::vector<EarlyEnd>& ends = early_ends_[key];
      if (ends.size() < kMaxAsyncSearch) {
        ends.push_back({label.name, time_ns});
      } else {
        builder_.stats().add(Stat::kEndsWithoutBegin);
      }
      return kNoSliceRef;
    }
    AsyncOperation& operation = async_[it->second];
    // The innermost of that name; where there is none, the innermost.
    const size_t depth = std::min(operation.open.size(), kMaxAsyncSearch);
    const auto limit = operation.open.rbegin() + static_cast<ptrdiff_t>(depth);
    auto open = std::find_if(operation.open.rbegin(), limit,
                             [&](const OpenAsync& of) { return of.name == label.name; });
    if (open == limit) open = operation.open.rbegin();
    const SliceRef slice = open->slice;
    builder_.set_dur_ns(slice, time_ns - builder_.start_ns(slice));
    operation.end_ns = std::max(operation.end_ns, time_ns);
    operation.open.erase(std::next(open).base());
    if (operation.open.empty()) open_async_.erase(it);
    return slice;
  }
  Label kind = label;
  if (phase == 'n') kind.kind = SliceKind::kInstant;
  const SliceRef slice = builder_.add_slice(track, time_ns, 0, builder_.labels().intern(kind));
  static constexpr std::string_view kIdKey = "async id";
  builder_.add_int(builder_.arg_column(kIdKey, ArgType::kInt), slice,
                   static_cast<int64_t>(event.id));
  if (it == open_async_.end()) async_.push_back({time_ns, time_ns, process, key.category, {}, {}});
  AsyncOperation& operation = it == open_async_.end() ? async_.back() : async_[it->second];
  operation.slices.push_back(slice);
  operation.start_ns = std::min(operation.start_ns, time_ns);
  operation.end_ns = std::max(operation.end_ns, time_ns);
  // A moment of an operation that has not begun stands alone.
  if (phase == 'n') return slice;
  if (const auto early = early_ends_.find(key); early != early_ends_.end()) {
    const auto end = std::find_if(
        early->second.begin(), early->second.end(),
        [&](const EarlyEnd& of) { return of.name == label.name && of.time_ns >= time_ns; });
    if (end != early->second.end()) {
      builder_.set_dur_ns(slice, end->time_ns - time_ns);
      operation.end_ns = std::max(operation.end_ns, end->time_ns);
      early->second.erase(end);
      return slice;
    }
  }
  if (it == open_async_.end()) open_async_.emplace(key, async_.size() - 1);
  operation.open.push_back({slice, label.name});
  return slice;
}

void EventAssembler::mark_stream(TrackId track_id) {
  if (index(track_id) >= is_stream_.size()) is_stream_.resize(index(track_id) + 1);
  if (is_stream_[index(track_id)] != 0) return;
  is_stream_[index(track_id)] = 1;
  // Kineto: the process id is the device's number, the thread id the stream's ("7" or "stream 7").
  Track& track = builder_.track(track_id);
  track.kind = TrackKind::kStream;
  const ForeignId pid = builder_.process(track.process).pid;
  if (pid.text == kEmptyString && pid.number >= 0 && pid.number < 4096) {
    track.device = static_cast<int32_t>(pid.number);
  }
  std::string_view tid = builder_.strings().view(track.tid.text);
  if (tid.starts_with("stream ")) tid.remove_prefix(7);
  track.stream = tid.empty() ? track.tid.number : parse_int(tid).value_or(-1);
}

void EventAssembler::finish() {
  for (int phase = 0; phase < 256; ++phase) {
    if (skipped_phases_[phase] == 0) continue;
    std::string shown = phase > 0x20 && phase < 0x7F ? std::string(1, static_cast<char>(phase))
                                                     : "\\x" + std::to_string(phase);
    builder_.stats().note("events of phase '" + shown + "' are not read (" +
                          std::to_string(skipped_phases_[phase]) + ")");
  }
  for (const auto& [key, ends] : early_ends_) {
    builder_.stats().add(Stat::kEndsWithoutBegin, ends.size());
  }
  // What never ended reaches to the last moment of its kind.
  int64_t last_ns = INT64_MIN;
  for (const AsyncOperation& operation : async_) last_ns = std::max(last_ns, operation.end_ns);
  for (AsyncOperation& operation : async_) {
    for (const OpenAsync& open : operation.open) {
      builder_.stats().add(Stat::kBeginsWithoutEnd);
      builder_.set_dur_ns(open.slice, last_ns - builder_.start_ns(open.slice));
      operation.end_ns = last_ns;
    }
  }
  // Operations of one category lie in as few lanes as they fit into, each in the first that is
  // free.
  std::stable_sort(async_.begin(), async_.end(), [](const auto& a, const auto& b) {
    return std::tuple(a.process, a.category, a.start_ns) <
           std::tuple(b.process, b.category, b.start_ns);
  });
  struct Lane {
    int64_t free_ns;
    TrackId track;
  };
  const auto frees_later = [](const Lane& a, const Lane& b) { return a.free_ns > b.free_ns; };
  std::vector<Lane> lanes;  // a heap: the lane that is free first is in front
  for (size_t i = 0; i < async_.size(); ++i) {
    const AsyncOperation& operation = async_[i];
    const bool is_new_group = i == 0 || async_[i - 1].process != operation.process ||
                              async_[i - 1].category != operation.category;
    if (is_new_group) lanes.clear();
    TrackId track_id{};
    if (!lanes.empty() && lanes.front().free_ns <= operation.start_ns) {
      std::pop_heap(lanes.begin(), lanes.end(), frees_later);
      track_id = lanes.back().track;
      lanes.back().free_ns = operation.end_ns;
    } else {
      Track track;
      track.kind = TrackKind::kAsync;
      track.process = operation.process;
      track.name = operation.category;
      track.series = operation.category;
      track.tid.number = static_cast<int64_t>(lanes.size());
      track_id = builder_.add_track(track);
      lanes.push_back({operation.end_ns, track_id});
    }
    std::push_heap(lanes.begin(), lanes.end(), frees_later);
    for (const SliceRef slice : operation.slices) builder_.set_track(slice, track_id);
  }
}

}  // namespace stepscope
