# How many files of a layer the compiler takes at a time: what they include is then read once, which is
# most of the work. Names in unnamed namespaces must therefore differ within a layer (rules, which are
# alike, have a namespace each). For work on a few files: cmake -DSTEPSCOPE_BATCH=1.
set(STEPSCOPE_BATCH 8 CACHE STRING "How many files are compiled together")

# stepscope_batches(<variable> <name> <file>...): puts files into the variable that include the given ones,
# by paths relative to src/, so that ccache knows them in every checkout.
function(stepscope_batches variable name)
  set(files ${ARGN})
  set(alone ${files})
  # The table is compiled into a library once more.
  set(pattern "/recorder/record_table\\.cc$")
  list(FILTER alone INCLUDE REGEX ${pattern})
  list(FILTER files EXCLUDE REGEX ${pattern})
  if(STEPSCOPE_BATCH LESS_EQUAL 1)
    set(${variable} ${files} ${alone} PARENT_SCOPE)
    return()
  endif()
  set(batches ${alone})
  set(number 0)
  while(files)
    list(SUBLIST files 0 ${STEPSCOPE_BATCH} batch)
    list(REMOVE_ITEM files ${batch})
    list(TRANSFORM batch REPLACE "^${PROJECT_SOURCE_DIR}/src/(.*)$" "#include \"\\1\"\n")
    string(CONCAT text ${batch})
    set(file ${PROJECT_BINARY_DIR}/batches/${name}_${number}.cc)
    file(CONFIGURE OUTPUT ${file} CONTENT "${text}" @ONLY)
    list(APPEND batches ${file})
    math(EXPR number "${number} + 1")
  endwhile()
  set(${variable} ${batches} PARENT_SCOPE)
endfunction()

# stepscope_layer(<layer> [DIR <folder>] [USES <layer>...] [LIBS <target>...] [MAIN <executable>])
#
# Makes the library stepscope_<layer> from src/<layer>/**.cc and the test executable <layer>_test from
# src/<layer>/**_test.cc. With DIR, from src/<folder>: a part of a layer that needs more libraries. USES are layers whose headers it may include; LIBS are third-party libraries,
# for its sources only. With MAIN, src/<layer>/main.cc becomes that executable. A layer without
# sources is an empty library, a layer without tests has no test executable.
function(stepscope_layer layer)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "MAIN;DIR" "USES;LIBS")
  if(NOT arg_DIR)
    set(arg_DIR ${layer})
  endif()
  set(dir ${PROJECT_SOURCE_DIR}/src/${arg_DIR})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${dir}/*.cc)
  if(layer STREQUAL collect)
    list(FILTER sources EXCLUDE REGEX "/collect/(sample|native)/")  # layers of their own
  endif()
  set(tests ${sources})
  list(FILTER tests INCLUDE REGEX "_test\\.cc$")
  list(FILTER sources EXCLUDE REGEX "_test\\.cc$|/main\\.cc$")
  list(FILTER sources EXCLUDE REGEX "/collect/python/")  # includes Python.h: PythonExtension.cmake
  list(FILTER sources EXCLUDE REGEX "/collect/torch/")  # built for each PyTorch: _build_torch.py
  list(TRANSFORM arg_USES PREPEND stepscope_)
  stepscope_batches(sources ${layer} ${sources})
  stepscope_batches(tests ${layer}_test ${tests})

  set(library stepscope_${layer})
  if(sources)
    add_library(${library} STATIC ${sources})
    target_compile_options(${library} PRIVATE ${STEPSCOPE_WARNINGS})
    target_include_directories(${library} PUBLIC ${PROJECT_SOURCE_DIR}/src)
    target_link_libraries(${library} PUBLIC ${arg_USES} PRIVATE ${arg_LIBS})
  else()
    add_library(${library} INTERFACE)
    target_include_directories(${library} INTERFACE ${PROJECT_SOURCE_DIR}/src)
    target_link_libraries(${library} INTERFACE ${arg_USES})
  endif()

  if(arg_MAIN AND EXISTS ${dir}/main.cc)
    add_executable(${arg_MAIN} ${dir}/main.cc)
    target_compile_options(${arg_MAIN} PRIVATE ${STEPSCOPE_WARNINGS})
    target_link_libraries(${arg_MAIN} PRIVATE ${library} ${arg_LIBS})
    set_target_properties(${arg_MAIN} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin)
  endif()

  if(STEPSCOPE_TESTS AND tests)
    add_executable(${layer}_test ${tests})
    # Optimising would double the time to compile the tests, and it is the library that they test.
    target_compile_options(${layer}_test PRIVATE ${STEPSCOPE_WARNINGS}
      $<IF:$<CONFIG:RelWithDebInfo>,-O1,-O0>)
    target_link_libraries(${layer}_test PRIVATE ${library} ${arg_LIBS} GTest::gtest_main)
    gtest_discover_tests(${layer}_test
      TEST_PREFIX ${layer}/ WORKING_DIRECTORY ${PROJECT_SOURCE_DIR} DISCOVERY_MODE PRE_TEST
      PROPERTIES TIMEOUT 300)
  endif()
endfunction()
