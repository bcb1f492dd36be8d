#include "trace/trace_loader.h"

#include <algorithm>
#include <utility>

#include "trace/prefault.h"

namespace stepscope {

using format::BlockInfo;
using format::BlockType;
using format::BlockView;
using format::Column;

namespace {

bool reads(BlockType type) {
  return format::is_known(type) && type != BlockType::kClock && type != BlockType::kIndex &&
         type != BlockType::kTrailer;
}

}  // namespace

TraceLoader::TraceLoader(TraceBuilder& builder, RowBudget& budget,
                         std::span<const BlockSource> sources)
    : builder_(builder),
      budget_(budget),
      sources_(sources),
      definitions_(builder_, budget_),
      records_(builder_, definitions_, clock_, budget_) {
  // Ticks can be told in ns only when all triples are known.
  for (const BlockSource& source : sources_) {
    for_each_block(
        source, [](BlockType type) { return type == BlockType::kClock; },
        [&](const BlockView& block) { return read_clock(block); });
  }
  clock_.settle();
}

void TraceLoader::shift_ns(int64_t ns) {
  shift_ns_ = std::clamp(ns, -2 * TraceBuilder::kMaxTimeNs, 2 * TraceBuilder::kMaxTimeNs);
  clock_.shift_ns(shift_ns_);
}

void TraceLoader::load() {
  reserve();
  for (const BlockSource& source : sources_) {
    const uint64_t before = builder_.stats().get(Stat::kEventsRead);
    const bool is_live = source.is_pool && source.is_running;
    gap_ = is_live ? RecordDecoder::Gap::kNotYet : RecordDecoder::Gap::kLoss;
    for_each_block(source, reads, [&](const BlockView& block) { return read(block); });
    if (source.is_pool) records_from_pool_ += builder_.stats().get(Stat::kEventsRead) - before;
  }
  records_.finish();
  count_damage();
}

template <typename Wants, typename Read>
void TraceLoader::for_each_block(const BlockSource& source, Wants&& wants, Read&& read_one) {
  for (const BlockInfo& info : source.reader->blocks()) {
    if (!wants(info.header.type)) continue;
    auto block = source.reader->read(info);
    const Status status = block ? read_one(*block) : block.status();
    if (!status) note_damage(source, info, status);
  }
}

// Headers are only claims: memory is taken beforehand only as far as a file of this size may well
// fill it.
void TraceLoader::reserve() {
  uint64_t slices = 0;
  uint64_t flows = 0;
  uint64_t values = 0;
  uint64_t file_bytes = 0;
  for (const BlockSource& source : sources_) {
    file_bytes += source.bytes;
    for (const BlockInfo& info : source.reader->blocks()) {
      if (info.header.type == BlockType::kSlices) slices += info.header.rows;
      if (info.header.type == BlockType::kFlows) flows += info.header.rows;
      if (info.header.type == BlockType::kArgs) {
        values += info.header.rows;
        values_by_key_[info.header.stream] += info.header.rows;
      }
    }
  }
  constexpr uint64_t kRowsPerByte = 4;
  believes_headers_ =
      slices + flows + values <= std::min(kRowsPerByte * file_bytes, budget_.left());
  if (!believes_headers_) return;
  builder_.reserve_slices(static_cast<size_t>(builder_.slice_count() + slices));
  builder_.reserve_flows(static_cast<size_t>(flows));
}

Status TraceLoader::read_clock(const BlockView& block) {
  std::vector<uint64_t> ticks;
  std::vector<int64_t> monotonic_ns, realtime_ns;
  if (Status status = budget_.take(block.header()); !status) return status;
  if (Status status = decode(block, Column::kTicks, ticks); !status) return status;
  if (Status status = decode(block, Column::kMonotonicNs, monotonic_ns); !status) return status;
  if (Status status = decode(block, Column::kRealtimeNs, realtime_ns); !status) return status;
  if (block.has(Column::kTicksPerSecond)) {
    const auto rate = decoder_.decode_one<uint64_t>(block, Column::kTicksPerSecond);
    if (!rate) return rate.status();
    clock_.set_ticks_per_second(*rate);
  }
  for (size_t i = 0; i < ticks.size(); ++i) {
    clock_.add({ticks[i], monotonic_ns[i], realtime_ns[i]});
  }
  return {};
}

void TraceLoader::shift(std::vector<int64_t>& times_ns) const {
  if (shift_ns_ == 0) return;
  for (int64_t& ns : times_ns) {
    ns = std::clamp(ns, -TraceBuilder::kMaxTimeNs, TraceBuilder::kMaxTimeNs) + shift_ns_;
  }
}

Status TraceLoader::read(const BlockView& block) {
  const BlockType type = block.header().type;
  if (DefinitionReader::reads(type)) return definitions_.read(block, decoder_);
  // Samples are all that such a file is asked for: other rows would have to have tracks.
  if (definitions_.knows_all() && type != BlockType::kSamples) return {};
  if (Status status = budget_.take(block.header()); !status) return status;
  switch (type) {
    case BlockType::kSlices:
      return read_slice_block(block);
    case BlockType::kArgs:
      return read_arg_block(block);
    case BlockType::kCounters:
      return read_counters(block);
    case BlockType::kFlows:
      return read_flows(block);
    case BlockType::kSamples:
      return read_samples(block);
    case BlockType::kCallEdges:
      return read_call_edges(block);
    case BlockType::kAllocations:
      return read_allocations(block);
    case BlockType::kRecords:
      return records_.read(block, decoder_, gap_);
    default:
      return {};
  }
}

Status TraceLoader::read_slice_block(const BlockView& block) {
  if (Status status = read_slices(block, decoder_, definitions_, slices_); !status) return status;
  shift(slices_.start_ns);
  if (builder_.slice_count() + uint64_t{block.rows()} >= TraceBuilder::kMaxSlices) {
    return Status::error("more slices than 32 bits can count");
  }
  if (!ranges_.add(slices_.first_id, block.rows(), builder_.slice_count())) {
    return Status::error("its slices have ids that are taken");
  }
  const SliceRef first = builder_.add_slices(slices_.track, slices_.start_ns, slices_.short_dur_ns,
                                             slices_.long_dur_ns, slices_.label);
  for (uint32_t i = 0; i < slices_.tracks.size(); ++i) {
    builder_.set_track(SliceRef{index(first) + i}, slices_.tracks[i]);
  }
  return {};
}

Status TraceLoader::read_arg_block(const BlockView& block) {
  if (Status status = read_args(block, decoder_, definitions_, args_); !status) return status;
  if (const uint64_t lost = ranges_.translate(args_.slices); lost > 0) {
    builder_.stats().add(Stat::kValuesSkipped, lost);
    args_.drop_lost();
  }
  ArgColumn& column = builder_.arg_values(builder_.arg_column(args_.key, args_.type));
  if (column.rows.empty() && believes_headers_) {
    const auto values = static_cast<size_t>(values_by_key_[block.header().stream]);
    reserve_to_fill(column.rows, values);
    if (args_.type == ArgType::kDouble) {
      reserve_to_fill(column.doubles, values);
    } else {
      column.ints.reserve_to_fill(values);
    }
  }
  args_.append_to(column);
  return {};
}

Status TraceLoader::read_counters(const BlockView& block) {
  std::vector<int64_t> times;
  std::vector<double> values;
  if (Status status = decode(block, Column::kTime, times); !status) return status;
  if (const format::ColumnView* ints = block.find(Column::kValueInt)) {
    std::vector<int32_t> narrow;
    std::vector<int64_t> wide;
    const bool is_wide = ints->type() == format::ColumnType::kI64;
    if (Status status = is_wide ? decode(block, Column::kValueInt, wide)
                                : decode(block, Column::kValueInt, narrow);
        !status) {
      return status;
    }
    values.assign(narrow.begin(), narrow.end());
    for (const int64_t value : wide) values.push_back(static_cast<double>(value));
  } else if (Status status = decode(block, Column::kValueDouble, values); !status) {
    return status;
  }
  shift(times);
  const TrackId track = definitions_.track(block.header().stream);
  for (size_t i = 0; i < times.size(); ++i) builder_.add_counter_value(track, times[i], values[i]);
  return {};
}

Status TraceLoader::read_flows(const BlockView& block) {
  auto& [from, to, from_ns, to_ns, labels, ids] = flows_;
  if (Status status = decode(block, Column::kFromSlice, from); !status) return status;
  if (Status status = decode(block, Column::kToSlice, to); !status) return status;
  const bool from_is_offset = block.has(Column::kFromOffsetNs);
  const bool to_is_offset = block.has(Column::kToOffsetNs);
  if (Status status =
          decode(block, from_is_offset ? Column::kFromOffsetNs : Column::kFromTime, from_ns);
      !status) {
    return status;
  }
  if (Status status = decode(block, to_is_offset ? Column::kToOffsetNs : Column::kToTime, to_ns);
      !status) {
    return status;
  }
  if (Status status = decode(block, Column::kLabel, labels); !status) return status;
  if (Status status = decoder_.decode_rows_or(block, Column::kId, uint64_t{0}, ids); !status) {
    return status;
  }
  definitions_.translate(labels);
  if (!from_is_offset) shift(from_ns);
  if (!to_is_offset) shift(to_ns);
  // Sums of an untrusted offset and a time within the builder's limits; it brings them back to
  // these.
  const auto time_ns = [&](bool is_offset, SliceRef slice, int64_t ns) {
    ns = std::clamp(ns, -2 * TraceBuilder::kMaxTimeNs, 2 * TraceBuilder::kMaxTimeNs - 1);
    return is_offset ? builder_.start_ns(slice) + ns : ns;
  };
  for (size_t i = 0; i < from.size(); ++i) {
    const SliceRef from_ref{index(ranges_.find(from[i]))};
    const SliceRef to_ref{index(ranges_.find(to[i]))};
    if (from_ref == kNoSliceRef || to_ref == kNoSliceRef) {
      builder_.stats().add(Stat::kFlowsUnbound);
      continue;
    }
    builder_.add_flow(from_ref, to_ref, time_ns(from_is_offset, from_ref, from_ns[i]),
                      time_ns(to_is_offset, to_ref, to_ns[i]), ids[i], labels[i]);
  }
  return {};
}

Status TraceLoader::read_samples(const BlockView& block) {
  std::vector<int64_t> times, weights, cpu_ns, counts;
  std::vector<uint8_t> flags;
  std::vector<TrackId> tracks;
  std::vector<StackId> stacks;
  if (Status status = decode(block, Column::kTime, times); !status) return status;
  if (Status status = decode(block, Column::kStack, stacks); !status) return status;
  if (Status status =
          decoder_.decode_rows_or(block, Column::kTrack, TrackId{block.header().stream}, tracks);
      !status) {
    return status;
  }
  if (Status status = decoder_.decode_rows_or(block, Column::kWeight, int64_t{0}, weights);
      !status) {
    return status;
  }
  const auto optional = [&](Column column, auto fallback, auto& out) {
    return decoder_.decode_rows_or(block, column, fallback, out);
  };
  if (Status s = optional(Column::kCpuNs, kNoCpuNs, cpu_ns); !s) return s;
  if (Status s = optional(Column::kFlags, uint8_t{0}, flags); !s) return s;
  if (Status s = optional(Column::kCount, int64_t{1}, counts); !s) return s;
  shift(times);
  definitions_.translate(tracks);
  definitions_.translate(stacks);
  for (size_t i = 0; i < times.size(); ++i) {
    if (tracks[i] == kNoTrack) continue;  // of a thread that nobody records
    builder_.add_sample(tracks[i], times[i], stacks[i], weights[i], cpu_ns[i], flags[i], counts[i]);
  }
  return {};
}

Status TraceLoader::read_call_edges(const BlockView& block) {
  std::vector<FrameId> callers, callees;
  std::vector<uint64_t> calls, primitive_calls;
  std::vector<int64_t> self_ns, total_ns;
  if (Status status = decode(block, Column::kCaller, callers); !status) return status;
  if (Status status = decode(block, Column::kCallee, callees); !status) return status;
  if (Status status = decode(block, Column::kCalls, calls); !status) return status;
  if (Status status = decode(block, Column::kPrimitiveCalls, primitive_calls); !status) {
    return status;
  }
  if (Status status = decode(block, Column::kSelfNs, self_ns); !status) return status;
  if (Status status = decode(block, Column::kTotalNs, total_ns); !status) return status;
  definitions_.translate(callers);
  definitions_.translate(callees);
  for (size_t i = 0; i < calls.size(); ++i) {
    builder_.add_call_edge(callers[i], callees[i], calls[i], primitive_calls[i], self_ns[i],
                           total_ns[i]);
  }
  return {};
}

Status TraceLoader::read_allocations(const BlockView& block) {
  std::vector<int64_t> times, bytes, allocated, reserved;
  std::vector<TrackId> tracks;
  std::vector<uint64_t> addresses;
  std::vector<int32_t> types, devices;
  if (Status status = decode(block, Column::kTime, times); !status) return status;
  if (Status status = decode(block, Column::kSizeBytes, bytes); !status) return status;
  if (Status status =
          decoder_.decode_rows_or(block, Column::kTrack, TrackId{block.header().stream}, tracks);
      !status) {
    return status;
  }
  const auto optional = [&](Column column, auto fallback, auto& out) {
    return decoder_.decode_rows_or(block, column, fallback, out);
  };
  if (Status s = optional(Column::kAddress, uint64_t{0}, addresses); !s) return s;
  if (Status s = optional(Column::kDeviceType, int32_t{0}, types); !s) return s;
  if (Status s = optional(Column::kDevice, int32_t{-1}, devices); !s) return s;
  if (Status s = optional(Column::kAllocatedBytes, int64_t{-1}, allocated); !s) return s;
  if (Status s = optional(Column::kReservedBytes, int64_t{-1}, reserved); !s) return s;
  shift(times);
  definitions_.translate(tracks);
  for (size_t i = 0; i < times.size(); ++i) {
    builder_.add_allocation(tracks[i],
                            {times[i], addresses[i], bytes[i], static_cast<int16_t>(types[i]),
                             static_cast<int16_t>(devices[i]), allocated[i], reserved[i]});
  }
  return {};
}

void TraceLoader::note_damage(const BlockSource& source, const BlockInfo& info,
                              const Status& status) {
  source.reader->count_damaged(info);
  if (info.header.type == BlockType::kRecords) records_.lose(info.header.stream);
  constexpr size_t kMaxNotes = 5;
  if (notes_.size() == kMaxNotes) return;
  const std::string place = "byte " + std::to_string(info.offset) + ": ";
  // BlockReader::read() says the place itself.
  notes_.push_back(source.note_prefix +
                   (status.message().starts_with(place)
                        ? status.message()
                        : place + "block of " + std::string(to_string(info.header.type)) + ": " +
                              status.message()));
}

void TraceLoader::count_damage() {
  Stats& stats = builder_.stats();
  for (const BlockSource& source : sources_) {
    format::ReadReport report = source.reader->report();
    if (source.tail_is_in_pool) report.torn_tail_bytes = 0;
    stats.add(Stat::kBlocksDamaged, report.blocks_damaged);
    stats.add(Stat::kBytesLost, report.bytes_lost);
    stats.add(Stat::kBytesTruncated, report.torn_tail_bytes);
    stats.add(Stat::kBlocksUnknown, report.unknown_blocks);
    if (const std::string text = format::to_string(report); !text.empty()) {
      stats.note(source.note_prefix + text);
    }
  }
  if (definitions_.ids_lost() > 0) {
    stats.note(std::to_string(definitions_.ids_lost()) +
               " strings, labels, frames or stacks were in lost blocks; they are shown as \"?\"");
  }
  for (std::string& note : notes_) stats.note(std::move(note));
  for (const std::string& note : definitions_.notes()) stats.note(note);
}

}  // namespace stepscope
