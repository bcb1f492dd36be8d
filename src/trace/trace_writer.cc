// save_trace(): the columns of a Trace as blocks.
#include <algorithm>
#include <limits>
#include <string_view>
#include <utility>
#include <vector>

#include "format/block_writer.h"
#include "trace/file_schema.h"
#include "trace/trace_file.h"

namespace stepscope {
namespace {

using format::BlockBuilder;
using format::BlockType;
using format::Column;

constexpr size_t kTextBytesPerBlock = size_t{1} << 22;
// Longer ones are cut: a block holds at most 64 MiB.
constexpr size_t kMaxTextBytes = size_t{1} << 25;

class TraceWriter {
 public:
  TraceWriter(const Trace& trace, format::BlockWriter& writer, const TraceWriteOptions& options)
      : trace_(trace),
        writer_(writer),
        rows_per_block_(std::clamp(options.rows_per_block, 1u, format::kMaxRows / 4)) {}

  Status write() {
    using Step = Status (TraceWriter::*)();
    for (const Step step :
         {&TraceWriter::write_metadata, &TraceWriter::write_strings, &TraceWriter::write_labels,
          &TraceWriter::write_processes, &TraceWriter::write_tracks, &TraceWriter::write_devices,
          &TraceWriter::write_stats, &TraceWriter::write_slices, &TraceWriter::write_counters,
          &TraceWriter::write_flows, &TraceWriter::write_frames, &TraceWriter::write_stacks,
          &TraceWriter::write_samples, &TraceWriter::write_call_edges,
          &TraceWriter::write_allocations}) {
      if (Status status = (this->*step)(); !status) return status;
    }
    return writer_.finish();
  }

 private:
  Status write_metadata();
  Status write_strings();
  Status write_labels();
  Status write_processes();
  Status write_tracks();
  Status write_devices();
  Status write_stats();
  Status write_slices();
  Status write_slice_block(TrackId track, uint32_t first, uint32_t count);
  Status write_args(uint32_t first, uint32_t count);
  Status write_arg_block(const ArgColumn& column, size_t from, size_t to);
  Status write_counters();
  Status write_flows();
  Status write_frames();
  Status write_stacks();
  Status write_samples();
  Status write_sample_columns(const SampleColumns& samples);
  Status write_call_edges();
  Status write_allocations();

  // Calls write_part(first, count) for stretches of at most rows_per_block_.
  template <typename WritePart>
  Status in_parts(size_t rows, WritePart&& write_part) {
    for (size_t first = 0; first < rows; first += rows_per_block_) {
      const size_t count = std::min<size_t>(rows_per_block_, rows - first);
      if (Status status = write_part(first, count); !status) return status;
    }
    return {};
  }

  template <typename T>
  static std::span<const T> part(const std::vector<T>& column, size_t first, size_t count) {
    return std::span(column).subspan(first, count);
  }

  static BlockBuilder block(BlockType type, size_t rows) {
    return BlockBuilder(type, static_cast<uint32_t>(rows));
  }

