// NumberWords: the words of a text one by one, as numbers: how the files of /proc are read. No
// allocation; never past the end of the text.
//
//   NumberWords words("12 x 34");
//   words.next(a) && words.skip(1) && words.next(b);   // 12, 34
#pragma once

#include <charconv>
#include <cstdint>
#include <string_view>

namespace stepscope {

class NumberWords {
 public:
  explicit NumberWords(std::string_view text) : at_(text.data()), end_(at_ + text.size()) {}

  // False at the end, and where the next word is no number; a negative one is read as 0.
  bool next(uint64_t& number) {
    skip_spaces();
    const bool is_negative = at_ < end_ && *at_ == '-';
    if (is_negative) ++at_;
    const auto [after, error] = std::from_chars(at_, end_, number);
    if (error != std::errc()) return false;
    if (is_negative) number = 0;
    at_ = after;
    return at_ == end_ || *at_ == ' ' || *at_ == '\n';
  }

  bool skip(int words) {
    for (; words > 0; --words) {
      skip_spaces();
      if (at_ == end_) return false;
      while (at_ < end_ && *at_ != ' ' && *at_ != '\n') ++at_;
    }
    return true;
  }

 private:
  void skip_spaces() {
    while (at_ < end_ && *at_ == ' ') ++at_;
  }

  const char* at_;
  const char* end_;
};

}  // namespace stepscope
