# cmake -DFOLDER=… -DOUT=file.cc -P EmbedPage.cmake: the page's files as a C++ source (serve/page.h).
set(text "#include \"serve/page.h\"\n\n#include <array>\n\nnamespace stepscope::serve {\nnamespace {\n\n")
set(list "")
foreach(entry "index.html|text/html; charset=utf-8" "app.js|text/javascript; charset=utf-8"
        "app.css|text/css; charset=utf-8")
  string(REPLACE "|" ";" entry "${entry}")
  list(GET entry 0 name)
  list(SUBLIST entry 1 -1 type)  # the type has a semicolon
  string(REPLACE "." "_" variable ${name})
  file(READ ${FOLDER}/${name} bytes HEX)
  string(LENGTH "${bytes}" digits)
  math(EXPR size "${digits} / 2")
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${bytes}")
  string(APPEND text "constexpr unsigned char k_${variable}[${size} + 1] = {${bytes}0};\n")
  string(APPEND list "    PageFile{\"${name}\", \"${type}\",\n"
    "             {reinterpret_cast<const char*>(k_${variable}), ${size}}},\n")
endforeach()
string(APPEND text "\n}  // namespace\n\nstd::span<const PageFile> page_files() {\n"
  "  static const std::array<PageFile, 3> files = {{\n${list}  }};\n  return files;\n}\n\n"
  "}  // namespace stepscope::serve\n")
file(WRITE ${OUT} "${text}")
