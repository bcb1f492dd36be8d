#include "trace/operator_inputs.h"

#include <gtest/gtest.h>

#include <bit>
#include <limits>
#include <random>
#include <string>
#include <vector>

namespace stepscope {
namespace {

constexpr uint32_t kFloat = 6, kLong = 4;

// Inputs in the encoding of docs/format.md, written as it is told there.
class Words {
 public:
  Words& half(uint32_t value) {
    if (halves_++ % 2 == 0) {
      words_.push_back(value);
    } else {
      words_.back() |= uint64_t{value} << 32;
    }
    return *this;
  }
  Words& wide(uint64_t value) {
    return half(static_cast<uint32_t>(value)).half(static_cast<uint32_t>(value >> 32));
  }
  Words& number(double value) { return wide(std::bit_cast<uint64_t>(value)); }
  Words& head(uint32_t kind, uint32_t count = 0, uint32_t type = 0, uint32_t flags = 0) {
    return half(kind | flags << 4 | type << 8 | count << 16);
  }
  Words& tensor(uint32_t type, const std::vector<uint32_t>& sizes,
                const std::vector<uint32_t>& strides) {
    head(1, static_cast<uint32_t>(sizes.size()), type, 1);
    for (const uint32_t value : sizes) half(value);
    for (const uint32_t value : strides) half(value);
    return *this;
  }
  const std::vector<uint64_t>& words() const { return words_; }

 private:
  std::vector<uint64_t> words_;
  size_t halves_ = 0;
};

struct Texts {
  std::string dims, types, strides, concrete;
};

class OperatorInputsTest : public testing::Test {
 protected:
  Texts decode(std::span<const uint64_t> words) {
    const InputTexts texts = inputs_.decode(words);
    const auto view = [&](StringId id) { return std::string(builder_.strings().view(id)); };
    return {view(texts.dims), view(texts.types), view(texts.strides), view(texts.concrete)};
  }
  Texts decode(const Words& words) { return decode(words.words()); }

  TraceBuilder builder_;
  OperatorInputs inputs_{builder_};
};

// Everything that a collector writes.
Words all_kinds() {
  Words words;
  words.half(11).tensor(kFloat, {4, 3}, {3, 1}).head(2);
  words.head(3, 2).tensor(kFloat, {2}, {1}).tensor(kLong, {}, {});
  words.head(4).wide(static_cast<uint64_t>(-7)).head(5).number(0.5).head(6, 1);
  words.head(7, 2).wide(1).wide(2).head(8, 2).number(1).number(1e30).head(9, 2).half(1).half(0);
  words.head(10).head(0);
  return words;
}

TEST_F(OperatorInputsTest, SpellsEachKindAsKinetoDoes) {
  const Texts texts = decode(all_kinds());
  EXPECT_EQ(texts.dims, "[[4, 3], [], [[2], []], [], [], [], [], [], [], [], []]");
  EXPECT_EQ(texts.strides, "[[3, 1], [], [[1], []], [], [], [], [], [], [], [], []]");
  EXPECT_EQ(texts.types,
            R"(["float", "", "TensorList", "Scalar", "Scalar", "Scalar", "ScalarList", )"
            R"("ScalarList", "ScalarList", "Scalar", ""])");
  EXPECT_EQ(texts.concrete,
            R"(["", "", "", "-7", "0.5", "True", "[1, 2]", "[1., 1e+30]", "[True, False]", )"
            R"("", ""])");
}

TEST_F(OperatorInputsTest, ReadsWideSizesAndTensorsWithoutStrides) {
  Words words;
  words.half(2).head(1, 1, kFloat, 1 | 2).wide(uint64_t{5} << 32).wide(static_cast<uint64_t>(-1));
  words.head(1, 2, kFloat).half(8).half(9);
  const Texts texts = decode(words);
  EXPECT_EQ(texts.dims, "[[21474836480], [8, 9]]");
  EXPECT_EQ(texts.strides, "[[-1], []]");
}

TEST_F(OperatorInputsTest, SpellsNumbersAsTorchProfilerDoes) {
  const std::vector<std::pair<double, std::string>> cases = {
      {0.1, "0.10000000000000001"},
      {-3, "-3."},
      {-0.0, "0."},
      {1e17, "100000000000000000."},
      {-9e18, "-9000000000000000000."},
      {9.3e18, "9.3e+18"},
      {1e19, "1e+19"},
      {1e-5, "1.0000000000000001e-05"},
      {std::numeric_limits<double>::infinity(), "inf"},
      {-std::numeric_limits<double>::infinity(), "-inf"},
      {std::numeric_limits<double>::quiet_NaN(), "nan"},
  };
  for (const auto& [number, text] : cases) {
    EXPECT_EQ(decode(Words().half(1).head(5).number(number)).concrete, "[\"" + text + "\"]");
  }
}

TEST_F(OperatorInputsTest, AnOperatorMayHaveNoInputs) {
  const Texts texts = decode(Words().half(0));
  EXPECT_EQ(texts.dims, "[]");
  EXPECT_EQ(texts.concrete, "[]");
  EXPECT_EQ(decode(std::vector<uint64_t>()).types, "[]");
}

TEST_F(OperatorInputsTest, GivesTheSameTextsForTheSameWords) {
  const Words words = all_kinds();
  const InputTexts first = inputs_.decode(words.words());
  const size_t strings = builder_.strings().size();
  EXPECT_EQ(inputs_.decode(words.words()).dims, first.dims);
  EXPECT_EQ(builder_.strings().size(), strings);
}

TEST_F(OperatorInputsTest, KnowsAllOfC10sScalarTypesThatKinetoNames) {
  EXPECT_EQ(scalar_type_name(0), "unsigned char");
  EXPECT_EQ(scalar_type_name(kLong), "long int");
  EXPECT_EQ(scalar_type_name(kFloat), "float");
  EXPECT_EQ(scalar_type_name(11), "bool");
  EXPECT_EQ(scalar_type_name(15), "c10::BFloat16");
  EXPECT_EQ(scalar_type_name(255), "");
}

// Whether brackets and quotes are closed, and nothing follows.
bool is_one_array(const std::string& text) {
  int depth = 0;
  bool is_quoted = false;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '"') is_quoted = !is_quoted;
    if (!is_quoted) depth += text[i] == '[' ? 1 : text[i] == ']' ? -1 : 0;
    if (depth <= 0 && i + 1 < text.size()) return false;
  }
  return depth == 0 && !is_quoted;
}

