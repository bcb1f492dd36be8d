#include "export/output_file.h"

#include <gtest/gtest.h>
#include <isa-l/igzip_lib.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <vector>

namespace stepscope {
namespace {

class OutputFileTest : public testing::Test {
 protected:
  OutputFileTest() {
    std::string name = (std::filesystem::temp_directory_path() / "output_file_XXXXXX").string();
    folder_ = mkdtemp(name.data());
  }
  ~OutputFileTest() override { std::filesystem::remove_all(folder_); }

  std::string path(const std::string& name) const { return folder_ + "/" + name; }
  static std::string read(const std::string& path) {
    std::ostringstream text;
    text << std::ifstream(path, std::ios::binary).rdbuf();
    return text.str();
  }
  size_t files() const {
    size_t count = 0;
    for (const auto& entry : std::filesystem::directory_iterator(folder_)) {
      count += entry.is_regular_file();
    }
    return count;
  }

  std::string folder_;
};

std::string make_text() {
  std::string text;
  for (int i = 0; text.size() < 3'000'000; ++i) text += "event " + std::to_string(i * 7919) + "\n";
  return text;
}

TEST_F(OutputFileTest, AppearsOnlyWhenItIsFinished) {
  std::ofstream(path("a.json")) << "old";
  auto out = OutputFile::create(path("a.json"));
  ASSERT_TRUE(out.ok()) << out.status().message();
  (*out)->append(make_text());
  EXPECT_EQ(read(path("a.json")), "old");
  ASSERT_TRUE((*out)->finish().ok());
  EXPECT_EQ(read(path("a.json")), make_text());
  EXPECT_EQ(files(), 1u);
}

TEST_F(OutputFileTest, LeavesNothingBehindWhenItIsGivenUp) {
  {
    auto out = OutputFile::create(path("a.json"));
    ASSERT_TRUE(out.ok());
    (*out)->append(make_text());
  }
  EXPECT_EQ(files(), 0u);
}

TEST_F(OutputFileTest, KeepsTheModeOfTheFileThatItReplacesAndTheLinkToIt) {
  std::ofstream(path("real.json")) << "old";
  chmod(path("real.json").c_str(), 0640);
  std::filesystem::create_symlink("real.json", path("link.json"));
  auto out = OutputFile::create(path("link.json"));
  ASSERT_TRUE(out.ok());
  (*out)->append("new");
  ASSERT_TRUE((*out)->finish().ok());
  EXPECT_TRUE(std::filesystem::is_symlink(path("link.json")));
  EXPECT_EQ(read(path("real.json")), "new");
  struct stat info {};
  stat(path("real.json").c_str(), &info);
  EXPECT_EQ(info.st_mode & 0777, 0640u);
}

TEST_F(OutputFileTest, CompressesWhereTheNameSaysSo) {
  const std::string text = make_text();
  for (const char* name : {"a.gz", "a.zst"}) {
    auto out = OutputFile::create(path(name));
    ASSERT_TRUE(out.ok());
    for (size_t at = 0; at < text.size(); at += 70'001) (*out)->append(text.substr(at, 70'001));
    ASSERT_TRUE((*out)->finish().ok());
    EXPECT_EQ((*out)->bytes_appended(), text.size());
  }
  const std::string zstd = read(path("a.zst"));
  std::string back(text.size() + 1, '\0');
  ASSERT_EQ(ZSTD_decompress(back.data(), back.size(), zstd.data(), zstd.size()), text.size());
  back.resize(text.size());
  EXPECT_EQ(back, text);

  std::string gzip = read(path("a.gz"));
  inflate_state state;
  isal_inflate_init(&state);
  state.crc_flag = ISAL_GZIP;
  std::string inflated(text.size() + 1, '\0');
  state.next_in = reinterpret_cast<uint8_t*>(gzip.data());
  state.avail_in = static_cast<uint32_t>(gzip.size());
  state.next_out = reinterpret_cast<uint8_t*>(inflated.data());
  state.avail_out = static_cast<uint32_t>(inflated.size());
  ASSERT_EQ(isal_inflate(&state), ISAL_DECOMP_OK);
  inflated.resize(inflated.size() - state.avail_out);
  EXPECT_EQ(inflated, text);
  EXPECT_LT(gzip.size(), text.size() / 3);
}

TEST_F(OutputFileTest, SaysWhyItCanNotBeWritten) {
  const auto error_of = [](const std::string& path) {
    auto out = OutputFile::create(path);
    return out ? std::string() : out.status().message();
  };
  EXPECT_EQ(error_of(folder_), folder_ + ": is a directory");
  EXPECT_EQ(error_of(path("no/a.json")), path("no/a.json") + ": no such folder");
  EXPECT_EQ(error_of(""), "the name of the output file is empty");
}

TEST_F(OutputFileTest, SaysThatTheDiskIsFull) {
  if (access("/dev/full", W_OK) != 0) GTEST_SKIP() << "no /dev/full here";
  auto out = OutputFile::create("/dev/full");
  ASSERT_TRUE(out.ok());
  (*out)->append(make_text());
  EXPECT_FALSE((*out)->ok());
  EXPECT_EQ((*out)->finish().message(), "/dev/full: write: No space left on device");
}

}  // namespace
}  // namespace stepscope
