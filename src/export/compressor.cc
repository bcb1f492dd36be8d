#include <isa-l/igzip_lib.h>
#include <zstd.h>

#include <algorithm>
#include <vector>

#include "base/check.h"
#include "export/output_file.h"

namespace stepscope {
namespace {

constexpr size_t kOutBytes = 256 << 10;

class GzipCompressor final : public Compressor {
 public:
  GzipCompressor() : level_buffer_(ISAL_DEF_LVL2_DEFAULT), out_(kOutBytes) {
    isal_deflate_init(&stream_);
    stream_.level = 2;
    stream_.level_buf = level_buffer_.data();
    stream_.level_buf_size = static_cast<uint32_t>(level_buffer_.size());
    stream_.gzip_flag = IGZIP_GZIP;
    stream_.flush = NO_FLUSH;
  }

  bool compress(std::string_view bytes, bool is_last, std::string& out) override {
    constexpr size_t kMaxInput = 1 << 30;  // its lengths have 32 bits
    do {
      const std::string_view part = bytes.substr(0, std::min(bytes.size(), kMaxInput));
      bytes.remove_prefix(part.size());
      stream_.next_in = reinterpret_cast<uint8_t*>(const_cast<char*>(part.data()));
      stream_.avail_in = static_cast<uint32_t>(part.size());
      stream_.end_of_stream = is_last && bytes.empty() ? 1 : 0;
      do {
        stream_.next_out = out_.data();
        stream_.avail_out = static_cast<uint32_t>(out_.size());
        if (isal_deflate(&stream_) != COMP_OK) return false;
        out.append(reinterpret_cast<char*>(out_.data()), out_.size() - stream_.avail_out);
      } while (stream_.avail_out == 0);
      if (stream_.avail_in != 0) return false;
    } while (!bytes.empty());
    return !is_last || stream_.internal_state.state == ZSTATE_END;
  }

 private:
  isal_zstream stream_;
  std::vector<uint8_t> level_buffer_;
  std::vector<uint8_t> out_;
};

class ZstdCompressor final : public Compressor {
 public:
  ZstdCompressor() : context_(ZSTD_createCCtx()), out_(ZSTD_CStreamOutSize()) {
    CHECK(context_ != nullptr, "out of memory for a zstd stream");
    ZSTD_CCtx_setParameter(context_, ZSTD_c_checksumFlag, 1);
  }
  ~ZstdCompressor() override { ZSTD_freeCCtx(context_); }
  ZstdCompressor(const ZstdCompressor&) = delete;
  ZstdCompressor& operator=(const ZstdCompressor&) = delete;

  bool compress(std::string_view bytes, bool is_last, std::string& out) override {
    ZSTD_inBuffer in{bytes.data(), bytes.size(), 0};
    while (true) {
      ZSTD_outBuffer part{out_.data(), out_.size(), 0};
      const size_t left =
          ZSTD_compressStream2(context_, &part, &in, is_last ? ZSTD_e_end : ZSTD_e_continue);
      if (ZSTD_isError(left)) return false;
      out.append(out_.data(), part.pos);
      if (is_last ? left == 0 : in.pos == in.size) return true;
    }
  }

 private:
  ZSTD_CCtx* context_;
  std::vector<char> out_;
};

}  // namespace

std::unique_ptr<Compressor> make_gzip_compressor() { return std::make_unique<GzipCompressor>(); }
std::unique_ptr<Compressor> make_zstd_compressor() { return std::make_unique<ZstdCompressor>(); }

}  // namespace stepscope
