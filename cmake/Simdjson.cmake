# The one place that decides which simdjson is used: it defines simdjson::simdjson.
# Debian's 3.0.1 is as fast as newer ones (docs/dependencies.md), as long as NDEBUG is defined: its
# assertions in headers cost a third more. Toolchain.cmake defines it for every optimised build.
find_package(simdjson REQUIRED)
