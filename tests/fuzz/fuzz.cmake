# trainctl_fuzz(<name> SOURCES ... DEPS <targets> CORPUS <files or folders> [SECONDS <s>])
# builds a fuzz target with tests/fuzz/driver.cpp and runs it for some seconds (3) in CTest, label fuzz.
include_guard()

function(trainctl_fuzz name)
  cmake_parse_arguments(arg "" "SECONDS" "SOURCES;DEPS;CORPUS" ${ARGN})
  if(NOT arg_SECONDS)
    set(arg_SECONDS 3)
  endif()
  add_executable(${name} ${arg_SOURCES} ${PROJECT_SOURCE_DIR}/tests/fuzz/driver.cpp)
  trainctl_target_defaults(${name})
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/tests)
  target_link_libraries(${name} PRIVATE ${arg_DEPS})
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  add_test(NAME ${name} COMMAND ${name} --seconds ${arg_SECONDS} ${arg_CORPUS}
           WORKING_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  set_tests_properties(${name} PROPERTIES LABELS fuzz TIMEOUT 120)
endfunction()
