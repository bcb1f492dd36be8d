#include "serve/html_file.h"

#include <utility>

#include "base/check.h"
#include "base/sha256.h"
#include "export/utf8_text.h"
#include "serve/base64.h"
#include "serve/json_writer.h"
#include "serve/page.h"

namespace stepscope::serve {
namespace {

// Of the element around a block, and of what is between entries of the index.
constexpr uint64_t kElementBytes = 80;
// For the index without its entries: lines about what was left out, and the end of the page.
constexpr uint64_t kReservedBytes = 32 << 10;
constexpr size_t kMaxLines = 100;
constexpr size_t kMaxLineBytes = 200;

std::string_view page_text(std::string_view name) {
  for (const PageFile& file : page_files()) {
    if (file.name == name) return file.text;
  }
  return {};
}

std::string hash_source(std::string_view text) {
  return "'sha256-" + to_base64(sha256(text)) + "'";
}

// A script or a style stands in the file as it is: what would end its element must not be in it.
bool can_inline(std::string_view text) {
  for (const std::string_view end : {"</script", "</style", "<!--"}) {
    if (text.find(end) != std::string_view::npos) return false;
  }
  return true;
}

std::string make_head(std::string_view title, std::string_view script, std::string_view style) {
  std::string head =
      "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; script-src ";
  head += hash_source(script) + "; style-src " + hash_source(style);
  head +=
      "; img-src data:; base-uri 'none'; form-action 'none'\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta name=\"color-scheme\" content=\"light dark\">\n"
      "<meta name=\"referrer\" content=\"no-referrer\">\n"
      "<link rel=\"icon\" href=\"data:,\">\n<title>";
  append_xml(head, title);
  head += " – Stepscope</title>\n<style>";
  head += style;
  head += "</style>\n<script type=\"module\">";
  head += script;
  head +=
      "</script>\n</head>\n<body>\n<div id=\"page\"></div>\n"
      "<noscript>This page needs JavaScript.</noscript>\n";
  return head;
}

}  // namespace

uint64_t HtmlBlock::bytes() const { return text.size() + entry.size() + kElementBytes; }

Result<std::unique_ptr<HtmlFile>> HtmlFile::create(const std::string& path, std::string_view title,
                                                   uint64_t max_bytes) {
  const std::string_view script = page_text("app.js"), style = page_text("app.css");
  if (script.empty()) {
    return Status::error(
        "this stepscope was built without its page: install Node.js 20.19 or newer with npm, then "
        "build it again");
  }
  CHECK(can_inline(script) && can_inline(style), "the page holds what would end its element");
  const std::string head = make_head(title, script, style);
  const uint64_t least = head.size() + kReservedBytes;
  if (max_bytes < least) {
    return Status::error(path + ": the page alone takes " + std::to_string(least) +
                         " bytes, and may take " + std::to_string(max_bytes));
  }
  auto out = OutputFile::create(path);
  if (!out) return out.status();
  std::unique_ptr<HtmlFile> file(new HtmlFile(*std::move(out)));
  file->out_->append(head);
  file->bytes_left_ = max_bytes - least;
  return file;
}

HtmlBlock HtmlFile::pack(std::string entry, std::string_view bytes) {
  std::string packed;
  CHECK(make_gzip_compressor()->compress(bytes, true, packed), "gzip of bytes in memory failed");
  return {std::move(entry), to_base64(packed)};
}

bool HtmlFile::add(const HtmlBlock& block) {
  if (block.bytes() > bytes_left_ || !ok()) return false;
  bytes_left_ -= block.bytes();
  append_block(std::to_string(blocks_++), block.text);
  if (!index_.empty()) index_ += ",\n";
  index_ += block.entry;
  return true;
}

Status HtmlFile::finish(const std::vector<std::string>& left_out) {
  JsonWriter json;
  json.begin_object();
  json.key("left_out").begin_array();
  for (size_t i = 0; i < left_out.size() && i < kMaxLines; ++i) {
    json.value(std::string_view(left_out[i]).substr(0, kMaxLineBytes));
  }
  json.end_array();
  json.key("blocks").begin_array();
  if (!index_.empty()) json.raw(index_);
  json.end_array();
  json.end_object();
  append_block("index", pack({}, std::move(json).text()).text);
  out_->append("</body>\n</html>\n");
  return out_->finish();
}

void HtmlFile::append_block(std::string_view id, std::string_view text) {
  out_->append("<script type=\"application/octet-stream\" id=\"stepscope-");
  out_->append(id);
  out_->append("\">");
  out_->append(text);
  out_->append("</script>\n");
}

}  // namespace stepscope::serve
