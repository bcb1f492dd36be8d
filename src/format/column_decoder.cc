#include "format/column_decoder.h"

#include <zstd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <string>

#include "base/bytes.h"
#include "base/check.h"

namespace stepscope::format {
namespace {

Status bad_column(uint16_t id, const char* why) {
  return Status::error("column " + std::to_string(id) + ": " + why);
}

// out[i] = residual i, put together from its bytes; then minus zigzag or plus base. All modulo
// 2^bits of Word. Width is a template parameter so that the loop has no branch and the compiler
// vectorises it.
template <size_t Width, typename Word>
void join_planes(const uint8_t* const* planes, size_t count, bool is_zigzag, uint64_t base,
                 Word* __restrict out) {
  std::array<const uint8_t*, 8> plane{};
  std::copy_n(planes, Width, plane.begin());
  const auto join = [&](size_t i) {
    Word residual = 0;
    for (size_t k = 0; k < Width; ++k) {
      residual = static_cast<Word>(residual | (static_cast<Word>(plane[k][i]) << (8 * k)));
    }
    return residual;
  };
  if (is_zigzag) {
    for (size_t i = 0; i < count; ++i) {
      const Word residual = join(i);
      out[i] = static_cast<Word>((residual >> 1) ^ (Word{0} - (residual & 1)));
    }
  } else {
    const auto offset = static_cast<Word>(base);
    for (size_t i = 0; i < count; ++i) out[i] = static_cast<Word>(join(i) + offset);
  }
}

// Residuals as Word. Word has at least `width` bytes.
template <typename Word>
void join_any_width(const uint8_t* const* planes, uint8_t width, size_t count, bool is_zigzag,
                    uint64_t base, Word* out) {
  const auto join = [&]<size_t kWidth>() {
    if constexpr (kWidth <= sizeof(Word)) {
      join_planes<kWidth, Word>(planes, count, is_zigzag, base, out);
    }
  };
  switch (width) {
    case 0:
      return join.template operator()<0>();
    case 1:
      return join.template operator()<1>();
    case 2:
      return join.template operator()<2>();
    case 3:
      return join.template operator()<3>();
    case 4:
      return join.template operator()<4>();
    case 5:
      return join.template operator()<5>();
    case 6:
      return join.template operator()<6>();
    case 7:
      return join.template operator()<7>();
    case 8:
      return join.template operator()<8>();
    default:
      CHECK(false, "max_planes is at most 8");
  }
}

template <typename Word>
void sum_up(Word first, std::span<Word> values) {
  if (values.empty()) return;
  Word running = first;
  values[0] = running;
  for (size_t i = 1; i < values.size(); ++i) {
    running = static_cast<Word>(running + values[i]);
    values[i] = running;
  }
}

template <typename T>
bool holds(ColumnType type) {
  return type == column_type_of<T>() ||
         (std::is_same_v<T, uint32_t> && type == ColumnType::kTextLengths);
}

}  // namespace

struct ColumnDecoder::Zstd {
  ZSTD_DCtx* context = ZSTD_createDCtx();
  ~Zstd() { ZSTD_freeDCtx(context); }
};

ColumnDecoder::ColumnDecoder() : zstd_(std::make_unique<Zstd>()) {
  CHECK(zstd_->context != nullptr, "out of memory");
}

ColumnDecoder::~ColumnDecoder() = default;

Status ColumnDecoder::load_planes(const ColumnView& column, size_t params_bytes,
                                  const uint8_t** planes) {
  const uint16_t id = column.entry.id;
  const size_t count = column.entry.values;
  const size_t width = column.entry.width;
  ByteReader body(column.body);
  body.take(params_bytes);
  ByteReader descriptors(body.take(width * kPlaneDescriptorBytes));
  if (body.failed()) return bad_column(id, "cut short in its plane descriptors");
  // At most twice the column's raw bytes, which parse_block has bounded: see max_planes.
  scratch_.resize(width * count);
  for (size_t k = 0; k < width; ++k) {
    const auto mode = descriptors.read<PlaneMode>();
    const auto constant = descriptors.read<uint8_t>();
    descriptors.take(2);
    const auto stored = body.take(descriptors.read<uint32_t>());
    if (body.failed()) return bad_column(id, "cut short in a plane");
    uint8_t* plane = scratch_.data() + k * count;
    switch (mode) {
      case PlaneMode::kConstant:
        std::memset(plane, constant, count);
        planes[k] = plane;
        break;
      case PlaneMode::kRaw:
        if (stored.size() != count) return bad_column(id, "a raw plane has a wrong length");
        planes[k] = stored.data();
        break;
      case PlaneMode::kZstd: {
        const size_t got =
            ZSTD_decompressDCtx(zstd_->context, plane, count, stored.data(), stored.size());
        if (ZSTD_isError(got)) return bad_column(id, ZSTD_getErrorName(got));
        if (got != count) return bad_column(id, "a plane decompresses to a wrong length");
        planes[k] = plane;
        break;
      }
      default:
        return bad_column(id, "unknown plane mode (written by a newer version?)");
    }
  }
  return {};
}

template <typename T>
Status ColumnDecoder::decode_plain(const ColumnView& column, std::span<T> out) {
  const ColumnEntry& entry = column.entry;
  if (!holds<T>(entry.type)) return bad_column(entry.id, "is of another type than expected");
  if (out.size() != entry.values) return bad_column(entry.id, "has another number of values");
  if ((entry.encoding & ~kKnownEncodingBits) != 0 || entry.width > max_planes(entry.type)) {
    return bad_column(entry.id, "unknown encoding (written by a newer version?)");
  }
  if (out.empty()) return {};

  const bool is_delta = (entry.encoding & kDelta) != 0;
  const bool is_zigzag = (entry.encoding & kZigzag) != 0;
  ByteReader params(column.body);
  const auto first = is_delta ? params.read<uint64_t>() : 0;
  const auto base = is_zigzag ? 0 : params.read<uint64_t>();
  if (params.failed()) return bad_column(entry.id, "cut short in its parameters");
  std::array<const uint8_t*, kMaxPlanes> planes{};
  if (Status status = load_planes(column, params.offset(), planes.data()); !status) return status;

  if constexpr (sizeof(T) < 8) {
    if (entry.width <= sizeof(T)) {
      using Word = std::make_unsigned_t<T>;
      const std::span<Word> words(reinterpret_cast<Word*>(out.data()), out.size());
      join_any_width<Word>(planes.data(), entry.width, out.size(), is_zigzag, base, words.data());
      if (is_delta) sum_up(static_cast<Word>(first), words);
      return {};
    }
  }
  std::span<uint64_t> words;
  if constexpr (sizeof(T) == 8 && !std::is_same_v<T, double>) {
    words = {reinterpret_cast<uint64_t*>(out.data()), out.size()};  // int64_t may alias uint64_t
  } else {
    wide_.resize(out.size());
    words = wide_;
  }
  join_any_width<uint64_t>(planes.data(), entry.width, out.size(), is_zigzag, base, words.data());
  if (is_delta) sum_up(first, words);
  if constexpr (std::is_same_v<T, double>) {
    const bool integral = (entry.encoding & kIntegral) != 0;
    std::transform(words.begin(), words.end(), out.begin(), [&](uint64_t word) {
      return integral ? static_cast<double>(static_cast<int64_t>(word))
                      : std::bit_cast<double>(word);
    });
  } else if constexpr (sizeof(T) < 8) {
    std::transform(words.begin(), words.end(), out.begin(),
                   [](uint64_t word) { return static_cast<T>(word); });
  }
  return {};
}

template Status ColumnDecoder::decode_plain(const ColumnView&, std::span<uint8_t>);
template Status ColumnDecoder::decode_plain(const ColumnView&, std::span<uint16_t>);
template Status ColumnDecoder::decode_plain(const ColumnView&, std::span<uint32_t>);
template Status ColumnDecoder::decode_plain(const ColumnView&, std::span<uint64_t>);
template Status ColumnDecoder::decode_plain(const ColumnView&, std::span<int32_t>);
template Status ColumnDecoder::decode_plain(const ColumnView&, std::span<int64_t>);
template Status ColumnDecoder::decode_plain(const ColumnView&, std::span<double>);

Status ColumnDecoder::check_rows(const BlockView& block, Column column) const {
  const ColumnView* view = block.find(column);
  if (view == nullptr) return bad_column(static_cast<uint16_t>(column), "is missing");
  if (view->values() != block.rows()) {
    return bad_column(view->entry.id, "has not one value per row");
  }
  return {};
}

Status ColumnDecoder::check_one(const BlockView& block, Column column) const {
  const ColumnView* view = block.find(column);
  if (view == nullptr) return bad_column(static_cast<uint16_t>(column), "is missing");
  if (view->values() != 1) return bad_column(view->entry.id, "has not exactly one value");
  return {};
}

Status ColumnDecoder::decode_text(const BlockView& block, Column column, TextColumn& out) {
  const auto id = static_cast<uint16_t>(column);
  const ColumnView* lengths = block.find(id);
  const ColumnView* bytes = block.find(static_cast<uint16_t>(id + kTextBytesOffset));
  if (lengths == nullptr || bytes == nullptr || lengths->type() != ColumnType::kTextLengths) {
    return bad_column(id, "is missing or is no text");
  }
  out.offsets.resize(size_t{lengths->values()} + 1);
  out.offsets[0] = 0;
  if (Status status = decode(*lengths, std::span(out.offsets).subspan(1)); !status) return status;
  uint64_t end = 0;
  for (size_t i = 1; i < out.offsets.size(); ++i) {
    end += out.offsets[i];
    if (end > bytes->values()) return bad_column(id, "texts reach past their bytes");
    out.offsets[i] = static_cast<uint32_t>(end);
  }
  out.bytes.resize(bytes->values());
  return decode(*bytes, std::span(reinterpret_cast<uint8_t*>(out.bytes.data()), out.bytes.size()));
}

}  // namespace stepscope::format
