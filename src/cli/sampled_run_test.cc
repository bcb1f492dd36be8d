// What a sampler writes, as the trace that a user sees: the file of collect/sample read by trace,
// beside a recording of the same process, through views and exports.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "advise/all_views.h"
#include "analyze/views.h"
#include "collect/sample/sample_file.h"
#include "export/export.h"
#include "ingest/load.h"

namespace stepscope {
namespace {

constexpr int64_t kMs = 1'000'000;

class SampledRun : public testing::Test {
 protected:
  SampledRun() {
    std::string name = (std::filesystem::temp_directory_path() / "sampled_XXXXXX").string();
    folder_ = mkdtemp(name.data());
  }
  ~SampledRun() override { std::filesystem::remove_all(folder_); }

  // 30 ticks of work at two lines, and a thread that waits all the while.
  void sample(const std::string& file_name) {
    auto file = sample::SampleFile::create(folder_ + "/" + file_name, {.period_ns = 10 * kMs});
    ASSERT_TRUE(file.ok()) << file.status().message();
    const uint32_t process = (*file)->add_process(4321, "python train.py");
    const uint32_t main = (*file)->add_thread(process, 4321, "MainThread");
    const uint32_t other = (*file)->add_thread(process, 4322, "waiter");
    const uint32_t work = (*file)->add_frame("work", "/src/train.py", 10);
    const uint32_t wait = (*file)->add_frame("wait", "/src/train.py", 20);
    const uint32_t waiting = (*file)->add_stack(sample::SampleFile::kNoStack, wait, 21);
    for (int64_t tick = 0; tick < 30; ++tick) {
      const uint32_t working =
          (*file)->add_stack(sample::SampleFile::kNoStack, work, 11 + (tick % 2 == 0 ? 1 : 2));
      ASSERT_TRUE((*file)
                      ->add_sample({main, 1'000'000'000 + tick * 10 * kMs, working, 10 * kMs,
                                    10 * kMs, sample::kSampleHeldGil, 1})
                      .ok());
    }
    ASSERT_TRUE(
        (*file)
            ->add_sample({other, 1'000'000'000, waiting, 300 * kMs, 0, sample::kSampleWaited, 30})
            .ok());
    (*file)->set_sampling_info({.period_ns = 10 * kMs, .ticks = 31, .missed_ticks = 1});
    ASSERT_TRUE((*file)->close().ok());
  }
  Trace load(const std::string& path) {
    auto trace = stepscope::load(path);
    EXPECT_TRUE(trace.ok()) << trace.status().message();
    return *std::move(trace);
  }

  std::string folder_;
};

TEST_F(SampledRun, IsAFolderOrAFileLikeAnyOther) {
  sample("samples.sscope");
  for (const std::string& path : {folder_, folder_ + "/samples.sscope"}) {
    const Trace trace = load(path);
    const auto functions = make_view(trace, "functions", {});
    ASSERT_TRUE(functions.ok());
    ASSERT_EQ(functions->rows(), 2u);
    EXPECT_EQ(functions->find("name")->get_string(0), "work");
    EXPECT_EQ(functions->find("samples")->get_int(0), 30);
    EXPECT_EQ(functions->find("self_cpu_ns")->get_int(0), 300 * kMs);
    EXPECT_EQ(functions->find("gil_fraction")->get_double(0), 1.0);
    EXPECT_EQ(trace.stats().get(Stat::kTicksMissed), 1u);
    EXPECT_TRUE(trace.stats().notes().empty());
  }
}

TEST_F(SampledRun, EveryViewTakesIt) {
  sample("4321.samples.sscope");
  const Trace trace = load(folder_);
  for (const View& view : all_views()) {
    const auto table = make_any_view(trace, view.name, {});
    EXPECT_TRUE(table.ok()) << view.name << ": " << table.status().message();
  }
}

TEST_F(SampledRun, KeepsEverythingWhenItIsConverted) {
  sample("4321.samples.sscope");
  const Trace trace = load(folder_);
  const std::string path = folder_ + "/copy.sscope";
  ASSERT_TRUE(find_export_format_of_path(path)->write(trace, path).ok());
  const Trace copy = load(path);
  EXPECT_EQ(copy.samples().cpu_ns, trace.samples().cpu_ns);
  EXPECT_EQ(copy.samples().flags, trace.samples().flags);
  EXPECT_EQ(copy.samples().count, trace.samples().count);
  EXPECT_EQ(copy.stats().get(Stat::kTicksMissed), 1u);
  EXPECT_EQ(copy.find_metadata("sampling"), trace.find_metadata("sampling"));
}

TEST_F(SampledRun, ExportsWeighAsAsked) {
  sample("4321.samples.sscope");
  const Trace trace = load(folder_);
  const auto written = [&](SampleWeight weight) {
    const std::string path = folder_ + "/x.collapsed";
    EXPECT_TRUE(find_export_format_of_path(path)->write(trace, path, {weight}).ok());
    std::stringstream text;
    text << std::ifstream(path).rdbuf();
    return text.str();
  };
  EXPECT_EQ(written(SampleWeight::kCpuWhereKnown),
            "# stepscope: weights in ns\nwork (/src/train.py:10) 300000000\n");
  EXPECT_NE(written(SampleWeight::kWall).find("wait (/src/train.py:20) 300000000"),
            std::string::npos);
}

}  // namespace
}  // namespace stepscope
