#include "ingest/read_whole.h"

#include <gtest/gtest.h>

#include <memory>

namespace stepscope {
namespace {

Result<std::string> read(const std::string& bytes, size_t max_bytes) {
  auto source = ByteSource::from_memory(bytes, "x.prof");
  EXPECT_TRUE(source);
  return read_whole(**source, max_bytes, "a profile", {});
}

TEST(ReadWhole, GivesEveryByteOfAFileOfSeveralReads) {
  std::string bytes((size_t{5} << 20) + 17, 'a');
  bytes.back() = 'z';
  EXPECT_EQ(*read(bytes, size_t{6} << 20), bytes);
}

TEST(ReadWhole, RefusesAFileBeyondTheLimitAndSaysWhich) {
  const std::string bytes((size_t{3} << 20) + 1, 'a');
  EXPECT_TRUE(read(bytes.substr(1), size_t{3} << 20));
  const Result<std::string> refused = read(bytes, size_t{3} << 20);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.status().message(), "x.prof: a profile of more than 3 MiB");
}

}  // namespace
}  // namespace stepscope
