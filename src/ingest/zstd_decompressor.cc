#include <zstd.h>

#include "base/check.h"
#include "ingest/decompressor.h"

namespace stepscope {
namespace {

// Frames follow each other, skippable ones among them (pzstd, seekable zstd). The window is limited
// to zstd's own default of 128 MB, so that a small hostile file can not ask for gigabytes.
class ZstdDecompressor final : public Decompressor {
 public:
  ZstdDecompressor() : stream_(ZSTD_createDStream()) {
    CHECK(stream_ != nullptr, "out of memory for a zstd stream");
  }
  ~ZstdDecompressor() override { ZSTD_freeDStream(stream_); }
  ZstdDecompressor(const ZstdDecompressor&) = delete;
  ZstdDecompressor& operator=(const ZstdDecompressor&) = delete;

  const char* name() const override { return "zstd"; }

  Result<size_t> decode(RawInput& input, std::span<char> into) override {
    ZSTD_outBuffer out{into.data(), into.size(), 0};
    while (out.pos < out.size && !finished_) {
      if (input.buffered().empty()) {
        if (Status status = input.buffer_at_least(1); !status) return status;
      }
      const std::string_view bytes = input.buffered();
      if (bytes.empty() && between_frames_) {
        finished_ = true;
        break;
      }
      ZSTD_inBuffer in{bytes.data(), bytes.size(), 0};
      const size_t out_before = out.pos;
      const size_t hint = ZSTD_decompressStream(stream_, &out, &in);
      input.consume(in.pos);
      if (ZSTD_isError(hint)) {
        // Garbage after the last frame is overlooked, as gzip does.
        finished_ = true;
        if (!between_frames_ || frames_ == 0) {
          set_fault(std::string("the zstd data is damaged (") + ZSTD_getErrorName(hint) + ")",
                    input);
        }
        break;
      }
      if (hint == 0) {
        between_frames_ = true;
        ++frames_;
      } else if (in.pos > 0 || out.pos > out_before) {
        between_frames_ = false;
      }
      if (bytes.empty() && out.pos == out_before) {
        finished_ = true;
        if (!between_frames_) set_fault("the zstd data ends too early", input);
      }
    }
    return out.pos;
  }

 private:
  void set_fault(const std::string& what, const RawInput& input) {
    fault_ = what + ", at byte " + std::to_string(input.bytes_read() - input.buffered().size());
  }

  ZSTD_DStream* stream_;
  bool between_frames_ = true;
  uint64_t frames_ = 0;
  bool finished_ = false;
};

}  // namespace

std::unique_ptr<Decompressor> make_zstd_decompressor() {
  return std::make_unique<ZstdDecompressor>();
}

}  // namespace stepscope
