// TraceEventText: the text of a trace-event file, put together field by field and handed to the
// output in large pieces.
//
//   TraceEventText to(out);
//   to.begin_event("X");
//   to.field("name", "aten::add");
//   to.field_us("ts", 1500);
//   to.end_event();              // {"ph":"X","name":"aten::add","ts":1.5}
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "export/json_text.h"
#include "export/output_file.h"

namespace stepscope {

class TraceEventText {
 public:
  explicit TraceEventText(OutputFile& out) : out_(out) {}

  // Whether the output takes more; where not, it is as well to stop.
  bool ok() const { return out_.ok(); }
  // For what is no event: appended to as it is.
  std::string& text() { return text_; }

  // A key beside "traceEvents".
  void key(std::string_view name) {
    if (!is_first_key_) text_ += ",\n";
    is_first_key_ = false;
    json::append_string(text_, name);
    text_ += ": ";
  }

  void begin_event(std::string_view phase) {
    flush_if_full();
    text_ += is_first_event_ ? "\n{\"ph\":\"" : ",\n{\"ph\":\"";
    is_first_event_ = false;
    text_ += phase;
    text_ += '"';
  }
  // With its arguments, where it has any.
  void end_event() {
    text_ += is_in_args_ ? "}}" : "}";
    is_in_args_ = false;
  }
  void field(std::string_view name, std::string_view value) {
    raw_key(name);
    json::append_string(text_, value);
  }
  void field_us(std::string_view name, int64_t ns) {
    raw_key(name);
    json::append_us(text_, ns);
  }
  void field_int(std::string_view name, int64_t value) {
    raw_key(name);
    json::append_int(text_, value);
  }
  void field_uint(std::string_view name, uint64_t value) {
    raw_key(name);
    json::append_uint(text_, value);
  }
  void raw_key(std::string_view name) {
    text_ += ",\"";
    text_ += name;
    text_ += "\":";
  }
  void begin_args() {
    text_ += ",\"args\":{";
    is_first_arg_ = is_in_args_ = true;
  }
  void arg_key(std::string_view name) {
    if (!is_first_arg_) text_ += ',';
    is_first_arg_ = false;
    json::append_string(text_, name);
    text_ += ':';
  }
  void arg(std::string_view name, std::string_view value) {
    arg_key(name);
    json::append_string(text_, value);
  }
  void arg_int(std::string_view name, int64_t value) {
    arg_key(name);
    json::append_int(text_, value);
  }
  // JSON text from a trace; where it would break the file it becomes a string.
  void json_value(std::string_view json) {
    if (json::is_value(json)) {
      text_ += json;
    } else {
      json::append_string(text_, json);
    }
  }

  void flush_if_full() {
    constexpr size_t kFlushBytes = 256 << 10;
    if (text_.size() <= kFlushBytes) return;
    out_.append(text_);
    text_.clear();
  }

  void finish() {
    out_.append(text_);
    text_.clear();
  }

 private:
  OutputFile& out_;
  std::string text_;
  bool is_first_key_ = true;
  bool is_first_event_ = true;
  bool is_first_arg_ = true;
  bool is_in_args_ = false;
};

}  // namespace stepscope
