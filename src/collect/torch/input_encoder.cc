#include "collect/torch/input_encoder.h"

#include <stepscope/record.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "format/operator_inputs.h"

namespace stepscope::torch {
namespace {

using format::InputKind;

constexpr size_t kMaxListValues = 30;  // as in torch.profiler: longer ones are not kept
constexpr size_t kMaxTensors = 2000;
constexpr size_t kMaxWords = 255;  // of one record

bool fits_narrow(c10::IntArrayRef values) {
  return std::all_of(values.begin(), values.end(),
                     [](int64_t value) { return value >= 0 && value <= UINT32_MAX; });
}

}  // namespace

void InputEncoder::attach(c10::ArrayRef<const c10::IValue> inputs) {
  count_ = 0;
  put(static_cast<uint32_t>(inputs.size()));
  for (const c10::IValue& input : inputs) put_input(input);
  make_room(1);
  if (count_ % 2 != 0) put(0);
  const size_t words = count_ / 2;
  uint64_t record[kMaxWords];
  for (size_t first = 0; first < words; first += kMaxWords) {
    const size_t count = std::min(kMaxWords, words - first);
    std::memcpy(record, halves_.data() + 2 * first, count * sizeof(uint64_t));
    current_table()->attach(STEPSCOPE_INPUTS_DETAIL, record, static_cast<uint32_t>(count));
  }
}

void InputEncoder::put_wide(uint64_t value) {
  put(static_cast<uint32_t>(value));
  put(static_cast<uint32_t>(value >> 32));
}

void InputEncoder::put_head(InputKind kind, size_t count, uint32_t type, uint32_t flags) {
  put(static_cast<uint32_t>(kind) | flags << 4 | type << 8 | static_cast<uint32_t>(count) << 16);
}

void InputEncoder::put_input(const c10::IValue& input) {
  make_room(3);  // a head and a wide value
  if (input.isTensor()) return put_tensor(input.toTensor());
  if (input.isInt()) {
    put_head(InputKind::kInt);
    return put_wide(static_cast<uint64_t>(input.toInt()));
  }
  if (input.isBool()) return put_head(InputKind::kBool, input.toBool());
  if (input.isDouble()) {
    put_head(InputKind::kDouble);
    return put_wide(std::bit_cast<uint64_t>(input.toDouble()));
  }
  if (input.isList()) return put_list(input);
  put_head(input.isScalar() ? InputKind::kScalar : InputKind::kOther);
}

// Only what is known without asking a backend: a tensor's own sizes, where it has any.
void InputEncoder::put_tensor(const at::Tensor& tensor) {
  if (!tensor.defined()) return put_head(InputKind::kUndefinedTensor);
  const c10::TensorImpl& tensor_impl = *tensor.unsafeGetTensorImpl();
  const auto type = static_cast<uint32_t>(tensor.scalar_type());
  if (tensor_impl.is_python_dispatch() || tensor_impl.has_symbolic_sizes_strides() ||
      tensor.is_nested() || tensor.layout() != c10::kStrided) {
    return put_head(InputKind::kTensor, 0, type);
  }
  const c10::IntArrayRef sizes = tensor.sizes();
  const c10::IntArrayRef strides = tensor.strides();
  const bool is_wide = !fits_narrow(sizes) || !fits_narrow(strides);
  make_room(1 + 4 * sizes.size());
  put_head(InputKind::kTensor, sizes.size(), type,
           format::kInputHasStrides | (is_wide ? format::kInputIsWide : 0));
  for (const c10::IntArrayRef values : {sizes, strides}) {
    for (const int64_t value : values) {
      if (is_wide) {
        put_wide(static_cast<uint64_t>(value));
      } else {
        put(static_cast<uint32_t>(value));
      }
    }
  }
}

void InputEncoder::put_list(const c10::IValue& input) {
  if (input.isTensorList()) {
    const auto tensors = input.toListRef();
    if (tensors.size() > kMaxTensors) return put_head(InputKind::kOther);
    put_head(InputKind::kTensorList, tensors.size());
    for (const c10::IValue& tensor : tensors) {
      make_room(1);
      put_tensor(tensor.toTensor());
    }
    return;
  }
  const bool is_int = input.isIntList();
  const bool is_double = input.isDoubleList();
  if (!is_int && !is_double && !input.isBoolList()) return put_head(InputKind::kOther);
  const auto values = input.toListRef();
  if (values.size() > kMaxListValues) return put_head(InputKind::kOther);
  put_head(is_int      ? InputKind::kIntList
           : is_double ? InputKind::kDoubleList
                       : InputKind::kBoolList,
           values.size());
  make_room(2 * values.size());
  for (const c10::IValue& value : values) {
    if (is_int) {
      put_wide(static_cast<uint64_t>(value.toInt()));
    } else if (is_double) {
      put_wide(std::bit_cast<uint64_t>(value.toDouble()));
    } else {
      put(value.toBool());
    }
  }
}

}  // namespace stepscope::torch
