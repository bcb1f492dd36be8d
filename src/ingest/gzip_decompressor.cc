#include <isa-l/igzip_lib.h>

#include <algorithm>
#include <limits>

#include "ingest/decompressor.h"

namespace stepscope {
namespace {

bool starts_gzip(std::string_view bytes) { return bytes.starts_with("\x1f\x8b"); }

std::string describe_isal_error(int error) {
  switch (error) {
    case ISAL_INVALID_BLOCK:
      return "invalid block";
    case ISAL_INVALID_SYMBOL:
      return "invalid symbol";
    case ISAL_INVALID_LOOKBACK:
      return "invalid distance";
    case ISAL_INVALID_WRAPPER:
      return "invalid header";
    case ISAL_UNSUPPORTED_METHOD:
      return "unknown compression method";
    case ISAL_INCORRECT_CHECKSUM:
      return "the checksum is wrong";
    default:
      return "error " + std::to_string(error);
  }
}

// Members follow each other (`cat a.gz b.gz`, bgzip, pigz); what follows the last and is not a
// member is padding or garbage that gzip itself also overlooks.
class GzipDecompressor final : public Decompressor {
 public:
  GzipDecompressor() { start_member(); }

  const char* name() const override { return "gzip"; }

  Result<size_t> decode(RawInput& input, std::span<char> into) override {
    size_t filled = 0;
    while (filled < into.size() && !finished_) {
      if (state_.block_state == ISAL_BLOCK_FINISH) {
        if (Status status = input.buffer_at_least(2); !status) return status;
        if (!starts_gzip(input.buffered())) {
          finished_ = true;
          break;
        }
        start_member();
      }
      if (input.buffered().empty()) {
        if (Status status = input.buffer_at_least(1); !status) return status;
      }
      const std::string_view in = input.buffered();
      const size_t room =
          std::min<size_t>(into.size() - filled, std::numeric_limits<int32_t>::max());
      // isal_inflate takes a pointer to mutable bytes but only reads them.
      state_.next_in = reinterpret_cast<uint8_t*>(const_cast<char*>(in.data()));
      state_.avail_in = static_cast<uint32_t>(in.size());
      state_.next_out = reinterpret_cast<uint8_t*>(into.data() + filled);
      state_.avail_out = static_cast<uint32_t>(room);
      const int error = isal_inflate(&state_);
      // At the end of a member it gives back what it has in its bit buffer, which may be more than
      // came in with this call.
      const bool gives_back = state_.avail_in > in.size();
      const size_t consumed = gives_back ? 0 : in.size() - state_.avail_in;
      const size_t produced = room - state_.avail_out;
      input.consume(consumed);
      filled += produced;
      if (gives_back && !input.give_back(state_.avail_in - in.size())) {
        finish("the gzip data is damaged (no way back)", input);
      } else if (error != ISAL_DECOMP_OK) {
        finish("the gzip data is damaged (" + describe_isal_error(error) + ")", input);
      } else if (consumed > 0 || produced > 0 || state_.block_state == ISAL_BLOCK_FINISH) {
        continue;
      } else if (in.empty()) {
        finish("the gzip data ends too early", input);
      } else {
        finish("the gzip data is damaged (no way forward)", input);
      }
    }
    return filled;
  }

 private:
  void start_member() {
    isal_inflate_init(&state_);
    state_.crc_flag = ISAL_GZIP;
  }

  void finish(const std::string& what, const RawInput& input) {
    finished_ = true;
    fault_ = what + ", at byte " + std::to_string(input.bytes_read() - input.buffered().size());
  }

  inflate_state state_;
  bool finished_ = false;
};

}  // namespace

std::unique_ptr<Decompressor> make_gzip_decompressor() {
  return std::make_unique<GzipDecompressor>();
}

std::unique_ptr<Decompressor> find_decompressor(std::string_view first_bytes) {
  if (starts_gzip(first_bytes)) return make_gzip_decompressor();
  const bool is_zstd = first_bytes.starts_with("\x28\xb5\x2f\xfd");
  const bool is_skippable_frame = first_bytes.size() >= 4 && (first_bytes[0] & 0xf0) == 0x50 &&
                                  first_bytes.substr(1, 3) == "\x2a\x4d\x18";
  if (is_zstd || is_skippable_frame) return make_zstd_decompressor();
  return nullptr;
}

}  // namespace stepscope
