// JsonTokens: where the tokens of a JSON text begin (brackets, colons, commas, strings, bare
// words), in order. simdjson's first stage finds them at the speed of memory, and checks that the
// text is UTF-8 and that its strings end and hold no control characters. What the tokens mean, and
// whether they stand where they may, is the reader's business.
//
//   JsonTokens tokens;
//   if (!tokens.find(text, length)) return false;
//   for (const uint32_t* at = tokens.begin(); at != tokens.end(); ++at) use(text[*at]);
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

namespace stepscope {

class JsonTokens {
 public:
  static constexpr size_t kTextPadding = 64;  // readable bytes that must follow the text

  JsonTokens();
  ~JsonTokens();
  JsonTokens(const JsonTokens&) = delete;
  JsonTokens& operator=(const JsonTokens&) = delete;

  bool find(const char* text, size_t length);

  // Offsets into the text, until the next find(). *end() may be read: it is the text's length.
  const uint32_t* begin() const { return begin_; }
  const uint32_t* end() const { return end_; }

 private:
  class Finder;
  std::unique_ptr<Finder> finder_;
  const uint32_t* begin_ = nullptr;
  const uint32_t* end_ = nullptr;
};

}  // namespace stepscope
