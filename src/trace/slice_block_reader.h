// The blocks that hold most of a file: slices, and the values of their arguments. Decoded with the
// ids of the trace in place of the file's, except for slice ids: these are the file's own.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "base/status.h"
#include "format/block_reader.h"
#include "format/column_decoder.h"
#include "trace/columns.h"
#include "trace/definition_reader.h"
#include "trace/ids.h"

namespace stepscope {

struct DecodedSlices {
  TrackId track{};
  std::vector<TrackId> tracks;  // by row, where the block is of several tracks; else empty
  uint32_t first_id = 0;
  std::vector<int64_t> start_ns;
  std::vector<uint32_t> short_dur_ns;
  std::vector<std::pair<uint32_t, int64_t>> long_dur_ns;  // rows of the block
  std::vector<LabelId> label;
};

Status read_slices(const format::BlockView& block, format::ColumnDecoder& decoder,
                   DefinitionReader& definitions, DecodedSlices& out);

struct DecodedArgs {
  StringId key = kEmptyString;
  ArgType type = ArgType::kInt;
  std::vector<SliceId> slices;  // ascending
  bool is_wide = false;
  std::vector<int32_t> narrow;    // one of these three has a value per slice
  std::vector<int64_t> wide;      // where is_wide
  std::vector<double> doubles;    // where type is kDouble
  std::vector<StringId> strings;  // scratch
  std::vector<uint8_t> bools;     // scratch

  // Drops the values whose slice is kNoSlice.
  void drop_lost();
  // Appends rows and values.
  void append_to(ArgColumn& column) const;
};

Status read_args(const format::BlockView& block, format::ColumnDecoder& decoder,
                 DefinitionReader& definitions, DecodedArgs& out);

}  // namespace stepscope
