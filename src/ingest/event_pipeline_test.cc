#include "ingest/event_pipeline.h"

#include <gtest/gtest.h>

#include <string>

#include "ingest/trace_for_tests.h"

namespace stepscope {
namespace {

// A file whose events hold lists and texts that look like events, so that many cuts fall inside
// one.
struct TrickyFile {
  std::string text = "{\"traceEvents\":[";
  uint64_t slices = 0;
  uint64_t counters = 0;

  void add(const std::string& event) { text += (text.back() == '[' ? "" : ",\n") + event; }

  void add_all(size_t bytes) {
    for (int i = 0; text.size() < bytes; ++i) {
      const std::string ts = std::to_string(i * 10);
      const std::string tid = std::to_string(i % 7);
      add(R"({"ph":"X","name":"op)" + std::to_string(i % 13) + R"(","pid":1,"tid":)" + tid +
          R"(,"ts":)" + ts + R"(,"dur":5,"args":{"i":)" + ts + "}}");
      ++slices;
      // A nested list of what would be events, also after the last real key.
      add(R"({"args":{"list":[{"name":"no","ph":"X","pid":66,"tid":66,"ts":1},{"name":"no","ph":"X",)"
          R"("pid":77,"tid":1,"ts":2},{"ph":"M","name":"process_name","pid":88,"args":{"name":"no"}}]},)"
          R"("ph":"X","name":"list","pid":1,"tid":)" +
          tid + R"(,"ts":)" + ts + R"(.25,"dur":1})");
      ++slices;
      // The same as text.
      add(R"({"ph":"X","name":"text","pid":1,"tid":)" + tid + R"(,"ts":)" + ts +
          R"(.5,"args":{"s":"},{\"name\":\"no\",\"ph\":\"X\",\"ts\":1},{","t":"}, {"}})");
      ++slices;
      if (i % 5 == 0) {
        add(R"({"ph":"C","name":"c","pid":1,"ts":)" + ts + R"(,"args":{"a":1,"b":2}})");
        counters += 2;
      }
      if (i % 3 == 0) {
        add(R"({"ph":"B","name":"be","pid":1,"tid":9,"ts":)" + ts + "}");
        add(R"({"ph":"E","pid":1,"tid":9,"ts":)" + ts + R"(.75,"args":{"out":[1,2]}})");
        ++slices;
      }
      if (i % 1000 == 999) {  // an event larger than small chunks, full of event-like lists
        std::string list;
        for (int k = 0; k < 300; ++k) list += R"({"name":"no","ph":"X","pid":5,"tid":5,"ts":1},)";
        add(R"({"ph":"X","name":"large","pid":1,"tid":1,"ts":)" + ts + R"(,"args":{"l":[)" + list +
            "{}]}}");
        ++slices;
      }
    }
    text += R"(],"after":[{"name":"x"},{"name":"y"},{"ph":"z"}],"end":1})";
  }
};

void expect_as_built(const TrickyFile& file, const Trace& trace) {
  EXPECT_EQ(trace.slices().size(), file.slices);
  EXPECT_EQ(trace.counters().value.size(), file.counters);
  EXPECT_EQ(trace.processes().size(), 1u);
  EXPECT_EQ(trace.find_metadata("end"), "1");
  EXPECT_FALSE(trace.stats().has_faults());
  for (const std::string& note : trace.stats().notes()) ADD_FAILURE() << note;
}

TEST(EventPipeline, WrongCutsInALargeFileChangeNothing) {
  TrickyFile file;
  file.add_all(size_t{5} << 20);
  const Trace alone = load_json(file.text, {.threads = 1});
  expect_as_built(file, alone);
  const std::string expected = as_text(alone);
  EXPECT_EQ(as_text(load_json(file.text, {.threads = 4})), expected);
  // All in one piece: no cut at all.
  EXPECT_EQ(as_text(load_json(file.text, {.threads = 1, .chunk_bytes = size_t{1} << 30})),
            expected);
}

TEST(EventPipeline, ChunksOfAnySizeGiveTheSameTrace) {
  TrickyFile file;
  file.add_all(size_t{24} << 10);
  const Trace alone = load_json(file.text, {.threads = 1});
  expect_as_built(file, alone);
  const std::string expected = as_text(alone);
  for (const size_t chunk_bytes : {1, 2, 17, 64, 100, 333, 1000, 4096, 20'000}) {
    for (const int threads : {1, 3}) {
      EXPECT_EQ(as_text(load_json(file.text, {.threads = threads, .chunk_bytes = chunk_bytes})),
                expected)
          << chunk_bytes << " " << threads;
    }
  }
}

TEST(EventPipeline, PiecesComeInTheOrderOfTheFile) {
  std::string text;
  for (int i = 0; i < 2000; ++i) {
    text += (i == 0 ? "" : ",") + (R"({"ph":"X","name":"a","ts":)" + std::to_string(i)) + "}";
  }
  auto source = ByteSource::from_memory(text, "test");
  ASSERT_TRUE(source);
  ChunkSource chunks(**source, "", 0, 256);
  EventPipeline pipeline(chunks, 4);
  uint64_t offset = 0;
  int64_t next_us = 0;
  while (EventPipeline::Piece* piece = pipeline.next()) {
    EXPECT_EQ(piece->chunk.offset, offset);
    offset += piece->chunk.length + piece->chunk.gap.size();
    EXPECT_EQ(piece->is_whole, !piece->chunk.is_tail);
    for (const RawEvent& event : piece->batch.events) EXPECT_EQ(event.time_ns, 1000 * next_us++);
    pipeline.give_back(piece);
  }
  EXPECT_EQ(offset, text.size());
  EXPECT_GT(next_us, 1980);
}

TEST(EventPipeline, MayBeLeftBeforeItsEnd) {
  std::string text;
  for (int i = 0; i < 2000; ++i) text += R"({"ph":"X","name":"a","ts":1},)";
  auto source = ByteSource::from_memory(text, "test");
  ASSERT_TRUE(source);
  ChunkSource chunks(**source, "", 0, 64);
  EventPipeline pipeline(chunks, 4);
  ASSERT_NE(pipeline.next(), nullptr);
}

TEST(ChunkSource, GivesBackTheWholeText) {
  TrickyFile file;
  file.add_all(size_t{16} << 10);
  for (const size_t chunk_bytes : {1, 50, 5000, 1 << 20}) {
    for (const size_t head_bytes : {size_t{0}, size_t{1000}, file.text.size()}) {
      auto source = ByteSource::from_memory(std::string_view(file.text).substr(head_bytes) == ""
                                                ? " "
                                                : std::string_view(file.text).substr(head_bytes),
                                            "test");
      ASSERT_TRUE(source);
      ChunkSource chunks(**source, file.text.substr(0, head_bytes), 7, chunk_bytes);
      std::string text;
      Chunk chunk;
      while (chunks.next(chunk)) {
        EXPECT_EQ(chunk.offset, 7 + text.size());
        text += chunk.view();
        text += chunk.gap;
        EXPECT_TRUE(chunk.is_tail || chunk.view().ends_with('}'));
      }
      EXPECT_TRUE(chunks.status().ok());
      EXPECT_TRUE(chunk.is_tail);
      EXPECT_EQ(text, file.text + (head_bytes == file.text.size() ? " " : ""));
    }
  }
}

}  // namespace
}  // namespace stepscope
