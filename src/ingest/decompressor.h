// Decompressor: one compressed format, decoded as it streams by. ByteSource picks one by magic
// bytes.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/status.h"
#include "ingest/raw_input.h"

namespace stepscope {

class Decompressor {
 public:
  virtual ~Decompressor() = default;
  virtual const char* name() const = 0;

  // Fills `into` whole, or less at the end of the data. Where the data is cut or damaged, gives
  // what comes before, then 0, and fault() says what is wrong. An error is one of the system.
  virtual Result<size_t> decode(RawInput& input, std::span<char> into) = 0;
  const std::string& fault() const { return fault_; }

 protected:
  std::string fault_;
};

// The one for data that begins so; null where it is not compressed.
std::unique_ptr<Decompressor> find_decompressor(std::string_view first_bytes);
std::unique_ptr<Decompressor> make_gzip_decompressor();
std::unique_ptr<Decompressor> make_zstd_decompressor();

}  // namespace stepscope
