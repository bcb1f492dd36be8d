// How a table goes out. Each format is one file; this is the front that the command line uses.
//
//   const auto print = [](std::string_view chunk) { std::fwrite(…, stdout); };
//   render_table(table, *find_table_format("json"), {.width = 120, .color = true}, print);
//
// A renderer gives its text in chunks of about 64 KiB, so that a table of millions of rows needs no
// second copy of itself in memory.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "analyze/table.h"

namespace stepscope {

using TextSink = std::function<void(std::string_view chunk)>;

enum class TableFormat { kText, kJson, kCsv, kMarkdown };
inline constexpr std::string_view kTableFormatNames = "text, json, csv, md";
std::optional<TableFormat> find_table_format(std::string_view name);

struct TextStyle {
  size_t width = 100;  // columns of the terminal; 0: as wide as it takes
  bool color = false;
};

void render_table(const Table& table, TableFormat format, const TextStyle& style,
                  const TextSink& sink);
std::string render_table(const Table& table, TableFormat format, const TextStyle& style = {});

// Collects text and hands it to the sink in chunks; what is left when it goes away, too.
class ChunkedText {
 public:
  explicit ChunkedText(const TextSink& sink) : sink_(sink) { text_.reserve(kChunkBytes + 4096); }
  ChunkedText(const ChunkedText&) = delete;
  ChunkedText& operator=(const ChunkedText&) = delete;
  ~ChunkedText() { flush(); }

  // Append here; call end_row() now and then.
  std::string& text() { return text_; }
  void end_row() {
    if (text_.size() >= kChunkBytes) flush();
  }

 private:
  static constexpr size_t kChunkBytes = 64 << 10;

  void flush() {
    if (!text_.empty()) sink_(text_);
    text_.clear();
  }

  const TextSink& sink_;
  std::string text_;
};

}  // namespace stepscope
