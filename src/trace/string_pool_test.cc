#include "trace/string_pool.h"

#include <gtest/gtest.h>

#include <string>
#include <unordered_map>
#include <vector>

namespace stepscope {
namespace {

TEST(StringPool, StartsWithTheEmptyString) {
  StringPool pool;
  EXPECT_EQ(pool.size(), 1u);
  EXPECT_EQ(pool.view(kEmptyString), "");
  EXPECT_EQ(pool.intern(""), kEmptyString);
  EXPECT_EQ(pool.bytes(), 0u);
}

TEST(StringPool, GivesTheSameIdForTheSameBytes) {
  StringPool pool;
  const StringId conv = pool.intern("aten::conv2d");
  EXPECT_EQ(pool.intern(std::string("aten::") + "conv2d"), conv);
  EXPECT_NE(pool.intern("aten::conv3d"), conv);
  EXPECT_EQ(pool.view(conv), "aten::conv2d");
  EXPECT_EQ(pool.size(), 3u);
}

TEST(StringPool, FindsOnlyWhatWasInterned) {
  StringPool pool;
  const StringId relu = pool.intern("relu");
  EXPECT_EQ(pool.find("relu"), relu);
  EXPECT_EQ(pool.find("rel"), std::nullopt);
  EXPECT_EQ(pool.find(""), kEmptyString);
  EXPECT_EQ(pool.size(), 2u);
}

TEST(StringPool, KeepsZeroBytesAndBytesThatAreNoText) {
  StringPool pool;
  const std::string with_zero("a\0b", 3);
  const StringId id = pool.intern(with_zero);
  EXPECT_NE(pool.intern("a"), id);
  EXPECT_EQ(pool.view(id), with_zero);
  EXPECT_EQ(pool.view(pool.intern("\xff\xfe")), "\xff\xfe");
}

TEST(StringPool, KeepsViewsValidWhileItGrows) {
  StringPool pool;
  std::unordered_map<std::string, StringId> ids;
  std::vector<std::string_view> views;
  for (int i = 0; i < 20'000; ++i) {
    const std::string text = std::to_string(i * 7919) + " is a name";
    const StringId id = pool.intern(text);
    EXPECT_EQ(index(id), static_cast<uint32_t>(i + 1));
    ids.emplace(text, id);
    views.push_back(pool.view(id));
  }
  for (const auto& [text, id] : ids) {
    EXPECT_EQ(pool.intern(text), id);
    EXPECT_EQ(views[index(id) - 1], text);
  }
  EXPECT_EQ(pool.size(), 20'001u);
}

TEST(StringPool, KeepsStringsThatAreLargerThanAChunk) {
  StringPool pool;
  const std::string large(3 << 20, 'x');
  const StringId small = pool.intern("small");
  const StringId id = pool.intern(large);
  const StringId after = pool.intern("after");
  EXPECT_EQ(pool.view(id), large);
  EXPECT_EQ(pool.view(small), "small");
  EXPECT_EQ(pool.view(after), "after");
  EXPECT_EQ(pool.bytes(), large.size() + 10);
}

TEST(StringPool, KeepsViewsValidWhenItMoves) {
  StringPool pool;
  const StringId id = pool.intern("short");
  const std::string_view view = pool.view(id);
  const StringPool moved = std::move(pool);
  EXPECT_EQ(moved.view(id).data(), view.data());
}

}  // namespace
}  // namespace stepscope
