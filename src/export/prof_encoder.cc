#include "export/prof_encoder.h"

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <vector>

namespace stepscope {
namespace {

constexpr uint8_t kMarked = 0x80;  // can be meant again, by its number among the marked

class Encoder {
 public:
  explicit Encoder(const CallProfile& profile)
      : profile_(profile), function_mark_(profile.functions().size(), kNone) {}

  std::string run() {
    put<uint8_t>('{');
    for (const CallProfile::Entry& entry : profile_.entries()) {
      put_function(entry.function);
      put_tuple(5);
      put_int(entry.figures.primitive_calls);
      put_int(entry.figures.calls);
      put_times(entry.figures);
      put<uint8_t>('{');
      for (const CallProfile::Caller& caller : entry.callers) {
        put_function(caller.function);
        put_caller(caller);
      }
      put<uint8_t>('0');
    }
    put<uint8_t>('0');
    return std::move(out_);
  }

 private:
  static constexpr uint32_t kNone = UINT32_MAX;

  template <typename T>
  void put(T value) {
    out_.append(reinterpret_cast<const char*>(&value), sizeof(value));
  }
  void put_tuple(uint8_t items, uint8_t mark = 0) {
    put<uint8_t>(')' | mark);
    put(items);
  }
  void put_again(uint32_t mark) {
    put<uint8_t>('r');
    put(mark);
  }

  void put_int(int64_t value) {
    if (value == static_cast<int32_t>(value)) {
      put<uint8_t>('i');
      put(static_cast<int32_t>(value));
      return;
    }
    std::vector<uint16_t> digits;
    uint64_t rest = value < 0 ? 0 - static_cast<uint64_t>(value) : static_cast<uint64_t>(value);
    for (; rest > 0; rest >>= 15) digits.push_back(rest & 0x7fff);
    const auto count = static_cast<int32_t>(digits.size());
    put<uint8_t>('l');
    put(value < 0 ? -count : count);
    for (const uint16_t digit : digits) put(digit);
  }
  void put_float(double value) {
    put<uint8_t>('g');
    put(value);
  }
  void put_times(const CallFigures& figures) {
    put_float(figures.self_s);
    put_float(figures.total_s);
  }

  void put_text(StringId id) {
    if (text_mark_.size() <= index(id)) text_mark_.resize(index(id) + size_t{1}, kNone);
    uint32_t& mark = text_mark_[index(id)];
    if (mark != kNone) return put_again(mark);
    mark = marks_++;
    const std::string_view text = profile_.string(id);
    const bool is_ascii = std::all_of(text.begin(), text.end(),
                                      [](char c) { return static_cast<uint8_t>(c) < 0x80; });
    if (is_ascii && text.size() < 256) {
      put<uint8_t>('z' | kMarked);
      put(static_cast<uint8_t>(text.size()));
    } else {
      put<uint8_t>((is_ascii ? 'a' : 'u') | kMarked);
      put(static_cast<uint32_t>(text.size()));
    }
    out_ += text;
  }

  void put_function(uint32_t number) {
    uint32_t& mark = function_mark_[number];
    if (mark != kNone) return put_again(mark);
    mark = marks_++;
    const CallProfile::Function& function = profile_.functions()[number];
    put_tuple(3, kMarked);
    put_text(function.file);
    put_int(function.line);
    put_text(function.name);
  }

  void put_caller(const CallProfile::Caller& caller) {
    if (!caller.has_times) return put_int(caller.figures.calls);
    put_tuple(4);
    put_int(caller.figures.calls);
    put_int(caller.figures.primitive_calls);
    put_times(caller.figures);
  }

  const CallProfile& profile_;
  std::string out_;
  uint32_t marks_ = 0;
  std::vector<uint32_t> function_mark_;  // by function
  std::vector<uint32_t> text_mark_;      // by StringId
};

}  // namespace

std::string encode_prof(const CallProfile& profile) { return Encoder(profile).run(); }

}  // namespace stepscope
