// Little-endian loads and stores, and ByteReader, a cursor over untrusted bytes that never reads
// past its end. All files that Stepscope writes are little-endian; loads and stores need no
// alignment.
//
//   ByteReader in(bytes);
//   uint32_t count = in.read<uint32_t>();
//   auto body = in.take(count);
//   if (in.failed()) return Status::error("cut short");
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>
#include <vector>

namespace stepscope {

static_assert(std::endian::native == std::endian::little,
              "loads and stores below would need a byte swap on this machine");

template <typename T>
  requires std::is_trivially_copyable_v<T>
T load_le(const uint8_t* from) {
  T value;
  std::memcpy(&value, from, sizeof(T));
  return value;
}

template <typename T>
  requires std::is_trivially_copyable_v<T>
void store_le(uint8_t* to, T value) {
  std::memcpy(to, &value, sizeof(T));
}

template <typename T>
void append_le(std::vector<uint8_t>& to, T value) {
  const size_t at = to.size();
  to.resize(at + sizeof(T));
  store_le(to.data() + at, value);
}

// `bytes` rounded up to a multiple of eight. The caller keeps `bytes` below 2^64 - 7.
constexpr uint64_t align_to_8(uint64_t bytes) { return (bytes + 7) & ~uint64_t{7}; }

// Sticky failure: after the first read past the end every read gives zero or an empty span, so that
// a parser may check once after a group of reads. Borrows the bytes.
class ByteReader {
 public:
  explicit ByteReader(std::span<const uint8_t> bytes) : bytes_(bytes) {}

  bool failed() const { return failed_; }
  size_t offset() const { return offset_; }
  size_t remaining() const { return bytes_.size() - offset_; }

  template <typename T>
  T read() {
    const auto from = take(sizeof(T));
    return from.empty() ? T{} : load_le<T>(from.data());
  }

  std::span<const uint8_t> take(uint64_t count) {
    if (failed_ || count > remaining()) {
      failed_ = true;
      return {};
    }
    const auto taken = bytes_.subspan(offset_, static_cast<size_t>(count));
    offset_ += static_cast<size_t>(count);
    return taken;
  }

 private:
  std::span<const uint8_t> bytes_;
  size_t offset_ = 0;
  bool failed_ = false;
};

}  // namespace stepscope
