#include "base/byte_sink.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <filesystem>
#include <string>

#include "base/mapped_file.h"

namespace stepscope {
namespace {

class FileSinkTest : public testing::Test {
 protected:
  void TearDown() override { std::filesystem::remove(path_); }

  const std::string path_ =
      testing::TempDir() + "byte_sink_test_" + std::to_string(::getpid()) + ".bin";
};

TEST_F(FileSinkTest, AppendsAndCutsBack) {
  auto sink = FileSink::create(path_);
  ASSERT_TRUE(sink) << sink.status().message();
  const std::array<uint8_t, 4> bytes = {1, 2, 3, 4};
  ASSERT_TRUE((*sink)->append(bytes));
  ASSERT_TRUE((*sink)->append(bytes));
  ASSERT_TRUE((*sink)->truncate(5));
  ASSERT_TRUE((*sink)->append(bytes));
  EXPECT_EQ((*sink)->size(), 9U);
  ASSERT_TRUE((*sink)->close());
  const auto file = MappedFile::open(path_);
  ASSERT_TRUE(file);
  const std::vector<uint8_t> expected = {1, 2, 3, 4, 1, 1, 2, 3, 4};
  EXPECT_EQ(std::vector<uint8_t>(file->bytes().begin(), file->bytes().end()), expected);
}

TEST_F(FileSinkTest, AdoptedDescriptorGoesOnAtTheEnd) {
  const std::array<uint8_t, 2> bytes = {7, 8};
  {
    auto first = FileSink::create(path_);
    ASSERT_TRUE((*first)->append(bytes));
  }
  auto second = FileSink::adopt(::open(path_.c_str(), O_WRONLY), path_);
  ASSERT_TRUE(second);
  EXPECT_EQ((*second)->size(), 2U);
  ASSERT_TRUE((*second)->append(bytes));
  EXPECT_EQ(std::filesystem::file_size(path_), 4U);
}

TEST_F(FileSinkTest, SaysWhichFileAndWhyWhenItCannotCreateIt) {
  const auto sink = FileSink::create("/nonexistent/folder/x.sscope");
  ASSERT_FALSE(sink);
  EXPECT_EQ(sink.status().message(),
            "/nonexistent/folder/x.sscope: create: No such file or directory");
}

TEST_F(FileSinkTest, SaysWhenTheDiskIsFull) {
  const int full = ::open("/dev/full", O_WRONLY);
  if (full < 0) GTEST_SKIP() << "no /dev/full on this system";
  auto sink = FileSink::adopt(full, "/dev/full");
  ASSERT_TRUE(sink);
  const std::array<uint8_t, 2> bytes = {7, 8};
  const Status status = (*sink)->append(bytes);
  EXPECT_EQ(status.message(), "/dev/full: write: No space left on device");
}

}  // namespace
}  // namespace stepscope
