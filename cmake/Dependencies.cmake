# Third-party libraries, all from Debian (docs/dependencies.md says why each).
find_package(Threads REQUIRED)
find_package(fmt REQUIRED)
find_package(CLI11 REQUIRED)
include(Simdjson)

find_package(PkgConfig REQUIRED)
pkg_check_modules(zstd REQUIRED IMPORTED_TARGET libzstd)
pkg_check_modules(isal REQUIRED IMPORTED_TARGET libisal)
pkg_check_modules(sqlite3 REQUIRED IMPORTED_TARGET sqlite3)
pkg_check_modules(re2 REQUIRED IMPORTED_TARGET re2)
pkg_check_modules(unwind REQUIRED IMPORTED_TARGET libunwind-generic)
pkg_check_modules(httplib REQUIRED IMPORTED_TARGET cpp-httplib)

# Headers only, without a file for CMake or pkg-config.
find_path(PROTOZERO_INCLUDE_DIR protozero/pbf_writer.hpp REQUIRED)
add_library(protozero INTERFACE)
target_include_directories(protozero SYSTEM INTERFACE ${PROTOZERO_INCLUDE_DIR})

if(STEPSCOPE_TESTS)
  find_package(GTest REQUIRED)
  include(GoogleTest)
endif()
