#include "ingest/prof_decoder.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include "base/bytes.h"

namespace stepscope {
namespace {

constexpr uint8_t kMarked = 0x80;
constexpr size_t kKeyItems = 3;
constexpr size_t kEntryItems = 5;
constexpr size_t kCallerItems = 4;

// UTF-8 as Python's "surrogatepass" has it.
bool is_text(std::string_view text) {
  size_t i = 0;
  while (i < text.size()) {
    const auto at = [&](size_t offset) { return static_cast<uint8_t>(text[i + offset]); };
    const uint8_t first = at(0);
    if (first < 0x80) {
      ++i;
      continue;
    }
    const size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
    if (first < 0xc2 || first > 0xf4 || text.size() - i < length) return false;
    for (size_t k = 1; k < length; ++k) {
      if ((at(k) & 0xc0) != 0x80) return false;
    }
    const bool is_too_long = (first == 0xe0 && at(1) < 0xa0) || (first == 0xf0 && at(1) < 0x90);
    const bool is_too_large = first == 0xf4 && at(1) > 0x8f;
    if (is_too_long || is_too_large) return false;
    i += length;
  }
  return true;
}

class Decoder {
 public:
  Decoder(std::string_view bytes, const std::string& name) : bytes_(bytes), name_(name) {}

  Result<CallProfile> run() {
    if (read_profile()) return std::move(profile_);
    return Status::error(name_ + ": byte " + std::to_string(at_) + ": " + fault_);
  }

 private:
  // What a marked object was, for those that mean it again.
  enum class Kind : uint8_t { kUnfinished, kText, kInt, kFloat, kFunction, kCaller, kCallers };
  struct Object {
    Kind kind = Kind::kUnfinished;
    uint64_t bits = 0;  // the value, or its place in a table
  };
  struct Type {
    char code = 0;
    size_t mark = kNoMark;
  };
  struct Number {
    bool is_int = false;
    int64_t whole = 0;
    double value = 0;
  };
  // Where a caller stands in the dictionary that is being read: a key that comes again replaces.
  struct Place {
    uint64_t dictionary = 0;
    size_t at = 0;
  };
  static constexpr size_t kNoMark = SIZE_MAX;

  bool fail(std::string fault) {
    if (fault_.empty()) fault_ = std::move(fault);
    return false;
  }
  bool expected(std::string_view what, Type found) {
    static constexpr char kHex[] = "0123456789abcdef";
    const auto code = static_cast<uint8_t>(found.code);
    return fail("expected " + std::string(what) + ", found the type 0x" + kHex[code >> 4] +
                kHex[code & 15]);
  }

  template <typename T>
  bool read(T& value) {
    if (bytes_.size() - at_ < sizeof(T)) return fail("the file ends too early");
    value = load_le<T>(reinterpret_cast<const uint8_t*>(bytes_.data()) + at_);
    at_ += sizeof(T);
    return true;
  }
  bool read_type(Type& type) {
    uint8_t byte = 0;
    if (!read(byte)) return false;
    type.code = static_cast<char>(byte & ~kMarked);
    type.mark = kNoMark;
    if ((byte & kMarked) != 0) {
      if (type.code == 'r' || type.code == 'R' || type.code == '0') {
        return fail("a mark on what is no object");
      }
      type.mark = objects_.size();
      objects_.emplace_back();
    }
    return true;
  }
  void finish(Type type, Kind kind, uint64_t bits) {
    if (type.mark != kNoMark) objects_[type.mark] = {kind, bits};
  }
  bool read_again(Object& object) {
    uint32_t mark = 0;
    if (!read(mark)) return false;
    if (mark >= objects_.size()) return fail("means an object that is not there");
    object = objects_[mark];
    return true;
  }
  bool read_again(Kind kind, std::string_view what, uint64_t& bits) {
    Object object;
    if (!read_again(object)) return false;
    if (object.kind != kind) {
      return fail("expected " + std::string(what) + ", found another object");
    }
    bits = object.bits;
    return true;
  }

