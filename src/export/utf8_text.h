// Text from a trace, whose bytes may be anything, as the valid text that a format asks for: bytes
// that are no UTF-8 become U+FFFD.
//
//   text.append("<title>");
//   append_xml(text, "f<int>");   // f&lt;int&gt;
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace stepscope {

// Bytes of the UTF-8 character that `text` starts with; 0 where it starts with none.
size_t utf8_length(std::string_view text);

// The first characters of a text.
std::string_view beginning(std::string_view text, size_t characters);

void append_utf8(std::string& to, std::string_view text);
// On one line: control characters become spaces.
void append_line(std::string& to, std::string_view text);
// For XML's texts and attributes. Characters that XML has no place for become U+FFFD.
void append_xml(std::string& to, std::string_view text);

}  // namespace stepscope
