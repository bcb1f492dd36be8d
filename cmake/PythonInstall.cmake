# What a wheel holds besides the package's Python files. The command proper lies in the package, where
# auditwheel can point it to the libraries that it brings along; on the PATH is a small launcher.
install(TARGETS _core LIBRARY DESTINATION stepscope COMPONENT wheel)
install(TARGETS stepscope_record LIBRARY DESTINATION stepscope/lib COMPONENT wheel)
install(FILES ${PROJECT_SOURCE_DIR}/src/collect/stepscope/record.h
  DESTINATION stepscope/include/stepscope COMPONENT wheel)
# For `stepscope doctor --build-torch`.
install(DIRECTORY ${PROJECT_SOURCE_DIR}/src/collect/torch
  DESTINATION stepscope/torch_source/collect COMPONENT wheel)
install(FILES ${PROJECT_SOURCE_DIR}/src/format/operator_inputs.h
  DESTINATION stepscope/torch_source/format COMPONENT wheel)
install(TARGETS stepscope RUNTIME DESTINATION stepscope/bin COMPONENT wheel)
configure_file(${CMAKE_CURRENT_LIST_DIR}/launcher.sh.in ${PROJECT_BINARY_DIR}/launcher @ONLY)
install(PROGRAMS ${PROJECT_BINARY_DIR}/launcher RENAME stepscope
  DESTINATION ${SKBUILD_SCRIPTS_DIR} COMPONENT wheel)
