#include "base/mapped_file.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <utility>

namespace stepscope {
namespace {

class MappedFileTest : public testing::Test {
 protected:
  void SetUp() override { std::ofstream(path_) << "hello"; }
  void TearDown() override { std::filesystem::remove(path_); }

  static std::string text(const MappedFile& file) {
    return {file.bytes().begin(), file.bytes().end()};
  }

  const std::string path_ =
      testing::TempDir() + "mapped_file_test_" + std::to_string(::getpid()) + ".txt";
};

TEST_F(MappedFileTest, HasTheSameBytesMappedAndCopied) {
  const auto mapped = MappedFile::open(path_);
  const auto copied = MappedFile::open(path_, MappedFile::Access::kCopy);
  ASSERT_TRUE(mapped && copied);
  EXPECT_TRUE(mapped->is_mapped());
  EXPECT_FALSE(copied->is_mapped());
  EXPECT_EQ(text(*mapped), "hello");
  EXPECT_EQ(text(*copied), "hello");
}

TEST_F(MappedFileTest, KeepsItsBytesWhenMoved) {
  auto file = MappedFile::open(path_);
  ASSERT_TRUE(file);
  MappedFile moved = std::move(*file);
  EXPECT_EQ(text(moved), "hello");
  EXPECT_TRUE(file->bytes().empty());
}

TEST_F(MappedFileTest, OfAnEmptyFileHasNoBytes) {
  std::ofstream(path_, std::ios::trunc).close();
  const auto file = MappedFile::open(path_);
  ASSERT_TRUE(file);
  EXPECT_TRUE(file->bytes().empty());
}

TEST_F(MappedFileTest, ReadsWhatCannotBeMapped) {
  const auto file = MappedFile::open("/proc/self/status");
  if (!file) GTEST_SKIP() << "no /proc on this system";
  EXPECT_NE(text(*file).find("Pid:"), std::string::npos);
}

TEST_F(MappedFileTest, SaysWhyAFileCannotBeOpened) {
  EXPECT_EQ(MappedFile::open("/nonexistent.sscope").status().message(),
            "/nonexistent.sscope: No such file or directory");
  EXPECT_EQ(MappedFile::open("/").status().message(), "/: is a directory");
}

}  // namespace
}  // namespace stepscope
