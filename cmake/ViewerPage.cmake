# Puts the viewer's page (viewer/, built by Vite) into stepscope_serve. Where Node.js is missing or the
# page can not be built, a page that says so takes its place: the C++ build never fails for it.
file(GLOB_RECURSE viewer_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/viewer/src/*)
list(FILTER viewer_sources EXCLUDE REGEX "\\.test\\.tsx?$")
file(GLOB viewer_settings CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/viewer/*.json
  ${PROJECT_SOURCE_DIR}/viewer/*.ts ${PROJECT_SOURCE_DIR}/viewer/index.html)
set(page_dir ${PROJECT_BINARY_DIR}/viewer)
add_custom_command(
  OUTPUT ${PROJECT_BINARY_DIR}/viewer_page.cc
  COMMAND ${PROJECT_SOURCE_DIR}/scripts/build_viewer ${page_dir}
  COMMAND ${CMAKE_COMMAND} -DFOLDER=${page_dir} -DOUT=${PROJECT_BINARY_DIR}/viewer_page.cc
    -P ${PROJECT_SOURCE_DIR}/cmake/EmbedPage.cmake
  DEPENDS ${viewer_sources} ${viewer_settings} ${PROJECT_SOURCE_DIR}/scripts/build_viewer
    ${PROJECT_SOURCE_DIR}/cmake/EmbedPage.cmake
  COMMENT "Building the viewer's page"
  VERBATIM)
target_sources(stepscope_serve PRIVATE ${PROJECT_BINARY_DIR}/viewer_page.cc)
