# The front end `python` and the collectors of Python calls (src/collect/python) become the extension
# stepscope._core, for one interpreter.
# In a checkout it is put beside the package in python/stepscope; in a wheel build (scikit-build-core
# sets SKBUILD) package, extension and command are installed.
if(NOT SKBUILD AND NOT EXISTS "${Python_EXECUTABLE}")
  message(STATUS "stepscope: no Python at '${Python_EXECUTABLE}' (make setup); extension not built")
  return()
endif()
find_package(Python 3.11 REQUIRED COMPONENTS Interpreter Development.Module)
execute_process(COMMAND ${Python_EXECUTABLE} -m nanobind --cmake_dir
  OUTPUT_VARIABLE nanobind_ROOT OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
find_package(nanobind CONFIG QUIET)
file(GLOB python_sources CONFIGURE_DEPENDS
  ${PROJECT_SOURCE_DIR}/src/python/*.cc ${PROJECT_SOURCE_DIR}/src/collect/python/*.cc
  ${PROJECT_SOURCE_DIR}/src/collect/python/*/*.cc)
if(NOT nanobind_FOUND)
  message(STATUS "stepscope: ${Python_EXECUTABLE} has no nanobind (make setup); extension not built")
  return()
elseif(NOT python_sources)
  message(STATUS "stepscope: src/python has no sources; extension not built")
  return()
endif()

nanobind_add_module(_core NB_STATIC NOMINSIZE NB_SUPPRESS_WARNINGS ${python_sources})
target_compile_options(_core PRIVATE ${STEPSCOPE_WARNINGS})
target_link_libraries(_core PRIVATE stepscope_serve stepscope_collect stepscope_sample PkgConfig::sqlite3)
# Of libraries only what is used: the sampler in here unwinds no native stacks, and needs no libunwind.
target_link_options(_core PRIVATE LINKER:--as-needed)
if(SKBUILD)
  include(PythonInstall)
else()
  set_target_properties(_core PROPERTIES
    LIBRARY_OUTPUT_DIRECTORY ${PROJECT_SOURCE_DIR}/python/stepscope)
  # Where stepscope.get_include() and get_library() look for them.
  set(package ${PROJECT_SOURCE_DIR}/python/stepscope)
  add_custom_command(TARGET stepscope_record POST_BUILD
    COMMAND ${CMAKE_COMMAND} -E make_directory ${package}/include/stepscope ${package}/lib
    COMMAND ${CMAKE_COMMAND} -E create_symlink
      ${record_header_dir}/stepscope/record.h ${package}/include/stepscope/record.h
    COMMAND ${CMAKE_COMMAND} -E create_symlink
      $<TARGET_FILE:stepscope_record> ${package}/lib/$<TARGET_FILE_NAME:stepscope_record>
    VERBATIM)
endif()
