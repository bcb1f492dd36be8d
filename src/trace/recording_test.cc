#include "trace/recording.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>

#include "format/pool_for_tests.h"
#include "trace/recording_for_tests.h"
#include "trace/trace_file.h"

namespace stepscope {
namespace {

using format::pack_extended;
using format::pack_record;
using format::PoolForTests;
using enum format::RecordKind;

uint64_t begin_record(uint32_t label, uint32_t ticks = 10) {
  return pack_record(kBegin, label, ticks);
}
uint64_t end_record(uint32_t label, uint32_t ticks = 10) {
  return pack_record(kEnd, label + 1, ticks);
}

uint64_t my_start_time() {
  std::ifstream file("/proc/self/stat");
  const std::string stat((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  std::string rest = stat.substr(stat.rfind(')') + 2);
  for (int field = 3; field < 22; ++field) rest = rest.substr(rest.find(' ') + 1);
  return std::stoull(rest);
}

std::string boot_id() {
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string id;
  file >> id;
  return id;
}

class RunFolder : public testing::Test {
 protected:
  RunFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "run_XXXXXX").string();
    folder_ = mkdtemp(name.data());
  }
  ~RunFolder() override { std::filesystem::remove_all(folder_); }

  std::string path(const std::string& name) const { return folder_ + "/" + name; }
  void load(const std::string& path) {
    auto trace = std::filesystem::is_directory(path) ? load_run(path) : load_trace(path);
    ASSERT_TRUE(trace.ok()) << trace.status().message();
    trace_.emplace(std::move(*trace));
  }
  // "a 10+20, b 15+1": all slices, track by track.
  std::string slices() const {
    std::string text;
    for (uint32_t row = 0; row < trace_->slices().size(); ++row) {
      if (!text.empty()) text += ", ";
      text += std::string(trace_->slice_name(SliceId{row})) + " " +
              std::to_string(trace_->slices().start_ns[row]) + "+" +
              std::to_string(trace_->slices().dur_ns[row]);
    }
    return text;
  }
  uint64_t stat(Stat stat) const { return trace_->stats().get(stat); }
  std::string notes() const {
    std::string text;
    for (const std::string& note : trace_->stats().notes()) text += note + "\n";
    return text;
  }

  std::string folder_;
  std::optional<Trace> trace_;
};

TEST_F(RunFolder, ReadsAClosedRecordingWithoutFaults) {
  RecordingForTests file({});
  file.records(0, {begin_record(0), end_record(0)});
  file.close();
  file.save(path("1234.sscope"));
  load(path("1234.sscope"));
  EXPECT_EQ(slices(), "a 10+10");
  EXPECT_FALSE(trace_->stats().has_faults());
  EXPECT_EQ(notes(), "");
}

TEST_F(RunFolder, TellsHowManyRanksItHas) {
  const auto save = [&](uint64_t file_id, const std::string& rank) {
    RecordingForTests file({.file_id = file_id, .rank = rank});
    file.close();
    file.save(path(std::to_string(file_id) + ".sscope"));
  };
  save(1, "");  // a launcher
  EXPECT_EQ(count_ranks(folder_), 0u);
  save(2, "0");
  save(3, "0");  // a worker of its DataLoader
  EXPECT_EQ(count_ranks(folder_), 1u);
  save(4, "1");
  EXPECT_EQ(count_ranks(folder_), 2u);
  EXPECT_EQ(count_ranks(path("4.sscope")), 0u);
}

TEST_F(RunFolder, TakesFromThePoolWhatTheFileDoesNotHave) {
  RecordingForTests file({});
  file.records(0, {begin_record(0), begin_record(1)});
  file.save(path("1234.sscope"));
  PoolForTests pool(1);
  pool.journal(0, 2).string(4, "d").label(3, 4);
  // One chunk was sealed already, the next one not.
  pool.chunk({.first_word = 2, .first_tick = 20},
             {end_record(1), begin_record(3), end_record(3), end_record(0)});
  pool.chunk({.dropped = 9}, {begin_record(0), begin_record(1)});
  pool.set_dropped(3);
  RecordingForTests::save(path("1234.pool"), pool.bytes());
  for (const std::string& what : {path("1234.sscope"), folder_}) {
    load(what);
    EXPECT_EQ(slices(), "a 10+50, b 20+10, d 40+10");
    EXPECT_EQ(stat(Stat::kRecordsRecovered), 4u);
    EXPECT_EQ(stat(Stat::kEventsRead), 6u);
    EXPECT_EQ(stat(Stat::kRecordsLost), 0u);
    EXPECT_EQ(stat(Stat::kRecordsDropped), 3u);
    EXPECT_EQ(notes(),
              "4 records recovered from the pool: the program ended without closing its "
              "recording\n");
  }
}

TEST_F(RunFolder, PassesOverTheFirstWordsOfAChunkThatWereSealed) {
  RecordingForTests file({});
  file.records(0, {begin_record(0), begin_record(1)});
  file.save(path("1234.sscope"));
  PoolForTests pool(1);
  pool.chunk({}, {begin_record(0), begin_record(1), end_record(1), end_record(0)});
  RecordingForTests::save(path("1234.pool"), pool.bytes());
  load(folder_);
  EXPECT_EQ(slices(), "a 10+30, b 20+10");
  EXPECT_EQ(stat(Stat::kRecordsRecovered), 2u);
}

TEST_F(RunFolder, FindsThePoolThatTheMetadataNames) {
  RecordingForTests file({.pool_path = path("elsewhere")});
  file.save(path("1234.sscope"));
  PoolForTests pool(1), other(2);
  pool.chunk({}, {begin_record(0), end_record(0)});
  other.chunk({}, {begin_record(1), end_record(1)});
  RecordingForTests::save(path("1234.pool"), other.bytes());  // of another recording
  RecordingForTests::save(path("elsewhere"), pool.bytes());
  load(path("1234.sscope"));
  EXPECT_EQ(slices(), "a 10+10");
}

TEST_F(RunFolder, SaysThatThePoolIsMissing) {
  RecordingForTests file({});
  file.records(0, {begin_record(0), end_record(0)});
  file.save(path("1234.sscope"));
  load(path("1234.sscope"));
  EXPECT_EQ(notes(),
            "the recording was not closed and its pool is missing: the last records of each "
            "thread are lost\n");
}

TEST_F(RunFolder, CountsAGapAsLost) {
  RecordingForTests file({});
  file.records(0, {begin_record(0)});
  file.save(path("1234.sscope"));
  PoolForTests pool(1);
  pool.chunk({.first_word = 6, .first_tick = 100}, {begin_record(1), end_record(1)});
  RecordingForTests::save(path("1234.pool"), pool.bytes());
  load(folder_);
  EXPECT_EQ(stat(Stat::kRecordsLost), 5u);
  EXPECT_EQ(slices(), "a 10+110, b 110+10");
}

TEST_F(RunFolder, LeavesOutWhatFollowsAGapWhileTheProgramRuns) {
  RecordingForTests file({.boot_id = boot_id()});
  file.records(0, {begin_record(0)});
  file.save(path("1234.sscope"));
  PoolForTests pool(1, getpid(), my_start_time());
  pool.chunk({.first_word = 1, .first_tick = 10}, {end_record(0)});
  pool.chunk({.first_word = 6, .first_tick = 100}, {begin_record(1), end_record(1)});
  pool.chunk({.first_word = 8, .first_tick = 200}, {begin_record(1), end_record(1)});
  RecordingForTests::save(path("1234.pool"), pool.bytes());
  load(folder_);
  EXPECT_EQ(slices(), "a 10+10");
  EXPECT_FALSE(trace_->stats().has_faults());
  EXPECT_EQ(notes(), "still being recorded: as of now\n");
}

TEST_F(RunFolder, SaysNothingOfATornEndThatThePoolHas) {
  RecordingForTests file({});
  file.records(0, {begin_record(0)});
  std::vector<uint8_t> bytes = file.bytes();
  bytes.resize(bytes.size() - 9);
  RecordingForTests::save(path("1234.sscope"), bytes);
  PoolForTests pool(1);
  pool.chunk({}, {begin_record(0), end_record(0)});
  RecordingForTests::save(path("1234.pool"), pool.bytes());
  load(folder_);
  EXPECT_EQ(slices(), "a 10+10");
  EXPECT_EQ(stat(Stat::kBytesTruncated), 0u);
  std::filesystem::remove(path("1234.pool"));
  load(folder_);
  EXPECT_GT(stat(Stat::kBytesTruncated), 0u);
}

TEST_F(RunFolder, JoinsTheFilesOfARecordingInOrder) {
  RecordingForTests first({.segment = 9}), second({.segment = 10});
  first.records(100, {end_record(2), begin_record(0)}, 1000);
  second.records(102, {begin_record(1), end_record(1), end_record(0)}, 1020);
  second.close();
  first.save(path("1234.9.sscope"));
  second.save(path("1234.10.sscope"));
  load(folder_);
  // c was open where the ring begins.
  EXPECT_EQ(slices(), "c 1000+10, a 1020+30, b 1030+10");
  EXPECT_EQ(stat(Stat::kRecordsExpired), 100u);
  EXPECT_EQ(stat(Stat::kBeginsExpired), 1u);
  EXPECT_FALSE(trace_->stats().has_faults());
  EXPECT_EQ(trace_->processes().size(), 1u);

  load(path("1234.9.sscope"));
  EXPECT_EQ(slices(), "c 1000+10, a 1020+0");
  EXPECT_NE(notes().find("one of several files of a recording"), std::string::npos);
}

TEST_F(RunFolder, CountsAMissingFileInTheMiddleAsLost) {
  RecordingForTests first({}), third({.segment = 2});
  first.records(0, {begin_record(0), end_record(0)});
  third.records(7, {begin_record(1), end_record(1)}, 100);
  third.close();
  first.save(path("1234.sscope"));
  third.save(path("1234.2.sscope"));
  load(folder_);
  EXPECT_EQ(slices(), "a 10+10, b 110+10");
  EXPECT_EQ(stat(Stat::kRecordsLost), 5u);
  EXPECT_EQ(stat(Stat::kRecordsExpired), 0u);
}

TEST_F(RunFolder, MergesProcessesOnOneClock) {
  const auto save = [&](const std::string& name, const RecordingForTests::Options& options) {
    RecordingForTests file(options);
    file.records(0, {begin_record(0), end_record(0)});
    file.close();
    file.save(path(name));
  };
  save("1.sscope", {.file_id = 1, .pid = 1, .monotonic_ns = 1000, .realtime_ns = 51'000});
  // The same boot: the monotonic clock holds, whatever happened to the time of day.
  save("2.sscope", {.file_id = 2, .pid = 1, .monotonic_ns = 2000, .realtime_ns = 99'000});
  save("3.sscope",
       {.file_id = 3, .pid = 3, .boot_id = "other", .monotonic_ns = 9, .realtime_ns = 53'000});
  load(folder_);
  EXPECT_EQ(slices(), "a 1010+10, a 2010+10, a 3010+10");
  EXPECT_EQ(trace_->clock_base_ns(), 50'000);
  ASSERT_EQ(trace_->processes().size(), 3u);  // a pid may be used again
  EXPECT_EQ(trace_->processes()[2].pid.number, 3);
  EXPECT_FALSE(trace_->stats().has_faults());
}

TEST_F(RunFolder, SaysHowManyRecordingsWereNotClosed) {
  for (uint64_t id = 1; id <= 3; ++id) {
    RecordingForTests file({.file_id = id});
    file.save(path(std::to_string(id) + ".sscope"));
  }
  PoolForTests pool(2);
  pool.chunk({}, {begin_record(0), end_record(0)});
  RecordingForTests::save(path("2.pool"), pool.bytes());
  load(folder_);
  EXPECT_EQ(notes(),
            "2 records recovered from pools: programs ended without closing 1 of 3 recordings\n"
            "2 of 3 recordings were not closed and their pools are missing: the last records of "
            "each thread are lost\n");
}

TEST_F(RunFolder, IsOneOnlyWithRecordings) {
  EXPECT_FALSE(is_run_folder(folder_));
  RecordingForTests converted({.file_id = 0});
  converted.save(path("a.sscope"));
  std::ofstream(path("b.sscope")) << "x";
  EXPECT_FALSE(is_run_folder(folder_));
  EXPECT_FALSE(load_run(folder_).ok());
  EXPECT_FALSE(is_run_folder(path("none")));
  RecordingForTests({}).save(path("c.sscope"));
  EXPECT_TRUE(is_run_folder(folder_));
}

TEST_F(RunFolder, LoadsWhateverBitsOfThePoolAreWrong) {
  RecordingForTests file({});
  file.records(0, {begin_record(0)});
  file.save(path("1234.sscope"));
  PoolForTests pool(1);
  pool.journal(0, 2).string(4, "d").label(3, 4).track(1, 4, 7);
  const size_t chunk =
      pool.chunk({}, {begin_record(0), begin_record(3), end_record(3), end_record(0)});
  const std::vector<uint8_t> good = pool.bytes();
  for (size_t at = 0; at < 240; ++at) {
    std::vector<uint8_t> bytes = good;
    bytes[at < 100 ? chunk + at : format::kPoolHeaderBytes + at - 100] ^= 0xFF;
    RecordingForTests::save(path("1234.pool"), bytes);
    load(folder_);
  }
}

TEST_F(RunFolder, HasTheAllocationsAndArrowsOfRecords) {
  using format::ExtendedRecord;
  const auto extended = [](ExtendedRecord type, uint32_t words) {
    return pack_record(kExtended, pack_extended(static_cast<uint32_t>(type), words), 1);
  };
  const uint64_t device = uint64_t{1} << 32 | 2;
  RecordingForTests file({});
  file.records(0, {begin_record(0),
                   extended(ExtendedRecord::kFlowBegin, 1),
                   77,
                   extended(ExtendedRecord::kAllocate, 3),
                   0xF00,
                   512,
                   device,
                   extended(ExtendedRecord::kFree, 3),
                   0xF00,
                   512,
                   device,
                   end_record(0),
                   begin_record(1),
                   extended(ExtendedRecord::kFlowEnd, 1),
                   77,
                   end_record(1),
                   begin_record(2),
                   extended(ExtendedRecord::kFlowEnd, 1),
                   77,
                   end_record(2),
                   extended(ExtendedRecord::kFlowEnd, 1),
                   78,
                   extended(ExtendedRecord::kAllocate, 2),
                   1,
                   2});
  file.close();
  file.save(path("1234.sscope"));
  load(folder_);
  ASSERT_EQ(trace_->flows().from.size(), 2u);
  EXPECT_EQ(trace_->flows().from[0], SliceId{0});
  EXPECT_EQ(trace_->flows().to[0], SliceId{1});
  EXPECT_EQ(trace_->flows().to[1], SliceId{2});
  EXPECT_EQ(trace_->flows().id[0], 77u);
  EXPECT_EQ(stat(Stat::kFlowsUnbound), 1u);
  ASSERT_EQ(trace_->allocations().bytes.size(), 2u);
  EXPECT_EQ(trace_->allocations().bytes[0], 512);
  EXPECT_EQ(trace_->allocations().bytes[1], -512);
  EXPECT_EQ(trace_->allocations().address[0], 0xF00u);
  EXPECT_EQ(trace_->allocations().device_type[0], 1);
  EXPECT_EQ(trace_->allocations().device_id[0], 2);
  EXPECT_EQ(trace_->allocations().slice[0], SliceId{0});
  EXPECT_EQ(stat(Stat::kEventsSkipped), 1u);  // an allocation of two words
}

// STEPSCOPE_CORPUS_OUT=fuzz/corpus/sscope build/release/trace_test --gtest_filter=RunFolder.*Seeds*
TEST_F(RunFolder, WritesTheSeedsOfTheFuzzerWhenAsked) {
  const char* folder = std::getenv("STEPSCOPE_CORPUS_OUT");
  if (folder == nullptr) GTEST_SKIP() << "STEPSCOPE_CORPUS_OUT is not set";
  RecordingForTests file({.segment = 1});
  file.records(
      5, {begin_record(0), pack_record(kExtended, pack_extended(3, 1), 1), 77, end_record(0)});
  file.records(
      7,
      {77, end_record(0), begin_record(1), pack_record(kExtended, pack_extended(4, 1), 1), 77,
       pack_record(kExtended, pack_extended(1, 3), 1), 16, 512, 0, end_record(1), end_record(2)});
  file.records(30, {begin_record(0), end_record(1)}, 90, 4);
  file.close();
  file.save(std::string(folder) + "/recording_words.sscope");
}

TEST_F(RunFolder, SamplesOfAProcessLieOnTheThreadsOfItsOwnRecording) {
  RecordingForTests file({.tid = 77, .thread_name = 1});
  file.records(0, {begin_record(0), end_record(0)});
  file.close();
  file.save(path("1234.sscope"));
  // Its name comes first in the folder, and its name for the thread is another one.
  RecordingForTests sampler({.file_id = 2, .sampler = "99 5", .tid = 77, .thread_name = 2});
  sampler.samples({12, 15}, 10, 1);
  sampler.close();
  sampler.save(path("1234.samples.sscope"));
  load(folder_);
  ASSERT_EQ(trace_->processes().size(), 1u);
  ASSERT_EQ(trace_->tracks().size(), 1u);
  EXPECT_EQ(trace_->string(trace_->tracks()[0].name), "a");
  EXPECT_EQ(slices(), "a 10+10");
  EXPECT_EQ(trace_->samples().time_ns, (std::vector<int64_t>{12, 15}));
  EXPECT_EQ(trace_->samples().track[1], TrackId{0});
  EXPECT_EQ(stat(Stat::kSamplerTicks), 10u);
  EXPECT_EQ(stat(Stat::kTicksMissed), 1u);
  EXPECT_FALSE(trace_->stats().has_faults());
  EXPECT_EQ(notes(), "");
}

TEST_F(RunFolder, AThreadThatOnlyTheSamplerSawIsOneMoreOfTheProcess) {
  RecordingForTests file({.tid = 77});
  file.records(0, {begin_record(0), end_record(0)});
  file.close();
  file.save(path("1234.sscope"));
  RecordingForTests sampler({.file_id = 2, .sampler = "99 5", .tid = 78, .thread_name = 2});
  sampler.samples({12}, 1, 0);
  sampler.close();
  sampler.save(path("samples.sscope"));
  load(folder_);
  ASSERT_EQ(trace_->processes().size(), 1u);
  ASSERT_EQ(trace_->tracks().size(), 2u);
  EXPECT_EQ(trace_->tracks()[1].process, 0u);
  EXPECT_EQ(trace_->string(trace_->tracks()[1].name), "b");
}

TEST_F(RunFolder, AThreadWithoutANameGetsTheSamplers) {
  RecordingForTests file({.tid = 77});
  file.close();
  file.save(path("1234.sscope"));
  RecordingForTests sampler({.file_id = 2, .sampler = "99 5", .tid = 77, .thread_name = 2});
  sampler.samples({12}, 1, 0);
  sampler.close();
  sampler.save(path("1234.samples.sscope"));
  load(folder_);
  ASSERT_EQ(trace_->tracks().size(), 1u);
  EXPECT_EQ(trace_->string(trace_->tracks()[0].name), "b");
}

TEST_F(RunFolder, AThreadHasTheNameThatTheProgramGaveItIfOnlyTheSamplerKnowsThat) {
  RecordingForTests file({.tid = 77, .thread_name = 1});
  file.close();
  file.save(path("1234.sscope"));
  RecordingForTests sampler(
      {.file_id = 2, .sampler = "99 5", .tid = 77, .thread_name = 2, .has_own_name = true});
  sampler.samples({12}, 1, 0);
  sampler.close();
  sampler.save(path("1234.samples.sscope"));
  load(folder_);
  ASSERT_EQ(trace_->tracks().size(), 1u);
  EXPECT_EQ(trace_->string(trace_->tracks()[0].name), "b");
}

TEST_F(RunFolder, APidOfAnotherBootIsAnotherProcess) {
  RecordingForTests file({.tid = 77});
  file.close();
  file.save(path("1234.sscope"));
  RecordingForTests sampler({.file_id = 2, .boot_id = "other", .sampler = "99 5", .tid = 77});
  sampler.samples({12}, 1, 0);
  sampler.close();
  sampler.save(path("1234.samples.sscope"));
  load(folder_);
  EXPECT_EQ(trace_->processes().size(), 2u);
  EXPECT_EQ(trace_->tracks().size(), 2u);
}

// A run whose calls are recorded, and a file of looks at the lines in them.
class LinesOfARun : public RunFolder {
 protected:
  void save(int64_t sampled_tid, bool is_closed = true) {
    RecordingForTests file({.tid = 77, .thread_name = 1});
    file.records(0, {begin_record(0), end_record(0)});
    file.close();
    file.save(path("1234.sscope"));
    RecordingForTests lines({.file_id = 2,
                             .sampler = "99 5",
                             .is_beside_calls = true,
                             .tid = sampled_tid,
                             .thread_name = 2,
                             .has_own_name = true});
    lines.samples({12, 500}, 0, 0, kSampleBesideCalls);
    // No such file has any: they would need a thread.
    lines.records(0, {begin_record(0), end_record(0)});
    if (is_closed) lines.close();
    lines.save(path("lines.sscope"));
  }
};

TEST_F(LinesOfARun, LieOnItsThreadsAndAreNoSamples) {
  save(77);
  load(folder_);
  EXPECT_EQ(trace_->samples().size(), 0u);
  EXPECT_EQ(trace_->line_samples().time_ns, (std::vector<int64_t>{12, 500}));
  EXPECT_EQ(trace_->line_samples().track[1], TrackId{0});
  EXPECT_EQ(slices(), "a 10+10");
  EXPECT_EQ(trace_->end_ns(), 20);
  EXPECT_EQ(trace_->string(trace_->tracks()[0].name), "a");
  EXPECT_EQ(notes(), "");
}

TEST_F(LinesOfARun, AreLeftOutOfThreadsThatNobodyRecords) {
  save(78);
  load(folder_);
  EXPECT_EQ(trace_->tracks().size(), 1u);
  EXPECT_EQ(trace_->processes().size(), 1u);
  EXPECT_EQ(trace_->line_samples().size(), 0u);
  EXPECT_EQ(slices(), "a 10+10");
  EXPECT_FALSE(trace_->stats().has_faults());
}

TEST_F(LinesOfARun, AreNoRecordingThatCouldBeMissingItsEnd) {
  save(77, false);
  load(folder_);
  EXPECT_EQ(trace_->line_samples().size(), 2u);
  EXPECT_EQ(notes(), "");
}

TEST_F(LinesOfARun, StayWhatTheyAreInAConvertedFile) {
  save(77);
  load(folder_);
  const std::string copy = path("copy.sscope");
  ASSERT_TRUE(save_trace(*trace_, copy).ok());
  load(copy);
  EXPECT_EQ(trace_->samples().size(), 0u);
  EXPECT_EQ(trace_->line_samples().size(), 2u);
}

TEST_F(RunFolder, SaysThatASamplerWasKilledOrStillRuns) {
  RecordingForTests killed({.boot_id = boot_id(), .sampler = std::to_string(getpid()) + " 1"});
  killed.samples({12}, 1, 0);
  killed.save(path("1234.samples.sscope"));
  load(path("1234.samples.sscope"));
  EXPECT_EQ(trace_->samples().size(), 1u);
  EXPECT_EQ(notes(),
            "the sampler ended without closing its file: what it saw in its last second is lost\n");
  RecordingForTests running(
      {.boot_id = boot_id(),
       .sampler = std::to_string(getpid()) + " " + std::to_string(my_start_time())});
  running.samples({12}, 1, 0);
  running.save(path("1234.samples.sscope"));
  load(folder_);
  EXPECT_EQ(notes(), "still being recorded: as of now\n");
}

}  // namespace
}  // namespace stepscope
