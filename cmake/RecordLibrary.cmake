# libstepscope_record: the recorder for C and C++ programs (#include <stepscope/record.h>), and what
# `cmake --install` puts where. Users link stepscope::record. Its version is that of the table behind
# the one function that it exports, so it has no version in its name.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(record_exports ${CMAKE_CURRENT_LIST_DIR}/stepscope_record.map)
set(record_header_dir ${PROJECT_SOURCE_DIR}/src/collect)
add_library(stepscope_record SHARED ${record_header_dir}/recorder/record_table.cc)
add_library(stepscope::record ALIAS stepscope_record)
target_compile_options(stepscope_record PRIVATE ${STEPSCOPE_WARNINGS})
target_compile_features(stepscope_record INTERFACE cxx_std_17)
target_include_directories(stepscope_record INTERFACE
  $<BUILD_INTERFACE:${record_header_dir}> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
target_link_libraries(stepscope_record PRIVATE stepscope_collect)
# Threads of ours and exit handlers of the program's threads may run when someone calls dlclose().
target_link_options(stepscope_record PRIVATE
  LINKER:--version-script=${record_exports} LINKER:-z,nodelete)
set_target_properties(stepscope_record PROPERTIES
  EXPORT_NAME record
  LINK_DEPENDS ${record_exports}
  LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib)

if(SKBUILD)
  return()  # PythonInstall.cmake: they lie in the package
endif()
install(TARGETS stepscope RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(TARGETS stepscope_record EXPORT stepscope LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(FILES ${record_header_dir}/stepscope/record.h
  DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/stepscope)
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/stepscope)
install(EXPORT stepscope FILE stepscope-config.cmake NAMESPACE stepscope:: DESTINATION ${package_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/stepscope-config-version.cmake
  COMPATIBILITY SameMajorVersion)
install(FILES ${PROJECT_BINARY_DIR}/stepscope-config-version.cmake DESTINATION ${package_dir})
