#include "format/column_encoder.h"

#include <zstd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "base/bytes.h"
#include "base/check.h"

namespace stepscope::format {
namespace {

constexpr size_t kSampleRuns = 16;
constexpr size_t kSampleRunLength = 128;
constexpr size_t kSampleValues = kSampleRuns * kSampleRunLength;
// Below this many values entropy says nothing, and a zstd frame costs more than it saves.
constexpr size_t kFewValues = 64;

uint64_t zigzag(uint64_t difference) {
  return (difference << 1) ^ static_cast<uint64_t>(static_cast<int64_t>(difference) >> 63);
}

// How values become residuals. `base` is subtracted unless zigzag.
struct Transform {
  bool delta = false;
  bool zigzag = false;
  uint64_t base = 0;

  uint64_t residual(std::span<const int64_t> values, size_t i) const {
    auto value = static_cast<uint64_t>(values[i]);
    if (delta) {
      if (i == 0) return 0;
      value -= static_cast<uint64_t>(values[i - 1]);
    }
    return zigzag ? format::zigzag(value) : value - base;
  }
};

// table[n] = n * log2(n)
const std::array<float, kSampleValues + 1>& n_log2_n() {
  static const auto table = [] {
    std::array<float, kSampleValues + 1> values{};
    for (size_t n = 2; n < values.size(); ++n) {
      values[n] = static_cast<float>(n) * std::log2(static_cast<float>(n));
    }
    return values;
  }();
  return table;
}

// Expected bits for `values` under `transform`: the order-0 entropy of every plane over a sample,
// plus the descriptors. For few values: the plain size.
float estimate_bits(std::span<const int64_t> values, const Transform& transform) {
  std::array<std::array<uint16_t, 256>, 8> counts{};
  size_t sampled = 0;
  uint64_t any_bits = 0;
  const size_t runs = values.size() <= kSampleValues ? 1 : kSampleRuns;
  const size_t run_length = runs == 1 ? values.size() : kSampleRunLength;
  for (size_t run = 0; run < runs; ++run) {
    const size_t from = runs == 1 ? 0 : run * (values.size() - run_length) / (runs - 1);
    for (size_t i = from; i < from + run_length; ++i) {
      const uint64_t residual = transform.residual(values, i);
      any_bits |= residual;
      for (size_t plane = 0; plane < 8; ++plane) ++counts[plane][(residual >> (8 * plane)) & 0xFF];
    }
    sampled += run_length;
  }
  const size_t width = (std::bit_width(any_bits) + 7) / 8;
  const auto descriptor_bits = static_cast<float>(width * kPlaneDescriptorBytes * 8);
  if (values.size() < kFewValues) {
    return static_cast<float>(values.size() * width * 8) + descriptor_bits;
  }
  float sample_bits = 0;
  const auto& table = n_log2_n();
  for (size_t plane = 0; plane < width; ++plane) {
    float used = table[sampled];
    for (const uint16_t count : counts[plane]) used -= table[count];
    sample_bits += used;
  }
  return sample_bits * static_cast<float>(values.size()) / static_cast<float>(sampled) +
         descriptor_bits;
}

// `is_unsigned`: the integers are u64 bit patterns.
Transform choose_transform(std::span<const int64_t> values, bool is_unsigned) {
  int64_t min = values[0];
  uint64_t min_unsigned = static_cast<uint64_t>(values[0]);
  int64_t min_delta = std::numeric_limits<int64_t>::max();
  for (size_t i = 1; i < values.size(); ++i) {
    const auto value = static_cast<uint64_t>(values[i]);
    min = std::min(min, values[i]);
    min_unsigned = std::min(min_unsigned, value);
    min_delta =
        std::min(min_delta, static_cast<int64_t>(value - static_cast<uint64_t>(values[i - 1])));
  }
  const Transform plain{false, false, is_unsigned ? min_unsigned : static_cast<uint64_t>(min)};
  if (values.size() == 1) return plain;

  std::array<Transform, 4> candidates = {
      plain, {true, false, static_cast<uint64_t>(min_delta)}, {true, true, 0}, {false, true, 0}};
  // Zigzag can only win where there are negative numbers to fold in.
  const bool plain_zigzag = !is_unsigned && min < 0;
  Transform best = plain;
  float best_bits = std::numeric_limits<float>::max();
  for (const Transform& candidate : candidates) {
    if (candidate.zigzag && candidate.delta && min_delta >= 0) continue;
    if (candidate.zigzag && !candidate.delta && !plain_zigzag) continue;
    const float bits = estimate_bits(values, candidate);
    if (bits < best_bits) {
      best_bits = bits;
      best = candidate;
    }
  }
  return best;
}

// Whether every double (given as its bits) is an integer that survives the way to int64_t and back.
bool all_integral(std::span<const int64_t> bits) {
  for (const int64_t pattern : bits) {
    const auto value = std::bit_cast<double>(pattern);
    if (!(value >= -9.0e15 && value <= 9.0e15)) return false;
    const auto integer = static_cast<int64_t>(value);
    if (std::bit_cast<int64_t>(static_cast<double>(integer)) != pattern) return false;
  }
  return true;
}

}  // namespace

struct ColumnEncoder::Zstd {
  ZSTD_CCtx* context = ZSTD_createCCtx();
  ~Zstd() { ZSTD_freeCCtx(context); }
};

ColumnEncoder::ColumnEncoder(int zstd_level) : zstd_(std::make_unique<Zstd>()) {
  CHECK(zstd_->context != nullptr, "out of memory");
  ZSTD_CCtx_setParameter(zstd_->context, ZSTD_c_compressionLevel, zstd_level);
}

ColumnEncoder::~ColumnEncoder() = default;

template <typename T>
void ColumnEncoder::widen(std::span<const uint8_t> values) {
  integers_.resize(values.size() / sizeof(T));
  for (size_t i = 0; i < integers_.size(); ++i) {
    integers_[i] = static_cast<int64_t>(load_le<T>(values.data() + i * sizeof(T)));
  }
}

ColumnEntry ColumnEncoder::encode(uint16_t id, ColumnType type, std::span<const uint8_t> values,
                                  std::vector<uint8_t>& out) {
  ColumnEntry entry;
  entry.id = id;
  entry.type = type;
  if (values.empty()) return entry;

  switch (type) {
    case ColumnType::kU8:
      widen<uint8_t>(values);
      break;
    case ColumnType::kU16:
      widen<uint16_t>(values);
      break;
    case ColumnType::kU32:
    case ColumnType::kTextLengths:
      widen<uint32_t>(values);
      break;
    case ColumnType::kI32:
      widen<int32_t>(values);
      break;
    case ColumnType::kU64:
    case ColumnType::kI64:
    case ColumnType::kF64:
      widen<int64_t>(values);
      break;
  }
  const size_t count = integers_.size();
  CHECK(count > 0, "a column of a type that is not known");
  entry.values = static_cast<uint32_t>(count);
  Transform transform;
  if (type == ColumnType::kF64) {
    if (all_integral(integers_)) {
      entry.encoding |= kIntegral;
      for (int64_t& value : integers_) value = static_cast<int64_t>(std::bit_cast<double>(value));
      transform = choose_transform(integers_, false);
    }
  } else if (type != ColumnType::kU8) {  // bytes of texts stay as they are, for zstd to see
    transform = choose_transform(integers_, type == ColumnType::kU64);
  }

  const size_t body_start = out.size();
  if (transform.delta) {
    entry.encoding |= kDelta;
    append_le(out, integers_[0]);
  }
  if (transform.zigzag) {
    entry.encoding |= kZigzag;
  } else {
    append_le(out, transform.base);
  }
  residuals_.resize(count);
  uint64_t any_bits = 0;
  for (size_t i = 0; i < count; ++i) {
    residuals_[i] = transform.residual(integers_, i);
    any_bits |= residuals_[i];
  }
  entry.width = static_cast<uint8_t>((std::bit_width(any_bits) + 7) / 8);
  encode_residuals(count, entry.width, out);
  entry.body_bytes = static_cast<uint32_t>(out.size() - body_start);
  return entry;
}

void ColumnEncoder::encode_residuals(size_t count, uint8_t width, std::vector<uint8_t>& out) {
  const size_t descriptors = out.size();
  out.resize(descriptors + width * kPlaneDescriptorBytes);
  plane_.resize(count);
  for (uint8_t k = 0; k < width; ++k) {
    for (size_t i = 0; i < count; ++i) plane_[i] = static_cast<uint8_t>(residuals_[i] >> (8 * k));
    std::array<uint8_t, kPlaneDescriptorBytes> descriptor{};
    append_plane(plane_, descriptor.data(), out);
    std::copy(descriptor.begin(), descriptor.end(),
              out.begin() + static_cast<ptrdiff_t>(descriptors + k * kPlaneDescriptorBytes));
  }
}

void ColumnEncoder::append_plane(std::span<const uint8_t> plane, uint8_t* descriptor,
                                 std::vector<uint8_t>& out) {
  const bool constant =
      std::all_of(plane.begin(), plane.end(), [&](uint8_t byte) { return byte == plane[0]; });
  if (constant) {
    store_le(descriptor, PlaneMode::kConstant);
    descriptor[1] = plane[0];
    return;
  }
  std::span<const uint8_t> stored = plane;
  PlaneMode mode = PlaneMode::kRaw;
  if (plane.size() >= kFewValues) {
    compressed_.resize(ZSTD_compressBound(plane.size()));
    const size_t bytes = ZSTD_compress2(zstd_->context, compressed_.data(), compressed_.size(),
                                        plane.data(), plane.size());
    // A frame that saves next to nothing is not worth decoding.
    if (!ZSTD_isError(bytes) && bytes < plane.size() - plane.size() / 32) {
      stored = std::span<const uint8_t>(compressed_).first(bytes);
      mode = PlaneMode::kZstd;
    }
  }
  store_le(descriptor, mode);
  store_le(descriptor + 4, static_cast<uint32_t>(stored.size()));
  out.insert(out.end(), stored.begin(), stored.end());
}

}  // namespace stepscope::format
