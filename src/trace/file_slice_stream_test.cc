#include "trace/file_slice_stream.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <string>

#include "base/byte_sink.h"
#include "format/block_writer.h"
#include "trace/trace_file.h"
#include "trace/trace_for_tests.h"

namespace stepscope {
namespace {

std::vector<uint8_t> save(const Trace& trace, uint32_t rows_per_block) {
  MemorySink sink;
  EXPECT_TRUE(save_trace(trace, sink, {.rows_per_block = rows_per_block}).ok());
  return sink.bytes();
}

void expect_same_slices(FileSliceStream& stream, const Trace& trace) {
  SliceBlock block;
  uint32_t row = 0;
  size_t starts = 0;
  while (true) {
    const Result<bool> more = stream.next(block);
    ASSERT_TRUE(more.ok());
    if (!*more) break;
    ASSERT_EQ(block.first_row, row);
    starts += block.starts_track;
    ArgCursor id(block, stream.strings(), "External id", ArgType::kInt);
    ArgCursor dims(block, stream.strings(), "Input Dims", ArgType::kJson);
    ArgCursor flops(block, stream.strings(), "flops", ArgType::kDouble);
    const ArgColumn* ids = trace.find_args("External id", ArgType::kInt);
    const ArgColumn* all_dims = trace.find_args("Input Dims", ArgType::kJson);
    for (size_t i = 0; i < block.size(); ++i, ++row) {
      ASSERT_EQ(block.track, trace.find_track_of(SliceId{row}));
      ASSERT_EQ(block.start_ns[i], trace.slices().start_ns[row]);
      ASSERT_EQ(block.dur_ns(i), trace.slices().dur_ns[row]);
      ASSERT_EQ(stream.strings().view(stream.labels()[block.label[i]].name),
                trace.slice_name(SliceId{row}));
      ASSERT_EQ(id.find_int(block.row(i)), ids->ints[*ids->find(SliceId{row})]);
      const auto at = dims.find(block.row(i));
      const auto expected = all_dims->find(SliceId{row});
      ASSERT_EQ(at.has_value(), expected.has_value());
      if (at) {
        ASSERT_EQ(stream.strings().view(dims.column()->string(*at)),
                  trace.string(all_dims->string(*expected)));
      }
      ASSERT_EQ(flops.find(block.row(i)).has_value(),
                trace.find_args("flops", ArgType::kDouble)->find(SliceId{row}).has_value());
    }
  }
  EXPECT_EQ(row, trace.slices().size());
  EXPECT_EQ(starts, 3u);
}

TEST(FileSliceStream, GivesTheSlicesOfALoadedTraceAndTheirArguments) {
  const Trace trace = make_full_trace(1000);
  for (const uint32_t rows_per_block : {64u, 1000u, 65'536u}) {
    const std::vector<uint8_t> bytes = save(trace, rows_per_block);
    auto stream = FileSliceStream::open(bytes, "test");
    ASSERT_TRUE(stream.ok()) << stream.status().message();
    expect_same_slices(**stream, trace);
    const uint32_t strings = (*stream)->strings().size();
    ASSERT_TRUE((*stream)->rewind().ok());
    expect_same_slices(**stream, trace);
    EXPECT_EQ((*stream)->strings().size(), strings);
    EXPECT_EQ((*stream)->tracks().size(), trace.tracks().size());
    EXPECT_EQ((*stream)->devices().size(), trace.devices().size());
    EXPECT_TRUE((*stream)->report().is_clean());
  }
}

TEST(FileSliceStream, ReadsAFileOnDisk) {
  const std::string path = testing::TempDir() + "file_slice_stream_test.sscope";
  const Trace trace = make_full_trace(100);
  ASSERT_TRUE(save_trace(trace, path).ok());
  auto stream = FileSliceStream::open(path);
  ASSERT_TRUE(stream.ok());
  expect_same_slices(**stream, trace);
  std::remove(path.c_str());
  EXPECT_FALSE(FileSliceStream::open(path).ok());
}

TEST(FileSliceStream, LeavesDamagedBlocksOut) {
  const Trace trace = make_full_trace(1000);
  std::vector<uint8_t> bytes = save(trace, 100);
  {
    const auto reader = format::BlockReader::open(bytes);
    int blocks = 0;
    for (const format::BlockInfo& info : reader->blocks()) {
      if (info.header.type == format::BlockType::kSlices && ++blocks == 3) {
        bytes[info.offset + format::kBlockHeaderBytes + 90] ^= 4;
      }
    }
  }
  auto stream = FileSliceStream::open(bytes, "test");
  SliceBlock block;
  uint64_t rows = 0;
  while (*(*stream)->next(block)) {
    EXPECT_NE(block.first_row, 200u);
    for (const ArgColumn& column : block.args) {
      EXPECT_GE(index(column.rows.front()), block.first_row);
      EXPECT_LT(index(column.rows.back()), block.first_row + block.size());
    }
    rows += block.size();
  }
  EXPECT_EQ(rows, trace.slices().size() - 100);
  EXPECT_EQ((*stream)->report().blocks_damaged, 1u);
}

TEST(FileSliceStream, RefusesFilesThatAreNotInOrder) {
  using format::BlockBuilder;
  using format::BlockType;
  using format::Column;
  const auto slices = [](uint32_t track, int64_t min_ns) {
    BlockBuilder block(BlockType::kSlices, 1);
    block.set_stream(track).set_time_range(min_ns, min_ns);
    return block;
  };
  const auto opens = [](const std::vector<BlockBuilder>& blocks) {
    MemorySink sink;
    auto writer = format::BlockWriter::create(sink);
    for (const BlockBuilder& block : blocks) EXPECT_TRUE(writer->write(block).ok());
    return FileSliceStream::open(sink.bytes(), "test").ok();
  };
  const auto list = [&](auto... blocks) {
    std::vector<BlockBuilder> all;
    (all.push_back(std::move(blocks)), ...);
    return all;
  };
  EXPECT_TRUE(opens(list(slices(1, 5), slices(1, 5), slices(0, 3))));
  EXPECT_FALSE(opens(list(slices(1, 5), slices(1, 4))));
  EXPECT_FALSE(opens(list(slices(1, 5), slices(0, 3), slices(1, 6))));
  EXPECT_FALSE(opens(list(BlockBuilder(BlockType::kRecords, 0))));
}

}  // namespace
}  // namespace stepscope
