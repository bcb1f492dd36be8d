# Language, warnings, sanitizers, ccache: what every target is compiled with.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)  # the layers also go into the Python extension
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE RelWithDebInfo)
endif()
set(CMAKE_CXX_FLAGS_RELWITHDEBINFO "-O3 -g1 -DNDEBUG")
set(CMAKE_C_FLAGS_RELWITHDEBINFO "-O3 -g1 -DNDEBUG")

add_compile_options(-fno-omit-frame-pointer)
add_compile_definitions(STEPSCOPE_VERSION="${PROJECT_VERSION}")
set(STEPSCOPE_WARNINGS -Wall -Wextra -Wpedantic -Wshadow -Wno-missing-field-initializers
    # GCC 12 warns of "x" + std::string (its bug 105651), and of unnamed namespaces in what is included.
    $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict> $<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage>)

if(STEPSCOPE_SANITIZE)
  # Bad pointers are found by AddressSanitizer; UBSan's checks of each one double the time to compile.
  add_compile_options(-fsanitize=${STEPSCOPE_SANITIZE} -fno-sanitize=null,object-size,vptr,alignment
    -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${STEPSCOPE_SANITIZE})
  add_compile_definitions(_GLIBCXX_ASSERTIONS)
  if(STEPSCOPE_SANITIZE MATCHES thread)
    add_compile_definitions(STEPSCOPE_TSAN)  # each compiler has its own way to tell
  endif()
endif()

# ccache serves the same object to build/release, to the builds for other Pythons and to the wheel:
# it is told to overlook that they differ in their build folder.
find_program(CCACHE_PROGRAM ccache)
if(CCACHE_PROGRAM AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER
      ${CMAKE_COMMAND} -E env CCACHE_NOHASHDIR=1 CCACHE_BASEDIR=${PROJECT_SOURCE_DIR} ${CCACHE_PROGRAM})
endif()
