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

template <typename Word>
using Signed = std::make_signed_t<Word>;

// How values become residuals. `base` is subtracted unless zigzag. All is modulo the Word: a column
// of at most 32 bits per value is worked on in 32, which its reader, who cuts to the type in the
// end, can not tell from 64.
template <typename Word>
struct Transform {
  bool delta = false;
  bool zigzag = false;
  Word base = 0;

  Word residual(std::span<const Word> values, size_t i) const {
    if (i == 0) return delta ? 0 : apply(values[0], 0);
    return apply(values[i], values[i - 1]);
  }
  Word apply(Word value, Word before) const {
    if (delta) value -= before;
    if (!zigzag) return value - base;
    constexpr int kSignBit = 8 * sizeof(Word) - 1;
    return (value << 1) ^ static_cast<Word>(static_cast<Signed<Word>>(value) >> kSignBit);
  }
};

namespace {

constexpr size_t kSampleRuns = 16;
constexpr size_t kSampleRunLength = 128;
constexpr size_t kSampleValues = kSampleRuns * kSampleRunLength;
// Below this many values entropy says nothing, and a zstd frame costs more than it saves.
constexpr size_t kFewValues = 64;

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
template <typename Word>
float estimate_bits(std::span<const Word> values, const Transform<Word>& transform) {
  std::array<std::array<uint16_t, 256>, sizeof(Word)> counts{};
  size_t sampled = 0;
  Word any_bits = 0;
  const size_t runs = values.size() <= kSampleValues ? 1 : kSampleRuns;
  const size_t run_length = runs == 1 ? values.size() : kSampleRunLength;
  for (size_t run = 0; run < runs; ++run) {
    const size_t from = runs == 1 ? 0 : run * (values.size() - run_length) / (runs - 1);
    for (size_t i = from; i < from + run_length; ++i) {
      const Word residual = transform.residual(values, i);
      any_bits |= residual;
      for (size_t plane = 0; plane < sizeof(Word); ++plane) {
        ++counts[plane][(residual >> (8 * plane)) & 0xFF];
      }
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

// `is_unsigned`: of the column's type; the values are its bit patterns.
template <typename Word>
Transform<Word> choose_transform(std::span<const Word> values, bool is_unsigned) {
  auto min = static_cast<Signed<Word>>(values[0]);
  Word min_unsigned = values[0];
  auto min_delta = std::numeric_limits<Signed<Word>>::max();
  for (size_t i = 1; i < values.size(); ++i) {
    min = std::min(min, static_cast<Signed<Word>>(values[i]));
    min_unsigned = std::min(min_unsigned, values[i]);
    min_delta = std::min(min_delta, static_cast<Signed<Word>>(values[i] - values[i - 1]));
  }
  const Transform<Word> plain{false, false, is_unsigned ? min_unsigned : static_cast<Word>(min)};
  if (values.size() == 1) return plain;

  const std::array<Transform<Word>, 4> candidates = {
      plain, {true, false, static_cast<Word>(min_delta)}, {true, true, 0}, {false, true, 0}};
  // Zigzag can only win where there are negative numbers to fold in.
  const bool plain_zigzag = !is_unsigned && min < 0;
  Transform<Word> best = plain;
  float best_bits = std::numeric_limits<float>::max();
  for (const Transform<Word>& candidate : candidates) {
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
bool all_integral(std::span<const uint64_t> bits) {
  for (const uint64_t pattern : bits) {
    const auto value = std::bit_cast<double>(pattern);
    if (!(value >= -9.0e15 && value <= 9.0e15)) return false;
    const auto integer = static_cast<int64_t>(value);
    if (std::bit_cast<uint64_t>(static_cast<double>(integer)) != pattern) return false;
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

template <typename T, typename Word>
void ColumnEncoder::widen(std::span<const uint8_t> values, std::vector<Word>& words) {
  words.resize(values.size() / sizeof(T));
  if constexpr (sizeof(T) == sizeof(Word)) {
    std::memcpy(words.data(), values.data(), words.size() * sizeof(T));
  } else {
    for (size_t i = 0; i < words.size(); ++i) words[i] = load_le<T>(values.data() + i * sizeof(T));
  }
}

ColumnEntry ColumnEncoder::encode(uint16_t id, ColumnType type, std::span<const uint8_t> values,
                                  std::vector<uint8_t>& out) {
  ColumnEntry entry;
  entry.id = id;
  entry.type = type;
  if (values.empty()) return entry;

  const size_t body_start = out.size();
  switch (type) {
    case ColumnType::kU8:  // bytes of texts stay as they are, for zstd to see
      widen<uint8_t>(values, words32_);
      encode_words<uint32_t>(words32_, {}, residuals32_, entry, out);
      break;
    case ColumnType::kU16:
      widen<uint16_t>(values, words32_);
      encode_words<uint32_t>(words32_, choose_transform<uint32_t>(words32_, true), residuals32_,
                             entry, out);
      break;
    case ColumnType::kU32:
    case ColumnType::kTextLengths:
      widen<uint32_t>(values, words32_);
      encode_words<uint32_t>(words32_, choose_transform<uint32_t>(words32_, true), residuals32_,
                             entry, out);
      break;
    case ColumnType::kI32:
      widen<uint32_t>(values, words32_);
      encode_words<uint32_t>(words32_, choose_transform<uint32_t>(words32_, false), residuals32_,
                             entry, out);
      break;
    case ColumnType::kU64:
    case ColumnType::kI64:
      widen<uint64_t>(values, words64_);
      encode_words<uint64_t>(words64_,
                             choose_transform<uint64_t>(words64_, type == ColumnType::kU64),
                             residuals64_, entry, out);
      break;
    case ColumnType::kF64:
      widen<uint64_t>(values, words64_);
      encode_doubles(entry, out);
      break;
  }
  entry.body_bytes = static_cast<uint32_t>(out.size() - body_start);
  return entry;
}

void ColumnEncoder::encode_doubles(ColumnEntry& entry, std::vector<uint8_t>& out) {
  Transform<uint64_t> transform;
  if (all_integral(words64_)) {
    entry.encoding |= kIntegral;
    for (uint64_t& word : words64_) {
      word = static_cast<uint64_t>(static_cast<int64_t>(std::bit_cast<double>(word)));
    }
    transform = choose_transform<uint64_t>(words64_, false);
  }
  encode_words<uint64_t>(words64_, transform, residuals64_, entry, out);
}

template <typename Word>
void ColumnEncoder::encode_words(std::span<const Word> words, const Transform<Word>& transform,
                                 std::vector<Word>& residuals, ColumnEntry& entry,
                                 std::vector<uint8_t>& out) {
  entry.values = static_cast<uint32_t>(words.size());
  if (transform.delta) {
    entry.encoding |= kDelta;
    append_le(out, uint64_t{words[0]});
  }
  if (transform.zigzag) {
    entry.encoding |= kZigzag;
  } else {
    append_le(out, uint64_t{transform.base});
  }
  residuals.resize(words.size());
  residuals[0] = transform.residual(words, 0);
  // Told apart outside of the loops, so that the compiler sees simple ones.
  const auto fill = [&](const Transform<Word> how) {
    const Word* from = words.data();
    Word* __restrict to = residuals.data();
    for (size_t i = 1; i < words.size(); ++i) to[i] = how.apply(from[i], from[i - 1]);
  };
  if (!transform.delta) {
    transform.zigzag ? fill({false, true, 0}) : fill({false, false, transform.base});
  } else {
    transform.zigzag ? fill({true, true, 0}) : fill({true, false, transform.base});
  }
  Word any_bits = 0;
  for (const Word residual : residuals) any_bits |= residual;
  entry.width = static_cast<uint8_t>((std::bit_width(any_bits) + 7) / 8);
  encode_planes<Word>(residuals, entry.width, out);
}

template <typename Word>
void ColumnEncoder::encode_planes(std::span<const Word> residuals, uint8_t width,
                                  std::vector<uint8_t>& out) {
  const size_t descriptors = out.size();
  out.resize(descriptors + width * kPlaneDescriptorBytes);
  plane_.resize(residuals.size());
  for (uint8_t k = 0; k < width; ++k) {
    const int shift = 8 * k;
    const Word* from = residuals.data();
    uint8_t* __restrict to = plane_.data();  // a byte may alias anything, the compiler must fear
    for (size_t i = 0; i < residuals.size(); ++i) to[i] = static_cast<uint8_t>(from[i] >> shift);
    std::array<uint8_t, kPlaneDescriptorBytes> descriptor{};
    append_plane(plane_, descriptor.data(), out);
    std::copy(descriptor.begin(), descriptor.end(),
              out.begin() + static_cast<ptrdiff_t>(descriptors + k * kPlaneDescriptorBytes));
  }
}

void ColumnEncoder::append_plane(std::span<const uint8_t> plane, uint8_t* descriptor,
                                 std::vector<uint8_t>& out) {
  // Every byte is the one before it.
  if (std::memcmp(plane.data(), plane.data() + 1, plane.size() - 1) == 0) {
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
