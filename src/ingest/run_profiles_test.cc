#include "ingest/run_profiles.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include "ingest/load.h"
#include "ingest/xplane_for_tests.h"
#include "trace/recording_for_tests.h"

namespace stepscope {
namespace {

namespace fs = std::filesystem;
using format::pack_record;
using format::RecordKind;

constexpr int64_t kStartNs = 1'700'000'000'000'000'000;  // of the recording, since 1970

class RunProfiles : public testing::Test {
 protected:
  RunProfiles() {
    std::string name = (fs::temp_directory_path() / "run_profiles_XXXXXX").string();
    folder_ = mkdtemp(name.data());
    RecordingForTests recording({.pid = 1234, .realtime_ns = kStartNs});
    recording.records(
        0, {pack_record(RecordKind::kBegin, 0, 1000), pack_record(RecordKind::kEnd, 0, 9000)});
    recording.close();
    recording.save(folder_ + "/1234.sscope");
  }
  ~RunProfiles() override { fs::remove_all(folder_); }

  void write(const std::string& path, std::string_view bytes) {
    fs::create_directories(fs::path(folder_ + "/" + path).parent_path());
    std::ofstream(folder_ + "/" + path, std::ios::binary) << bytes;
  }

  // One event, so long after the profile's start.
  static std::string profile(int64_t start_ns, int64_t offset_ns) {
    PlaneForTests host("/host:CPU");
    host.line(7, "python").event("MatMul", offset_ns * 1000, 2'000'000);
    SpaceForTests space;
    space.add(host);
    if (start_ns != 0) space.started_at(start_ns);
    return space.bytes();
  }

  static int64_t start_of(const Trace& trace, std::string_view name) {
    for (uint32_t row = 0; row < trace.slices().size(); ++row) {
      if (trace.string(trace.labels()[trace.slices().label[row]].name) == name) {
        return trace.slices().start_ns[row];
      }
    }
    return -1;
  }

  std::string folder_;
};

TEST_F(RunProfiles, AreOnTheClockOfTheRun) {
  write("tensorflow-1234/plugins/profile/monday/vm.xplane.pb", profile(kStartNs + 3000, 500));
  const Result<Trace> trace = load(folder_);
  ASSERT_TRUE(trace) << trace.status().message();
  EXPECT_EQ(trace->clock_base_ns(), kStartNs);
  EXPECT_EQ(trace->slices().size(), 2u);
  EXPECT_EQ(start_of(*trace, "MatMul"), 3500);
  ASSERT_EQ(trace->processes().size(), 2u);
  EXPECT_EQ(trace->processes()[1].pid.number, 1234);
  EXPECT_EQ(trace->string(trace->processes()[1].name), "/host:CPU");
}

TEST_F(RunProfiles, AreToldApartByTheirFolders) {
  write("tensorflow-1234/plugins/profile/monday/vm.xplane.pb", profile(kStartNs, 1));
  write("tensorflow-1234-2/plugins/profile/tuesday/vm.xplane.pb", profile(kStartNs, 2));
  const Result<Trace> trace = load(folder_);
  ASSERT_TRUE(trace) << trace.status().message();
  ASSERT_EQ(trace->processes().size(), 3u);
  EXPECT_EQ(trace->string(trace->processes()[1].name), "tensorflow-1234 /host:CPU");
  EXPECT_EQ(trace->string(trace->processes()[2].name), "tensorflow-1234-2 /host:CPU");
}

TEST_F(RunProfiles, OfOthersAreNoPartOfTheRun) {
  write("plugins/profile/monday/vm.xplane.pb", profile(kStartNs, 1));
  write("train/plugins/profile/monday/vm.xplane.pb", profile(kStartNs, 1));
  write("tensorflow-x/plugins/profile/monday/vm.xplane.pb", profile(kStartNs, 1));
  const Result<Trace> trace = load(folder_);
  ASSERT_TRUE(trace) << trace.status().message();
  EXPECT_EQ(trace->slices().size(), 1u);
}

TEST_F(RunProfiles, AreLeftOutWithANoteWhereTheyCanNotBeRead) {
  write("jax-1234/plugins/profile/monday/vm.xplane.pb", "no profile");
  write("jax-1234-2/plugins/profile/monday/vm.xplane.pb", profile(0, 1));
  const Result<Trace> trace = load(folder_);
  ASSERT_TRUE(trace) << trace.status().message();
  EXPECT_EQ(trace->slices().size(), 1u);
  ASSERT_EQ(trace->stats().notes().size(), 2u);
  for (const std::string& note : trace->stats().notes()) {
    EXPECT_NE(note.find("it is left out"), std::string::npos) << note;
  }
}

}  // namespace
}  // namespace stepscope
