#include "ingest/trace_paths.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "ingest/load.h"
#include "trace/recording_for_tests.h"

namespace stepscope {
namespace {

class TracePaths : public testing::Test {
 protected:
  TracePaths() {
    std::string name = (std::filesystem::temp_directory_path() / "trace_paths_XXXXXX").string();
    folder_ = mkdtemp(name.data());
  }
  ~TracePaths() override { std::filesystem::remove_all(folder_); }
  void add(const std::string& name) { std::ofstream(folder_ + "/" + name) << "x"; }

  std::string folder_;
};

TEST_F(TracePaths, TakesAFileAsItIs) {
  for (const char* path : {"-", "no/such/file.json", "a file"}) {
    EXPECT_EQ(*find_trace_files(path), std::vector<std::string>{path});
  }
}

TEST_F(TracePaths, FindsTheTracesOfAFolderByNameInOrder) {
  for (const char* name :
       {"b.pt.trace.json.gz", "a.json", "c.sscope", "d.json.zst", "notes.txt", ".hidden.json"}) {
    add(name);
  }
  std::filesystem::create_directory(folder_ + "/e.json");
  EXPECT_EQ(*find_trace_files(folder_),
            (std::vector<std::string>{folder_ + "/a.json", folder_ + "/b.pt.trace.json.gz",
                                      folder_ + "/c.sscope", folder_ + "/d.json.zst"}));
}

TEST_F(TracePaths, SaysThatAFolderHasNoTraces) {
  add("notes.txt");
  EXPECT_EQ(find_trace_files(folder_).status().message().find(folder_ +
                                                              ": no trace files in this folder"),
            0u);
}

TEST_F(TracePaths, NamesTheTracesWhereOneIsWanted) {
  add("a.json");
  EXPECT_EQ(*find_trace_file(folder_), folder_ + "/a.json");
  add("b.json");
  EXPECT_EQ(find_trace_file(folder_).status().message(),
            folder_ + ": 2 traces in this folder, name one: a.json, b.json");
}

TEST_F(TracePaths, TakesAFolderWithRecordingsAsOneRun) {
  add("a.json");
  RecordingForTests({.file_id = 0}).save(folder_ + "/converted.sscope");
  EXPECT_EQ(find_trace_files(folder_)->size(), 2u);
  for (const uint64_t id : {1, 2}) {
    RecordingForTests file({.file_id = id});
    file.records(0, {format::pack_record(format::RecordKind::kInstant, 0, 5)});
    file.close();
    file.save(folder_ + "/" + std::to_string(id) + ".sscope");
  }
  EXPECT_EQ(*find_trace_files(folder_), std::vector<std::string>{folder_});
  EXPECT_EQ(*find_trace_file(folder_), folder_);
  const auto trace = load(folder_);
  ASSERT_TRUE(trace.ok()) << trace.status().message();
  EXPECT_EQ(trace->slices().size(), 2u);
  EXPECT_EQ(trace->processes().size(), 2u);
  EXPECT_EQ(load(folder_ + "/1.sscope")->slices().size(), 1u);
}

}  // namespace
}  // namespace stepscope
