#include "ingest/json_tokens.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>

namespace stepscope {
namespace {

// The first characters of the tokens; nullopt where the text is refused.
std::optional<std::string> first_characters(JsonTokens& tokens, const std::string& text) {
  const std::string padded = text + std::string(JsonTokens::kTextPadding, '\0');
  if (!tokens.find(padded.data(), text.size())) return std::nullopt;
  std::string found;
  for (const uint32_t* at = tokens.begin(); at != tokens.end(); ++at) found += padded[*at];
  EXPECT_EQ(*tokens.end(), text.size());
  return found;
}

TEST(JsonTokens, BracketsCommasColonsStringsAndBareWordsBeginTokens) {
  JsonTokens tokens;
  EXPECT_EQ(first_characters(tokens, R"([{"a\"{": 12, "b" :[true]}, x])"), R"([{":1,":[t]},x])");
}

TEST(JsonTokens, ALongerTextMayFollowAShorterOne) {
  JsonTokens tokens;
  EXPECT_EQ(first_characters(tokens, "[]"), "[]");
  const auto found = first_characters(tokens, "[" + std::string(5000, ',') + "]");
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->size(), 5002u);
}

TEST(JsonTokens, TextThatNoParserMayReadIsRefused) {
  JsonTokens tokens;
  EXPECT_FALSE(first_characters(tokens, R"(["never closed])"));
  EXPECT_FALSE(first_characters(tokens, "[\"line\nbreak\"]"));
  EXPECT_FALSE(first_characters(tokens, "[\"\xFF\"]"));
}

}  // namespace
}  // namespace stepscope