  bool read_text(StringId& text) {
    Type type;
    if (!read_type(type)) return false;
    size_t length = 0;
    bool is_ascii = false;
    switch (type.code) {
      case 'r': {
        uint64_t bits = 0;
        if (!read_again(Kind::kText, "a text", bits)) return false;
        text = StringId{static_cast<uint32_t>(bits)};
        return true;
      }
      case 'R': {
        uint32_t at = 0;
        if (!read(at)) return false;
        if (at >= interned_.size()) return fail("means a text that is not there");
        text = interned_[at];
        return true;
      }
      case 'z':
      case 'Z': {
        uint8_t short_length = 0;
        if (!read(short_length)) return false;
        length = short_length;
        is_ascii = true;
        break;
      }
      case 'a':
      case 'A':
      case 'u':
      case 't':
      case 's': {
        uint32_t long_length = 0;
        if (!read(long_length)) return false;
        length = long_length;
        is_ascii = type.code == 'a' || type.code == 'A';
        break;
      }
      default:
        return expected("a text", type);
    }
    if (bytes_.size() - at_ < length) return fail("a text is longer than the file");
    const std::string_view bytes = bytes_.substr(at_, length);
    const bool is_sound = is_ascii
                              ? std::all_of(bytes.begin(), bytes.end(),
                                            [](char c) { return static_cast<uint8_t>(c) < 0x80; })
                              : is_text(bytes);
    if (!is_sound) return fail(is_ascii ? "a text is not ASCII" : "a text is not UTF-8");
    at_ += length;
    text = profile_.strings().intern(bytes);
    if (type.code == 't') interned_.push_back(text);
    finish(type, Kind::kText, index(text));
    return true;
  }

  bool read_long(int64_t& value) {
    int32_t count = 0;
    if (!read(count)) return false;
    constexpr uint32_t kMaxDigits = 5;
    constexpr uint16_t kMaxLast = 7;  // four digits of 15 bits leave three of 63
    const uint32_t digits = count < 0 ? 0u - static_cast<uint32_t>(count) : uint32_t(count);
    if (digits > kMaxDigits) return fail("a number of more than 64 bits");
    uint64_t sum = 0;
    for (uint32_t i = 0; i < digits; ++i) {
      uint16_t digit = 0;
      if (!read(digit)) return false;
      if (digit > 0x7fff) return fail("a number has a digit of more than 15 bits");
      if (i + 1 == kMaxDigits && digit > kMaxLast) return fail("a number of more than 64 bits");
      if (i + 1 == digits && digit == 0) return fail("a number with a zero before it");
      sum |= uint64_t{digit} << (15 * i);
    }
    value = count < 0 ? -static_cast<int64_t>(sum) : static_cast<int64_t>(sum);
    return true;
  }

  bool read_decimal(double& value) {
    uint8_t length = 0;
    if (!read(length)) return false;
    if (bytes_.size() - at_ < length) return fail("the file ends too early");
    const char* const begin = bytes_.data() + at_;
    const auto [end, error] = std::from_chars(begin, begin + length, value);
    if (error != std::errc() || end != begin + length) return fail("a text that is no number");
    at_ += length;
    return true;
  }

  // The rest of a number, or of what means one.
  bool read_number(Type type, Number& number) {
    number = {};
    switch (type.code) {
      case 'r': {
        Object object;
        if (!read_again(object)) return false;
        number.is_int = object.kind == Kind::kInt;
        if (!number.is_int && object.kind != Kind::kFloat) {
          return fail("expected a number, found another object");
        }
        number.whole = static_cast<int64_t>(object.bits);
        std::memcpy(&number.value, &object.bits, sizeof(number.value));
        break;
      }
      case 'i': {
        int32_t value = 0;
        if (!read(value)) return false;
        number.whole = value;
        number.is_int = true;
        break;
      }
      case 'I':
        if (!read(number.whole)) return false;
        number.is_int = true;
        break;
      case 'l':
        if (!read_long(number.whole)) return false;
        number.is_int = true;
        break;
      case 'g':
        if (!read(number.value)) return false;
        break;
      case 'f':
        if (!read_decimal(number.value)) return false;
        break;
      default:
        return expected("a number", type);
    }
    uint64_t bits = static_cast<uint64_t>(number.whole);
    if (number.is_int) {
      number.value = static_cast<double>(number.whole);
    } else {
      std::memcpy(&bits, &number.value, sizeof(bits));
    }
    finish(type, number.is_int ? Kind::kInt : Kind::kFloat, bits);
    return true;
  }
  bool read_int(int64_t& value) {
    Type type;
    Number number;
    if (!read_type(type) || !read_number(type, number)) return false;
    if (!number.is_int) return fail("expected a whole number");
    value = number.whole;
    return true;
  }
  bool read_seconds(double& value) {
    Type type;
    Number number;
    if (!read_type(type) || !read_number(type, number)) return false;
    value = number.value;
    return true;
  }

  bool is_tuple(Type type) const { return type.code == '(' || type.code == ')'; }
  // The rest of a tuple's head.
  bool read_count(Type type, size_t count) {
    uint32_t found = 0;
    uint8_t small = 0;
    if (type.code == ')' ? !read(small) : !read(found)) return false;
    if (type.code == ')') found = small;
    if (found == count) return true;
    return fail("expected " + std::to_string(count) + " items, found " + std::to_string(found));
  }