  const Trace& trace_;
  format::BlockWriter& writer_;
  const uint32_t rows_per_block_;
  uint64_t texts_cut_ = 0;
  std::vector<size_t> next_value_;  // by argument column: the first value not written yet
};

// A column of `Value` made from a range of elements.
template <typename Value, typename Range, typename Get>
std::vector<Value> column_of(const Range& range, Get&& get) {
  std::vector<Value> values;
  values.reserve(range.size());
  for (const auto& element : range) values.push_back(static_cast<Value>(get(element)));
  return values;
}

Status TraceWriter::write_metadata() {
  std::vector<std::string> own_values = {trace_.format(), trace_.source(),
                                         std::to_string(trace_.clock_base_ns())};
  std::vector<std::string_view> keys = {kFormatKey, kSourceKey, kClockBaseKey};
  std::vector<std::string_view> values(own_values.begin(), own_values.end());
  std::vector<uint8_t> flags(keys.size(), kMetadataOfFile);
  for (const MetadataEntry& entry : trace_.metadata()) {
    keys.push_back(trace_.string(entry.key));
    values.push_back(trace_.string(entry.value));
    flags.push_back(entry.is_json ? kMetadataIsJson : 0);
  }
  const auto cut = [&](std::string_view& text) {
    if (text.size() > kMaxTextBytes) ++texts_cut_;
    text = text.substr(0, kMaxTextBytes);
  };
  for (size_t first = 0; first < keys.size();) {
    size_t bytes = 0;
    size_t end = first;
    for (; end < keys.size() && end - first < rows_per_block_; ++end) {
      cut(keys[end]);
      cut(values[end]);
      const size_t more = keys[end].size() + values[end].size();
      if (end > first && bytes + more > kTextBytesPerBlock) break;
      bytes += more;
    }
    auto metadata = block(BlockType::kMetadata, end - first);
    metadata.add_text(Column::kKeyText, part(keys, first, end - first))
        .add_text(Column::kValueText, part(values, first, end - first))
        .add(Column::kFlags, part(flags, first, end - first));
    if (Status status = writer_.write(metadata); !status) return status;
    first = end;
  }
  return {};
}

Status TraceWriter::write_strings() {
  std::vector<std::string_view> texts;
  for (uint32_t first = 0; first < trace_.strings().size();) {
    texts.clear();
    size_t bytes = 0;
    for (uint32_t id = first; id < trace_.strings().size() && texts.size() < rows_per_block_;
         ++id) {
      std::string_view text = trace_.string(StringId{id});
      if (text.size() > kMaxTextBytes) ++texts_cut_;
      text = text.substr(0, kMaxTextBytes);
      if (!texts.empty() && bytes + text.size() > kTextBytesPerBlock) break;
      bytes += text.size();
      texts.push_back(text);
    }
    auto strings = block(BlockType::kStrings, texts.size());
    strings.add_one<uint64_t>(Column::kFirstId, first)
        .add_text(Column::kText, std::span<const std::string_view>(texts));
    if (Status status = writer_.write(strings); !status) return status;
    first += static_cast<uint32_t>(texts.size());
  }
  return {};
}

Status TraceWriter::write_labels() {
  return in_parts(trace_.labels().size(), [&](size_t first, size_t count) {
    const auto labels = part(trace_.labels().all(), first, count);
    const auto names = column_of<uint32_t>(labels, [](const Label& l) { return l.name; });
    const auto categories = column_of<uint32_t>(labels, [](const Label& l) { return l.category; });
    const auto kinds = column_of<uint8_t>(labels, [](const Label& l) { return l.kind; });
    auto out = block(BlockType::kLabels, count);
    out.add_one<uint64_t>(Column::kFirstId, first)
        .add<uint32_t>(Column::kName, names)
        .add<uint32_t>(Column::kCategory, categories)
        .add<uint8_t>(Column::kKind, kinds);
    return writer_.write(out);
  });
}

Status TraceWriter::write_processes() {
  return in_parts(trace_.processes().size(), [&](size_t first, size_t count) {
    const auto rows = trace_.processes().subspan(first, count);
    std::vector<uint32_t> ids(count);
    for (size_t i = 0; i < count; ++i) ids[i] = static_cast<uint32_t>(first + i);
    const auto numbers = column_of<int64_t>(rows, [](const Process& p) { return p.pid.number; });
    const auto texts = column_of<uint32_t>(rows, [](const Process& p) { return p.pid.text; });
    const auto names = column_of<uint32_t>(rows, [](const Process& p) { return p.name; });
    const auto labels = column_of<uint32_t>(rows, [](const Process& p) { return p.labels; });
    const auto sorts = column_of<int64_t>(rows, [](const Process& p) { return p.sort_index; });
    const auto flags = column_of<uint8_t>(
        rows, [](const Process& p) { return p.has_sort_index ? kHasSortIndex : 0; });
    auto out = block(BlockType::kProcesses, count);
    out.add<uint32_t>(Column::kId, ids)
        .add<int64_t>(Column::kNumber, numbers)
        .add<uint32_t>(Column::kNumberText, texts)
        .add<uint32_t>(Column::kName, names)
        .add<uint32_t>(Column::kProcessLabels, labels)
        .add<int64_t>(Column::kSortIndex, sorts)
        .add<uint8_t>(Column::kFlags, flags);
    return writer_.write(out);
  });
}

Status TraceWriter::write_tracks() {
  return in_parts(trace_.tracks().size(), [&](size_t first, size_t count) {
    const auto rows = trace_.tracks().subspan(first, count);
    std::vector<uint32_t> ids(count);
    for (size_t i = 0; i < count; ++i) ids[i] = static_cast<uint32_t>(first + i);
    const auto kinds = column_of<uint8_t>(rows, [](const Track& t) { return t.kind; });
    const auto processes = column_of<uint32_t>(rows, [](const Track& t) { return t.process; });
    const auto numbers = column_of<int64_t>(rows, [](const Track& t) { return t.tid.number; });
    const auto texts = column_of<uint32_t>(rows, [](const Track& t) { return t.tid.text; });
    const auto names = column_of<uint32_t>(rows, [](const Track& t) { return t.name; });
    const auto series = column_of<uint32_t>(rows, [](const Track& t) { return t.series; });
    const auto units = column_of<uint32_t>(rows, [](const Track& t) { return t.unit; });
    const auto devices = column_of<int32_t>(rows, [](const Track& t) { return t.device; });
    const auto streams = column_of<int64_t>(rows, [](const Track& t) { return t.stream; });
    const auto sorts = column_of<int64_t>(rows, [](const Track& t) { return t.sort_index; });
    const auto flags = column_of<uint8_t>(
        rows, [](const Track& t) { return t.has_sort_index ? kHasSortIndex : 0; });
    auto out = block(BlockType::kTracks, count);
    out.add<uint32_t>(Column::kId, ids)
        .add<uint8_t>(Column::kKind, kinds)
        .add<uint32_t>(Column::kProcess, processes)
        .add<int64_t>(Column::kNumber, numbers)
        .add<uint32_t>(Column::kNumberText, texts)
        .add<uint32_t>(Column::kName, names)
        .add<uint32_t>(Column::kSeries, series)
        .add<uint32_t>(Column::kUnit, units)
        .add<int32_t>(Column::kDevice, devices)
        .add<int64_t>(Column::kDeviceStream, streams)
        .add<int64_t>(Column::kSortIndex, sorts)
        .add<uint8_t>(Column::kFlags, flags);
    return writer_.write(out);
  });
}

Status TraceWriter::write_devices() {
  return in_parts(trace_.devices().size(), [&](size_t first, size_t count) {
    const auto rows = trace_.devices().subspan(first, count);
    const auto names = column_of<uint32_t>(rows, [](const Device& d) { return d.name; });
    std::vector<std::vector<int64_t>> figures;
    auto out = block(BlockType::kDevices, count);
    out.add<uint32_t>(Column::kName, names);
    for (const auto& [column, member] : kDeviceFigures) {
      figures.push_back(column_of<int64_t>(rows, [&](const Device& d) { return d.*member; }));
      out.add<int64_t>(column, figures.back());
    }
    return writer_.write(out);
  });
}

Status TraceWriter::write_stats() {
  std::vector<std::string_view> names;
  std::vector<int64_t> counts;
  Stats stats = trace_.stats();
  if (texts_cut_ > 0) {
    stats.add(Stat::kValuesSkipped, texts_cut_);
    stats.note(std::to_string(texts_cut_) + " texts of more than 32 MiB cut on saving");
  }
  for (int i = 0; i < kStatCount; ++i) {
    const auto stat = static_cast<Stat>(i);
    if (stats.get(stat) == 0 || stat_is_derived(stat)) continue;
    names.push_back(stat_name(stat));
    counts.push_back(static_cast<int64_t>(stats.get(stat)));
  }
  const std::vector<std::string_view> notes(stats.notes().begin(), stats.notes().end());
  if (names.empty() && notes.empty()) return {};
  auto out = block(BlockType::kStats, names.size());
  out.add_text(Column::kKeyText, std::span<const std::string_view>(names))
      .add<int64_t>(Column::kCount, counts)
      .add_text(Column::kText, std::span<const std::string_view>(notes));
  return writer_.write(out);
}

Status TraceWriter::write_slices() {
  next_value_.assign(trace_.args().size(), 0);
  for (uint32_t t = 0; t < trace_.tracks().size(); ++t) {
    const Track& track = trace_.tracks()[t];
    const Status status = in_parts(track.slice_count, [&](size_t first, size_t count) {
      const auto row = static_cast<uint32_t>(track.first_slice + first);
      const auto rows = static_cast<uint32_t>(count);
      Status written = write_slice_block(TrackId{t}, row, rows);
      return written ? write_args(row, rows) : written;
    });
    if (!status) return status;
  }
  return {};
}

Status TraceWriter::write_slice_block(TrackId track, uint32_t first, uint32_t count) {
  const SliceColumns& slices = trace_.slices();
  int64_t last_ns = std::numeric_limits<int64_t>::min();
  for (uint32_t row = first; row < first + count; ++row) {
    last_ns = std::max(last_ns, slices.end_ns(row));
  }
  std::vector<uint32_t> long_rows;
  std::vector<int64_t> long_ns;
  const auto longs = slices.dur_ns.longs();
  auto at = std::lower_bound(longs.begin(), longs.end(), first,
                             [](const auto& entry, uint32_t row) { return entry.first < row; });
  for (; at != longs.end() && at->first < first + count; ++at) {
    long_rows.push_back(at->first - first);
    long_ns.push_back(at->second);
  }
  auto out = block(BlockType::kSlices, count);
  out.set_stream(index(track))
      .set_time_range(slices.start_ns[first], last_ns)
      .add_one<uint64_t>(Column::kFirstId, first)
      .add(Column::kStart, part(slices.start_ns, first, count))
      .add(Column::kDur, slices.dur_ns.shorts().subspan(first, count))
      .add(Column::kLabel, part(slices.label, first, count));
  if (!long_rows.empty()) {
    out.add<uint32_t>(Column::kLongDurRow, long_rows).add<int64_t>(Column::kLongDurNs, long_ns);
  }
  return writer_.write(out);
}

// The values of the slices [first, first + count), a block per argument.
Status TraceWriter::write_args(uint32_t first, uint32_t count) {
  for (size_t c = 0; c < trace_.args().size(); ++c) {
    const ArgColumn& column = trace_.args()[c];
    const size_t from = next_value_[c];
    size_t& to = next_value_[c];
    while (to < column.rows.size() && index(column.rows[to]) < first + count) ++to;
    if (from == to) continue;
    if (Status status = write_arg_block(column, from, to); !status) return status;
  }
  return {};
}

Status TraceWriter::write_arg_block(const ArgColumn& column, size_t from, size_t to) {
  const size_t count = to - from;
  auto out = block(BlockType::kArgs, count);
  out.set_stream(index(column.key));
  const bool dense = index(column.rows[to - 1]) - index(column.rows[from]) + 1 == count;
  if (dense) {
    out.add_one<uint64_t>(Column::kFirstId, index(column.rows[from]));
  } else {
    out.add(Column::kSlice, part(column.rows, from, count));
  }
  std::vector<int32_t> narrow;
  std::vector<int64_t> wide;
  std::vector<uint32_t> ids;
  std::vector<uint8_t> bools;
  switch (column.type) {
    case ArgType::kInt: {
      bool fits = true;
      for (size_t i = from; i < to; ++i) {
        fits &= column.ints[i] == static_cast<int32_t>(column.ints[i]);
      }
      for (size_t i = from; i < to; ++i) {
        if (fits) {
          narrow.push_back(static_cast<int32_t>(column.ints[i]));
        } else {
          wide.push_back(column.ints[i]);
        }
      }
      if (fits) {
        out.add<int32_t>(Column::kValueInt, narrow);
      } else {
        out.add<int64_t>(Column::kValueInt, wide);
      }
      break;
    }
    case ArgType::kDouble:
      out.add(Column::kValueDouble, part(column.doubles, from, count));
      break;
    case ArgType::kBool:
      for (size_t i = from; i < to; ++i) bools.push_back(column.ints[i] != 0);
      out.add<uint8_t>(Column::kValueBool, bools);
      break;
    case ArgType::kString:
    case ArgType::kJson:
      for (size_t i = from; i < to; ++i) ids.push_back(index(column.string(i)));
      out.add<uint32_t>(column.type == ArgType::kJson ? Column::kValueJson : Column::kValueString,
                        ids);
      break;
  }
  return writer_.write(out);
}

Status TraceWriter::write_counters() {
  const CounterColumns& counters = trace_.counters();
  for (uint32_t t = 0; t < trace_.tracks().size(); ++t) {
    const Track& track = trace_.tracks()[t];
    const Status status =
        in_parts(static_cast<size_t>(track.value_count), [&](size_t first, size_t count) {
          first += static_cast<size_t>(track.first_value);
          auto out = block(BlockType::kCounters, count);
          out.set_stream(t)
              .set_time_range(counters.time_ns[first], counters.time_ns[first + count - 1])
              .add(Column::kTime, part(counters.time_ns, first, count))
              .add(Column::kValueDouble, part(counters.value, first, count));
          return writer_.write(out);
        });
    if (!status) return status;
  }
  return {};
}

Status TraceWriter::write_flows() {
  const FlowColumns& flows = trace_.flows();
  const SliceColumns& slices = trace_.slices();
  return in_parts(flows.from.size(), [&](size_t first, size_t count) {
    // Most arrows leave and arrive where their slices start: as differences these columns are
    // empty.
    std::vector<int64_t> from_offset_ns(count);
    std::vector<int64_t> to_offset_ns(count);
    for (size_t i = 0; i < count; ++i) {
      from_offset_ns[i] = flows.from_ns[first + i] - slices.start_ns[index(flows.from[first + i])];
      to_offset_ns[i] = flows.to_ns[first + i] - slices.start_ns[index(flows.to[first + i])];
    }
    auto out = block(BlockType::kFlows, count);
    out.add(Column::kFromSlice, part(flows.from, first, count))
        .add(Column::kToSlice, part(flows.to, first, count))
        .add<int64_t>(Column::kFromOffsetNs, from_offset_ns)
        .add<int64_t>(Column::kToOffsetNs, to_offset_ns)
        .add(Column::kLabel, part(flows.label, first, count))
        .add(Column::kId, part(flows.id, first, count));
    return writer_.write(out);
  });
}

Status TraceWriter::write_frames() {
  return in_parts(trace_.frames().size(), [&](size_t first, size_t count) {
    const auto rows = trace_.frames().subspan(first, count);
    const auto names = column_of<uint32_t>(rows, [](const Frame& f) { return f.name; });
    const auto files = column_of<uint32_t>(rows, [](const Frame& f) { return f.file; });
    const auto lines = column_of<int32_t>(rows, [](const Frame& f) { return f.line; });
    auto out = block(BlockType::kFrames, count);
    out.add_one<uint64_t>(Column::kFirstId, first)
        .add<uint32_t>(Column::kName, names)
        .add<uint32_t>(Column::kFile, files)
        .add<int32_t>(Column::kLine, lines);
    return writer_.write(out);
  });
}

Status TraceWriter::write_stacks() {
  return in_parts(trace_.stacks().size(), [&](size_t first, size_t count) {
    const auto rows = trace_.stacks().subspan(first, count);
    const auto parents = column_of<uint32_t>(rows, [](const StackNode& n) { return n.parent; });
    const auto frames = column_of<uint32_t>(rows, [](const StackNode& n) { return n.frame; });
    const auto lines = column_of<int32_t>(rows, [](const StackNode& n) { return n.line; });
    auto out = block(BlockType::kStacks, count);
    out.add_one<uint64_t>(Column::kFirstId, first)
        .add<uint32_t>(Column::kParent, parents)
        .add<uint32_t>(Column::kFrame, frames);
    if (std::any_of(lines.begin(), lines.end(), [](int32_t line) { return line != 0; })) {
      out.add<int32_t>(Column::kLine, lines);
    }
    return writer_.write(out);
  });
}

Status TraceWriter::write_samples() {
  if (Status status = write_sample_columns(trace_.samples()); !status) return status;
  return write_sample_columns(trace_.line_samples());
}

Status TraceWriter::write_sample_columns(const SampleColumns& samples) {
  return in_parts(samples.time_ns.size(), [&](size_t first, size_t count) {
    const auto times = part(samples.time_ns, first, count);
    const auto [least, greatest] = std::minmax_element(times.begin(), times.end());
    auto out = block(BlockType::kSamples, count);
    out.set_time_range(*least, *greatest)
        .add(Column::kTime, times)
        .add(Column::kTrack, part(samples.track, first, count))
        .add(Column::kStack, part(samples.stack, first, count))
        .add(Column::kWeight, part(samples.weight_ns, first, count));
    if (!samples.cpu_ns.empty()) out.add(Column::kCpuNs, part(samples.cpu_ns, first, count));
    if (!samples.flags.empty()) out.add(Column::kFlags, part(samples.flags, first, count));
    std::vector<int64_t> ticks;
    if (!samples.count.empty()) {
      const auto counts = part(samples.count, first, count);
      ticks.assign(counts.begin(), counts.end());
      out.add<int64_t>(Column::kCount, ticks);
    }
    return writer_.write(out);
  });
}

Status TraceWriter::write_call_edges() {
  const CallEdgeColumns& edges = trace_.call_edges();
  return in_parts(edges.caller.size(), [&](size_t first, size_t count) {
    auto out = block(BlockType::kCallEdges, count);
    out.add(Column::kCaller, part(edges.caller, first, count))
        .add(Column::kCallee, part(edges.callee, first, count))
        .add(Column::kCalls, part(edges.calls, first, count))
        .add(Column::kPrimitiveCalls, part(edges.primitive_calls, first, count))
        .add(Column::kSelfNs, part(edges.self_ns, first, count))
        .add(Column::kTotalNs, part(edges.total_ns, first, count));
    return writer_.write(out);
  });
}

Status TraceWriter::write_allocations() {
  const AllocationColumns& all = trace_.allocations();
  return in_parts(all.time_ns.size(), [&](size_t first, size_t count) {
    const std::vector<int32_t> types(
        all.device_type.begin() + static_cast<ptrdiff_t>(first),
        all.device_type.begin() + static_cast<ptrdiff_t>(first + count));
    const std::vector<int32_t> ids(all.device_id.begin() + static_cast<ptrdiff_t>(first),
                                   all.device_id.begin() + static_cast<ptrdiff_t>(first + count));
    auto out = block(BlockType::kAllocations, count);
    out.set_time_range(all.time_ns[first], all.time_ns[first + count - 1])
        .add(Column::kTime, part(all.time_ns, first, count))
        .add(Column::kTrack, part(all.track, first, count))
        .add(Column::kAddress, part(all.address, first, count))
        .add(Column::kSizeBytes, part(all.bytes, first, count))
        .add<int32_t>(Column::kDeviceType, types)
        .add<int32_t>(Column::kDevice, ids)
        .add(Column::kAllocatedBytes, part(all.total_allocated_bytes, first, count))
        .add(Column::kReservedBytes, part(all.total_reserved_bytes, first, count));
    return writer_.write(out);
  });
}

}  // namespace

Status save_trace(const Trace& trace, ByteSink& sink, const TraceWriteOptions& options) {
  auto writer = format::BlockWriter::create(sink, {.zstd_level = options.zstd_level});
  if (!writer) return writer.status();
  return TraceWriter(trace, *writer, options).write();
}

Status save_trace(const Trace& trace, const std::string& path, const TraceWriteOptions& options) {
  auto sink = FileSink::create(path);
  if (!sink) return sink.status();
  if (Status status = save_trace(trace, **sink, options); !status) return status;
  return (*sink)->close();
}

}  // namespace stepscope
