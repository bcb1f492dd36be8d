// JsonWriter: JSON as it goes, with the commas in their places.
//
//   JsonWriter json;
//   json.begin_object();
//   json.field("name", "conv2d");
//   json.key("ids").begin_array();
//   for (int64_t id : ids) json.value(id);
//   json.end_array();
//   json.end_object();
//   std::string text = std::move(json).text();
#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "export/json_text.h"

namespace stepscope::serve {

class JsonWriter {
 public:
  void begin_object() { begin('{'); }
  void end_object() { end('}'); }
  void begin_array() { begin('['); }
  void end_array() { end(']'); }

  JsonWriter& key(std::string_view name) {
    separate();
    json::append_string(text_, name);
    text_ += ": ";
    needs_comma_ = false;
    return *this;
  }

  void value(std::string_view text) {
    separate();
    json::append_string(text_, text);
    needs_comma_ = true;
  }
  void value(const char* text) { value(std::string_view(text)); }
  void value(bool is_true) { raw(is_true ? "true" : "false"); }
  void value(std::signed_integral auto number) {
    separate();
    json::append_int(text_, number);
    needs_comma_ = true;
  }
  void value(std::unsigned_integral auto number)
    requires(!std::same_as<decltype(number), bool>)
  {
    separate();
    json::append_uint(text_, number);
    needs_comma_ = true;
  }
  void value(double number) {
    separate();
    json::append_double(text_, number);
    needs_comma_ = true;
  }
  void null() { raw("null"); }
  // Text that is JSON already.
  void raw(std::string_view json_text) {
    separate();
    text_ += json_text;
    needs_comma_ = true;
  }

  template <typename T>
  void field(std::string_view name, const T& of) {
    key(name);
    if constexpr (std::convertible_to<const T&, std::string_view>) {
      value(std::string_view(of));
    } else {
      value(of);
    }
  }
  void null_field(std::string_view name) { key(name).null(); }

  std::string text() && {
    text_ += '\n';
    return std::move(text_);
  }

 private:
  void separate() {
    if (needs_comma_) text_ += ", ";
  }
  void begin(char bracket) {
    separate();
    text_ += bracket;
    needs_comma_ = false;
  }
  void end(char bracket) {
    text_ += bracket;
    needs_comma_ = true;
  }

  std::string text_;
  bool needs_comma_ = false;
};

}  // namespace stepscope::serve
