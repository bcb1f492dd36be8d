// FileSliceStream: the slices of a .sscope file, block by block, for tables of files that do not
// fit into memory. It holds the definitions (strings, labels, tracks) and one block of slices with
// its arguments.
//
//   auto stream = FileSliceStream::open("run.sscope");
//   if (!stream) …                      // not a file that can be streamed: load it whole
//   Table table = operators(**stream, options);
//
// Only files whose slices lie in order, track after track, can be streamed: those that save_trace()
// writes. A recording with raw records can not. Rows are the file's own slice ids. Damaged blocks
// are left out; report() says what was.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/mapped_file.h"
#include "base/status.h"
#include "format/block_reader.h"
#include "format/column_decoder.h"
#include "trace/definition_reader.h"
#include "trace/row_budget.h"
#include "trace/slice_block_reader.h"
#include "trace/slice_stream.h"
#include "trace/trace_builder.h"
#include "trace/trace_file.h"

namespace stepscope {

class FileSliceStream final : public SliceStream {
 public:
  static Result<std::unique_ptr<FileSliceStream>> open(const std::string& path);
  // Borrows the bytes; `name` is for messages.
  static Result<std::unique_ptr<FileSliceStream>> open(std::span<const uint8_t> file,
                                                       const std::string& name,
                                                       const TraceReadOptions& options = {});

  Result<bool> next(SliceBlock& block) override;
  Status rewind() override;
  const StringPool& strings() const override { return builder_.strings(); }
  const LabelTable& labels() const override { return builder_.labels(); }
  std::span<const Track> tracks() const override { return builder_.tracks(); }
  std::span<const Device> devices() const override { return builder_.devices(); }

  // Of the blocks that were read so far.
  format::ReadReport report() const { return reader_.report(); }

 private:
  FileSliceStream(format::BlockReader reader, RowBudget budget);

  static Status check_order(const format::BlockReader& reader);
  bool read_next_slices();
  void read_definitions(const format::BlockInfo& info);
  void read_args_behind();
  void append_args();

  std::unique_ptr<MappedFile> file_;  // null where the bytes are borrowed
  format::BlockReader reader_;
  TraceBuilder builder_;  // only its definitions are used
  RowBudget budget_;
  DefinitionReader definitions_;
  format::ColumnDecoder decoder_;
  size_t next_block_ = 0;
  size_t defined_blocks_ = 0;  // up to here definitions were read; they outlive rewind()
  bool has_track_ = false;
  TrackId track_{};
  DecodedSlices slices_;
  DecodedArgs decoded_args_;
  std::vector<ArgColumn> args_;
};

}  // namespace stepscope
