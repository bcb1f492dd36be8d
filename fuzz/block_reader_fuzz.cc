// Arbitrary bytes as a .sscope file: every block found, every column decoded. Checksums are not
// checked, or nothing behind them would ever be reached; a second pass checks them, for the walk
// over damage.
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/check.h"
#include "format/block_reader.h"
#include "format/column_decoder.h"

namespace {

using namespace stepscope::format;

// Decoded bytes per input: a few bytes may stand for 64 MiB, which is right but slow.
constexpr uint64_t kMaxDecodedBytes = uint64_t{4} << 20;

template <typename T>
void decode(ColumnDecoder& decoder, const ColumnView& column) {
  std::vector<T> out(column.values());
  (void)decoder.decode(column, std::span<T>(out));
}

void decode_any(ColumnDecoder& decoder, const ColumnView& column) {
  switch (column.type()) {
    case ColumnType::kU8:
      return decode<uint8_t>(decoder, column);
    case ColumnType::kU16:
      return decode<uint16_t>(decoder, column);
    case ColumnType::kU32:
    case ColumnType::kTextLengths:
      return decode<uint32_t>(decoder, column);
    case ColumnType::kU64:
      return decode<uint64_t>(decoder, column);
    case ColumnType::kI32:
      return decode<int32_t>(decoder, column);
    case ColumnType::kI64:
      return decode<int64_t>(decoder, column);
    case ColumnType::kF64:
      return decode<double>(decoder, column);
  }
}

void read_all(std::span<const uint8_t> file, bool verify_checksums) {
  const auto reader = BlockReader::open(file, {.verify_checksums = verify_checksums});
  if (!reader) return;
  static ColumnDecoder decoder;
  uint64_t accounted = kFileHeaderBytes;
  uint64_t decoded_bytes = 0;
  for (const BlockInfo& info : reader->blocks()) {
    CHECK(info.offset + kBlockHeaderBytes + info.header.stored_bytes <= file.size(),
          "a block lies in the file");
    decoded_bytes += info.header.raw_bytes;
    if (decoded_bytes > kMaxDecodedBytes) break;
    const auto block = reader->read(info);
    if (!block) continue;
    for (const ColumnView& column : block->columns()) {
      decode_any(decoder, column);
      if (column.type() == ColumnType::kTextLengths) {
        TextColumn texts;
        if (decoder.decode_text(*block, Column{column.entry.id}, texts)) {
          for (size_t i = 0; i < texts.size(); ++i) {
            CHECK(texts[i].data() + texts[i].size() <= texts.bytes.data() + texts.bytes.size(),
                  "a text lies in its bytes");
          }
        }
      }
    }
  }
  const ReadReport report = reader->report();
  for (const BlockInfo& info : reader->blocks()) {
    const uint64_t left = file.size() - info.offset;
    const uint64_t extent = block_extent(info.header.stored_bytes);
    accounted += extent < left ? extent : left;
  }
  // Damaged payloads are counted in both; the rest of the file is either a block or lost or torn.
  CHECK(accounted + report.bytes_lost + report.torn_tail_bytes >= file.size(),
        "every byte is accounted for");
  (void)to_string(report);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  read_all({data, size}, false);
  read_all({data, size}, true);
  return 0;
}
