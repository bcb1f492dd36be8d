#include "trace/slice_block_reader.h"

#include <algorithm>
#include <numeric>
#include <span>

#include "trace/trace_builder.h"

namespace stepscope {
namespace {

using format::BlockView;
using format::Column;
using format::ColumnDecoder;

Status read_long_durations(const BlockView& block, ColumnDecoder& decoder, DecodedSlices& out) {
  out.long_dur_ns.clear();
  if (!block.has(Column::kLongDurRow)) return {};
  if (block.find(Column::kLongDurRow)->values() > block.rows()) {
    return Status::error("more long durations than rows");
  }
  std::vector<uint32_t> rows;
  std::vector<int64_t> durations;
  if (Status status = decoder.decode_all(block, Column::kLongDurRow, rows); !status) return status;
  if (Status status = decoder.decode_all(block, Column::kLongDurNs, durations); !status) {
    return status;
  }
  if (rows.size() != durations.size()) return Status::error("long durations without their rows");
  for (size_t i = 0; i < rows.size(); ++i) {
    if (rows[i] >= block.rows() || (i > 0 && rows[i] <= rows[i - 1])) {
      return Status::error("a long duration is of no row");
    }
    out.long_dur_ns.emplace_back(
        rows[i], std::clamp(durations[i], int64_t{format::kLongDur}, TraceBuilder::kMaxDurNs));
    out.short_dur_ns[rows[i]] = DurationColumn::kLong;
  }
  return {};
}

Status read_slice_ids(const BlockView& block, ColumnDecoder& decoder, DecodedArgs& out) {
  if (block.has(Column::kSlice)) {
    if (Status status = decoder.decode_rows(block, Column::kSlice, out.slices); !status) {
      return status;
    }
    bool ascending = true;
    for (size_t i = 1; i < out.slices.size(); ++i) ascending &= out.slices[i - 1] < out.slices[i];
    if (!ascending || (!out.slices.empty() && out.slices.back() == kNoSlice)) {
      return Status::error("its slices are not in order");
    }
    return {};
  }
  const auto first = decoder.decode_one<uint64_t>(block, Column::kFirstId);
  if (!first) return first.status();
  if (*first > format::kNoneU32 - block.rows()) return Status::error("ids beyond 32 bits");
  out.slices.resize(block.rows());
  for (uint32_t i = 0; i < block.rows(); ++i) {
    out.slices[i] = SliceId{static_cast<uint32_t>(*first) + i};
  }
  return {};
}

}  // namespace

Status read_slices(const BlockView& block, ColumnDecoder& decoder, DefinitionReader& definitions,
                   DecodedSlices& out) {
  const auto first = decoder.decode_one<uint64_t>(block, Column::kFirstId);
  if (!first) return first.status();
  if (*first > format::kNoneU32 - block.rows()) return Status::error("ids beyond 32 bits");
  if (block.rows() == 0) return Status::error("has no rows");
  out.first_id = static_cast<uint32_t>(*first);
  if (Status status = decoder.decode_rows(block, Column::kStart, out.start_ns); !status) {
    return status;
  }
  if (Status status = decoder.decode_rows(block, Column::kDur, out.short_dur_ns); !status) {
    return status;
  }
  if (Status status = decoder.decode_rows(block, Column::kLabel, out.label); !status) return status;
  if (Status status = read_long_durations(block, decoder, out); !status) return status;
  definitions.translate(out.label);
  out.tracks.clear();
  if (block.header().stream == format::kNoStream && block.has(Column::kTrack)) {
    if (Status status = decoder.decode_rows(block, Column::kTrack, out.tracks); !status) {
      return status;
    }
    definitions.translate(out.tracks);
    out.track = out.tracks.empty() ? TrackId{} : out.tracks[0];
  } else {
    out.track = definitions.track(block.header().stream);
  }
  return {};
}

Status read_args(const BlockView& block, ColumnDecoder& decoder, DefinitionReader& definitions,
                 DecodedArgs& out) {
  if (Status status = read_slice_ids(block, decoder, out); !status) return status;
  out.is_wide = false;
  out.narrow.clear();
  out.doubles.clear();
  Status status;
  if (const format::ColumnView* ints = block.find(Column::kValueInt)) {
    out.type = ArgType::kInt;
    out.is_wide = ints->type() == format::ColumnType::kI64;
    status = out.is_wide ? decoder.decode_rows(block, Column::kValueInt, out.wide)
                         : decoder.decode_rows(block, Column::kValueInt, out.narrow);
  } else if (block.has(Column::kValueDouble)) {
    out.type = ArgType::kDouble;
    status = decoder.decode_rows(block, Column::kValueDouble, out.doubles);
  } else if (block.has(Column::kValueBool)) {
    out.type = ArgType::kBool;
    status = decoder.decode_rows(block, Column::kValueBool, out.bools);
    if (status) {
      out.narrow.resize(out.bools.size());
      for (size_t i = 0; i < out.bools.size(); ++i) out.narrow[i] = out.bools[i] != 0;
    }
  } else {
    const bool is_json = block.has(Column::kValueJson);
    out.type = is_json ? ArgType::kJson : ArgType::kString;
    status = decoder.decode_rows(block, is_json ? Column::kValueJson : Column::kValueString,
                                 out.strings);
    if (status) {
      definitions.translate(out.strings);
      out.narrow.resize(out.strings.size());
      for (size_t i = 0; i < out.strings.size(); ++i) {
        out.narrow[i] = static_cast<int32_t>(index(out.strings[i]));
      }
    }
  }
  if (!status) return status;
  out.key = definitions.string(StringId{block.header().stream});
  return {};
}

void DecodedArgs::drop_lost() {
  size_t kept = 0;
  for (size_t i = 0; i < slices.size(); ++i) {
    if (slices[i] == kNoSlice) continue;
    slices[kept] = slices[i];
    if (type == ArgType::kDouble) {
      doubles[kept] = doubles[i];
    } else if (is_wide) {
      wide[kept] = wide[i];
    } else {
      narrow[kept] = narrow[i];
    }
    ++kept;
  }
  slices.resize(kept);
  if (type == ArgType::kDouble) {
    doubles.resize(kept);
  } else if (is_wide) {
    wide.resize(kept);
  } else {
    narrow.resize(kept);
  }
}

void DecodedArgs::append_to(ArgColumn& column) const {
  column.rows.insert(column.rows.end(), slices.begin(), slices.end());
  if (type == ArgType::kDouble) {
    column.doubles.insert(column.doubles.end(), doubles.begin(), doubles.end());
  } else if (is_wide) {
    column.ints.append(std::span<const int64_t>(wide));
  } else {
    column.ints.append(std::span<const int32_t>(narrow));
  }
}

}  // namespace stepscope
