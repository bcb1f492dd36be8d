#include "analyze/table_arrow.h"

#include "trace/trace_builder.h"

#include <gtest/gtest.h>

#include <cstring>

namespace stepscope {
namespace {

// A stream and what was read of it; releases everything.
class Reader {
 public:
  explicit Reader(const ArrowArrayStream& from) : stream(from) {
    EXPECT_EQ(stream.get_schema(&stream, &schema), 0);
  }
  ~Reader() {
    end_batch();
    if (schema.release != nullptr) schema.release(&schema);
    if (stream.release != nullptr) stream.release(&stream);
  }
  bool next() {
    end_batch();
    EXPECT_EQ(stream.get_next(&stream, &batch), 0);
    return batch.release != nullptr;
  }
  void end_batch() {
    if (batch.release != nullptr) batch.release(&batch);
  }
  const ArrowArray& column(size_t i) const { return *batch.children[i]; }

  ArrowArrayStream stream;
  ArrowSchema schema{};
  ArrowArray batch{};
};

template <typename T>
T value(const ArrowArray& column, size_t row) {
  return static_cast<const T*>(column.buffers[1])[row];
}

std::string text(const ArrowArray& column, size_t row) {
  const auto* offsets = static_cast<const int32_t*>(column.buffers[1]);
  const auto* bytes = static_cast<const char*>(column.buffers[2]);
  return std::string(bytes + offsets[row], bytes + offsets[row + 1]);
}

bool is_valid(const ArrowArray& column, size_t row) {
  const auto* bits = static_cast<const uint8_t*>(column.buffers[0]);
  return bits == nullptr || (bits[row / 8] >> (row % 8) & 1) != 0;
}

std::shared_ptr<Table> make_table(int rows) {
  auto table = std::make_shared<Table>("x");
  Column& name = table->add("name", ColumnType::kString);
  Column& total = table->add("total_ns", ColumnType::kInt, Unit::kNs);
  Column& share = table->add("share", ColumnType::kDouble, Unit::kFraction);
  Column& flag = table->add("flag", ColumnType::kBool);
  for (int i = 0; i < rows; ++i) {
    i % 3 == 2 ? name.push_null() : name.push("row " + std::to_string(i));
    total.push(int64_t{i});
    share.push(i * 0.5);
    flag.push(int64_t{i % 2});
  }
  return table;
}

TEST(ExportTable, GivesSchemaAndValues) {
  ArrowArrayStream stream;
  export_table(make_table(10), &stream);
  Reader reader(stream);
  ASSERT_STREQ(reader.schema.format, "+s");
  ASSERT_EQ(reader.schema.n_children, 4);
  EXPECT_STREQ(reader.schema.children[0]->format, "u");
  EXPECT_STREQ(reader.schema.children[1]->format, "l");
  EXPECT_STREQ(reader.schema.children[1]->name, "total_ns");
  EXPECT_STREQ(reader.schema.children[2]->format, "g");
  EXPECT_STREQ(reader.schema.children[3]->format, "b");
  EXPECT_EQ(reader.schema.children[0]->metadata, nullptr);
  const char unit[] = "\1\0\0\0\4\0\0\0unit\2\0\0\0ns";
  EXPECT_EQ(std::memcmp(reader.schema.children[1]->metadata, unit, sizeof unit - 1), 0);

  ASSERT_TRUE(reader.next());
  EXPECT_EQ(reader.batch.length, 10);
  EXPECT_EQ(reader.column(0).null_count, 3);
  EXPECT_EQ(text(reader.column(0), 1), "row 1");
  EXPECT_FALSE(is_valid(reader.column(0), 2));
  EXPECT_EQ(reader.column(1).buffers[0], nullptr);
  EXPECT_EQ(value<int64_t>(reader.column(1), 9), 9);
  EXPECT_EQ(value<double>(reader.column(2), 9), 4.5);
  EXPECT_EQ(value<uint8_t>(reader.column(3), 0), 0b10101010);
  EXPECT_FALSE(reader.next());
  EXPECT_FALSE(reader.next());
  EXPECT_EQ(reader.stream.get_last_error(&reader.stream), nullptr);
}

TEST(ExportTable, LargeTablesComeInBatches) {
  ArrowArrayStream stream;
  export_table(make_table(150'000), &stream);
  Reader reader(stream);
  int64_t rows = 0, batches = 0;
  while (reader.next()) {
    EXPECT_EQ(value<int64_t>(reader.column(1), 0), rows);
    rows += reader.batch.length;
    ++batches;
  }
  EXPECT_EQ(rows, 150'000);
  EXPECT_EQ(batches, 3);
}

TEST(ExportTable, TableWithoutRowsHasItsSchema) {
  ArrowArrayStream stream;
  export_table(make_table(0), &stream);
  Reader reader(stream);
  EXPECT_EQ(reader.schema.n_children, 4);
  EXPECT_FALSE(reader.next());
}

TEST(ExportTable, BatchOutlivesStreamAndTable) {
  ArrowArrayStream stream;
  export_table(make_table(5), &stream);
  ArrowArray batch;
  ASSERT_EQ(stream.get_next(&stream, &batch), 0);
  stream.release(&stream);
  EXPECT_EQ(text(*batch.children[0], 4), "row 4");
  batch.release(&batch);
}

TEST(ExportTable, ChildMayBeMovedAway) {
  ArrowArrayStream stream;
  export_table(make_table(5), &stream);
  ArrowArray batch;
  ASSERT_EQ(stream.get_next(&stream, &batch), 0);
  ArrowArray moved = *batch.children[1];
  batch.children[1]->release = nullptr;
  batch.release(&batch);
  EXPECT_EQ(value<int64_t>(moved, 3), 3);
  moved.release(&moved);
  stream.release(&stream);
}

TEST(ExportSlices, HasTheSlicesWithDictionaries) {
  TraceBuilder builder;
  const TrackId main = builder.add_thread(ForeignId{1}, ForeignId{7});
  const TrackId other = builder.add_thread(ForeignId{1}, ForeignId{8});
  const LabelId f = builder.label("f\xFF", "c", SliceKind::kCall);
  const LabelId g = builder.label("g", "c", SliceKind::kPython);
  builder.add_slice(main, 1000, 100, f);
  builder.add_slice(main, 1010, 20, g);
  builder.add_slice(other, 1500, 10'000'000'000, g);
  ArrowArrayStream stream;
  export_slices(std::make_shared<const Trace>(std::move(builder).finish()), &stream);
  Reader reader(stream);
  ASSERT_EQ(reader.schema.n_children, 11);
  EXPECT_STREQ(reader.schema.children[3]->name, "name");
  EXPECT_STREQ(reader.schema.children[3]->format, "i");
  ASSERT_NE(reader.schema.children[3]->dictionary, nullptr);
  EXPECT_STREQ(reader.schema.children[3]->dictionary->format, "u");

  ASSERT_TRUE(reader.next());
  EXPECT_EQ(reader.batch.length, 3);
  const auto name = [&](size_t row) {
    return text(*reader.column(3).dictionary,
                static_cast<size_t>(value<int32_t>(reader.column(3), row)));
  };
  EXPECT_EQ(name(0), "f\xEF\xBF\xBD");
  EXPECT_EQ(name(1), "g");
  EXPECT_EQ(value<uint32_t>(reader.column(1), 2), 1u);             // track_id
  EXPECT_EQ(value<int64_t>(reader.column(6), 2), 500);             // start_ns
  EXPECT_EQ(value<int64_t>(reader.column(7), 2), 10'000'000'000);  // dur_ns
  EXPECT_EQ(value<int64_t>(reader.column(8), 0), 80);              // self_ns
  EXPECT_EQ(value<uint32_t>(reader.column(9), 1), 0u);             // parent_id
  EXPECT_FALSE(is_valid(reader.column(9), 0));
  EXPECT_EQ(reader.column(9).null_count, 2);
  EXPECT_EQ(value<uint16_t>(reader.column(10), 1), 1u);  // depth
  EXPECT_FALSE(reader.next());
}

}  // namespace
}  // namespace stepscope