// An array each, and no longer than a few times the words.
void expect_sound(const Texts& texts, size_t words) {
  for (const std::string* text : {&texts.dims, &texts.types, &texts.strides, &texts.concrete}) {
    EXPECT_TRUE(is_one_array(*text)) << *text;
    EXPECT_LE(text->size(), 64 * (words + 1));
  }
}

TEST_F(OperatorInputsTest, ReadsWhatItCanOfWordsThatAreCutOff) {
  const std::vector<uint64_t> words = all_kinds().words();
  for (size_t count = 0; count < words.size(); ++count) {
    expect_sound(decode(std::span(words).first(count)), count);
  }
  EXPECT_EQ(decode(std::span(words).first(2)).dims, "[[4, 3]]");
}

TEST_F(OperatorInputsTest, CountsThatTheWordsDoNotBearOutEndWithTheWords) {
  for (uint32_t kind = 0; kind < 16; ++kind) {
    for (const uint32_t flags : {0u, 1u, 2u, 3u, 15u}) {
      const Words words = Words().half(UINT32_MAX).head(kind, UINT16_MAX, 255, flags).half(7);
      expect_sound(decode(words), 2);
    }
  }
}

TEST_F(OperatorInputsTest, AListOfTensorsInAListIsNoListOfItsOwn) {
  Words words;
  words.half(1).head(3, 2).head(3, 50'000).head(3, 50'000);
  for (int i = 0; i < 1000; ++i) words.head(3, UINT16_MAX);
  const Texts texts = decode(words);
  EXPECT_EQ(texts.dims, "[[[], []]]");
  EXPECT_EQ(texts.types, R"(["TensorList"])");
}

TEST_F(OperatorInputsTest, AnyWordsGiveSoundTexts) {
  std::mt19937_64 random(1);
  for (int round = 0; round < 2000; ++round) {
    std::vector<uint64_t> words(random() % 40);
    // Small numbers among the others, so that lists come to their end.
    for (uint64_t& word : words)
      word = random() & (random() % 2 ? ~0ull : 0x000F'00FF'0003'003Full);
    expect_sound(decode(words), words.size());
  }
}

}  // namespace
}  // namespace stepscope
