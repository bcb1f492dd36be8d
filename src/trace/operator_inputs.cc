#include "trace/operator_inputs.h"

#include <fmt/format.h>

#include <array>
#include <bit>
#include <cmath>

#include "format/operator_inputs.h"

namespace stepscope {
namespace {

using format::InputKind;

// As c10 prints a double: "0.5", "1.", "100000000000000000.", "1e+30".
std::string spell(double value) {
  const bool is_whole = std::abs(value) < 0x1p63 && std::trunc(value) == value;
  if (is_whole) return fmt::format("{}.", static_cast<int64_t>(value));
  return fmt::format("{:.17g}", value);
}

// Reads halves of words, and never past their end.
class HalfReader {
 public:
  explicit HalfReader(std::span<const uint64_t> words) : words_(words) {}

  bool at_end() const { return at_ >= 2 * words_.size(); }
  uint32_t half() {
    if (at_end()) return 0;
    const uint64_t word = words_[at_ / 2];
    return static_cast<uint32_t>(at_++ % 2 == 0 ? word : word >> 32);
  }
  uint64_t wide() {
    const uint64_t low = half();
    return uint64_t{half()} << 32 | low;
  }

 private:
  std::span<const uint64_t> words_;
  size_t at_ = 0;
};

class InputSpeller {
 public:
  explicit InputSpeller(std::span<const uint64_t> words) : reader_(words) {}

  void spell_all() {
    uint32_t left = reader_.half();
    for (; left > 0 && !reader_.at_end(); --left) {
      for (std::string* text : {&dims, &types, &strides, &concrete}) {
        *text += text->empty() ? "[" : ", ";
      }
      spell_input();
    }
    for (std::string* text : {&dims, &types, &strides, &concrete}) {
      *text += text->empty() ? "[]" : "]";
    }
  }

  std::string dims, types, strides, concrete;

 private:
  struct Head {
    InputKind kind;
    uint32_t flags, type, count;
  };

  Head read_head() {
    const uint32_t half = reader_.half();
    return {static_cast<InputKind>(half & 15), half >> 4 & 15, half >> 8 & 255, half >> 16};
  }

  void spell_input() {
    const Head head = read_head();
    std::string_view type = "Scalar";
    std::string value;
    switch (head.kind) {
      case InputKind::kTensor:
        spell_tensor(head);
        type = scalar_type_name(head.type);
        break;
      case InputKind::kTensorList:
        spell_tensor_list(head);
        type = "TensorList";
        break;
      case InputKind::kInt:
        value = std::to_string(static_cast<int64_t>(reader_.wide()));
        break;
      case InputKind::kDouble:
        value = spell(std::bit_cast<double>(reader_.wide()));
        break;
      case InputKind::kBool:
        value = head.count != 0 ? "True" : "False";
        break;
      case InputKind::kIntList:
      case InputKind::kDoubleList:
      case InputKind::kBoolList:
        type = "ScalarList";
        value = spell_list(head);
        break;
      case InputKind::kScalar:
        break;
      case InputKind::kOther:
      case InputKind::kUndefinedTensor:
      default:
        type = "";
    }
    if (head.kind != InputKind::kTensor && head.kind != InputKind::kTensorList) {
      dims += "[]";
      strides += "[]";
    }
    types += fmt::format("\"{}\"", type);
    concrete += fmt::format("\"{}\"", value);
  }

  void spell_numbers(const Head& head, std::string& text) {
    text += '[';
    for (uint32_t i = 0; i < head.count && !reader_.at_end(); ++i) {
      if (i > 0) text += ", ";
      const uint64_t number =
          (head.flags & format::kInputIsWide) != 0 ? reader_.wide() : reader_.half();
      fmt::format_to(std::back_inserter(text), "{}", static_cast<int64_t>(number));
    }
    text += ']';
  }

  void spell_tensor(const Head& head) {
    spell_numbers(head, dims);
    if ((head.flags & format::kInputHasStrides) == 0) {
      strides += "[]";
      return;
    }
    spell_numbers(head, strides);
  }

  void spell_tensor_list(const Head& list) {
    dims += '[';
    strides += '[';
    for (uint32_t i = 0; i < list.count && !reader_.at_end(); ++i) {
      if (i > 0) {
        dims += ", ";
        strides += ", ";
      }
      const Head head = read_head();
      if (head.kind == InputKind::kTensor) {
        spell_tensor(head);
      } else {
        dims += "[]";
        strides += "[]";
      }
    }
    dims += ']';
    strides += ']';
  }

  std::string spell_list(const Head& head) {
    std::string text = "[";
    for (uint32_t i = 0; i < head.count && !reader_.at_end(); ++i) {
      if (i > 0) text += ", ";
      if (head.kind == InputKind::kBoolList) {
        text += reader_.half() != 0 ? "True" : "False";
      } else if (head.kind == InputKind::kIntList) {
        text += std::to_string(static_cast<int64_t>(reader_.wide()));
      } else {
        text += spell(std::bit_cast<double>(reader_.wide()));
      }
    }
    return text + "]";
  }

  HalfReader reader_;
};

}  // namespace

std::string_view scalar_type_name(uint32_t type) {
  // In the order of c10::ScalarType.
  static constexpr std::array<std::string_view, 16> kNames = {"unsigned char",
                                                              "signed char",
                                                              "short int",
                                                              "int",
                                                              "long int",
                                                              "c10::Half",
                                                              "float",
                                                              "double",
                                                              "c10::complex<c10::Half>",
                                                              "c10::complex<float>",
                                                              "c10::complex<double>",
                                                              "bool",
                                                              "c10::qint8",
                                                              "c10::quint8",
                                                              "c10::qint32",
                                                              "c10::BFloat16"};
  return type < kNames.size() ? kNames[type] : std::string_view();
}

InputTexts OperatorInputs::decode(std::span<const uint64_t> words) {
  const std::string_view bytes(reinterpret_cast<const char*>(words.data()), words.size_bytes());
  const auto [known, is_new] = known_.try_emplace(std::string(bytes));
  if (!is_new) return known->second;
  InputSpeller speller(words);
  speller.spell_all();
  known->second = {builder_.string(speller.dims), builder_.string(speller.types),
                   builder_.string(speller.strides), builder_.string(speller.concrete)};
  return known->second;
}

}  // namespace stepscope