  bool read_function(Type type, uint32_t& function) {
    uint64_t bits = 0;
    if (type.code == 'r') {
      if (!read_again(Kind::kFunction, "a function", bits)) return false;
      function = static_cast<uint32_t>(bits);
      return true;
    }
    if (!is_tuple(type)) return expected("a function (file, line, name)", type);
    CallProfile::Function key;
    if (!read_count(type, kKeyItems) || !read_text(key.file) || !read_int(key.line) ||
        !read_text(key.name)) {
      return false;
    }
    function = profile_.add_function(key);
    places_.resize(profile_.functions().size());
    finish(type, Kind::kFunction, function);
    return true;
  }

  // Of an entry or a caller: two counts and two times.
  bool read_figures(int64_t& first, int64_t& second, CallFigures& figures) {
    return read_int(first) && read_int(second) && read_seconds(figures.self_s) &&
           read_seconds(figures.total_s);
  }

  bool read_caller(CallProfile::Caller& caller) {
    Type type;
    if (!read_type(type)) return false;
    if (type.code == 'r') {
      const size_t before = at_;
      Object object;
      if (!read_again(object)) return false;
      if (object.kind == Kind::kCaller) {
        caller = marked_callers_[object.bits];
        return true;
      }
      at_ = before;
    }
    if (!is_tuple(type)) {
      Number number;
      if (!read_number(type, number)) return false;
      if (!number.is_int) return fail("expected a whole number");
      caller.has_times = false;
      caller.figures.calls = caller.figures.primitive_calls = number.whole;
      return true;
    }
    CallFigures& figures = caller.figures;
    if (!read_count(type, kCallerItems) ||
        !read_figures(figures.calls, figures.primitive_calls, figures)) {
      return false;
    }
    if (type.mark != kNoMark) {
      finish(type, Kind::kCaller, marked_callers_.size());
      marked_callers_.push_back(caller);
    }
    return true;
  }

  bool read_callers(std::vector<CallProfile::Caller>& callers) {
    callers.clear();
    Type type;
    if (!read_type(type)) return false;
    if (type.code == 'r') {
      uint64_t bits = 0;
      if (!read_again(Kind::kCallers, "a dictionary of callers", bits)) return false;
      // Else a small file could mean one large dictionary a million times.
      callers_again_ += marked_dictionaries_[bits].size();
      if (callers_again_ > bytes_.size()) return fail("more callers than the file has bytes");
      callers = marked_dictionaries_[bits];
      return true;
    }
    if (type.code != '{') return expected("a dictionary of callers", type);
    ++dictionaries_;
    while (true) {
      Type key;
      if (!read_type(key)) return false;
      if (key.code == '0') break;
      CallProfile::Caller caller;
      uint32_t function = 0;
      if (!read_function(key, function) || !read_caller(caller)) return false;
      caller.function = function;
      Place& place = places_[function];
      if (place.dictionary == dictionaries_) {
        callers[place.at] = caller;
      } else {
        place = {dictionaries_, callers.size()};
        callers.push_back(caller);
      }
    }
    if (type.mark != kNoMark) {
      finish(type, Kind::kCallers, marked_dictionaries_.size());
      marked_dictionaries_.push_back(callers);
    }
    return true;
  }

  bool read_profile() {
    Type type;
    if (!read_type(type)) return false;
    if (type.code != '{') return expected("a dictionary of functions", type);
    while (true) {
      Type key;
      if (!read_type(key)) return false;
      if (key.code == '0') return true;
      uint32_t function = 0;
      CallFigures figures;
      std::vector<CallProfile::Caller> callers;
      Type value;
      if (!read_function(key, function) || !read_type(value)) return false;
      if (!is_tuple(value)) return expected("the figures of a function", value);
      if (!read_count(value, kEntryItems) ||
          !read_figures(figures.primitive_calls, figures.calls, figures) ||
          !read_callers(callers)) {
        return false;
      }
      CallProfile::Entry& entry = profile_.add_entry(function);
      entry.figures = figures;
      entry.callers = std::move(callers);
    }
  }

  std::string_view bytes_;
  const std::string& name_;
  size_t at_ = 0;
  std::string fault_;
  CallProfile profile_;
  std::vector<Object> objects_;
  std::vector<StringId> interned_;
  std::vector<CallProfile::Caller> marked_callers_;
  std::vector<std::vector<CallProfile::Caller>> marked_dictionaries_;
  size_t callers_again_ = 0;
  uint64_t dictionaries_ = 0;
  std::vector<Place> places_;  // by function
};

}  // namespace

bool looks_like_prof(std::string_view head) {
  if (head.size() < 2 || (head[0] & 0x7f) != '{') return false;
  const char key = static_cast<char>(head[1] & 0x7f);
  if (head.size() == 2) return key == '0';
  return (key == ')' && head[2] == 3) ||
         (key == '(' && head.substr(2).starts_with(std::string_view("\3\0\0\0", 4)));
}

Result<CallProfile> decode_prof(std::string_view bytes, const std::string& name) {
  return Decoder(bytes, name).run();
}

}  // namespace stepscope
