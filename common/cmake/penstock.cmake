# The functions that every folder's CMakeLists.txt uses: one folder, one target.

# Options that a target needs to reuse precompiled headers: g++ accepts them only with identical
# options. -fpch-preprocess lets ccache see their contents; clang's must not contain times.
function(penstock_use_headers name)
  target_compile_options(${name} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-pthread>)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    target_compile_options(${name} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-fpch-preprocess>)
  else()
    target_compile_options(${name} PRIVATE
                           "$<$<COMPILE_LANGUAGE:CXX>:SHELL:-Xclang -fno-pch-timestamp>")
  endif()
endfunction()

# A target without code of its own whose precompiled headers other targets share.
function(penstock_headers name header)
  set(empty ${PROJECT_BINARY_DIR}/${name}.cc)
  file(GENERATE OUTPUT ${empty} CONTENT "")
  add_library(${name} OBJECT ${empty})
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR})
  # The name is the same in every checkout, so that ccache recognizes it.
  target_precompile_headers(${name} PRIVATE "\"${header}\"")
endfunction()

# For libraries. Files with their own instruction-set or rounding options set
# SKIP_PRECOMPILE_HEADERS.
penstock_headers(penstock_library_headers common/cmake/headers.h)
penstock_use_headers(penstock_library_headers)
target_link_libraries(penstock_library_headers PRIVATE penstock_flags absl::status absl::statusor
  absl::strings)
set_target_properties(penstock_library_headers PROPERTIES POSITION_INDEPENDENT_CODE ON)

# penstock_library(base SOURCES a.cc DEPS absl::status) makes penstock_base, alias penstock::base.
function(penstock_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPS;PRIVATE_DEPS" ${ARGN})
  if(ARG_SOURCES)
    add_library(penstock_${name} STATIC ${ARG_SOURCES})
    set(visibility PUBLIC)
    target_link_libraries(penstock_${name} PRIVATE penstock_flags ${ARG_PRIVATE_DEPS})
    set_target_properties(penstock_${name} PROPERTIES POSITION_INDEPENDENT_CODE ON)
    penstock_use_headers(penstock_${name})
    target_precompile_headers(penstock_${name} REUSE_FROM penstock_library_headers)
  else()
    add_library(penstock_${name} INTERFACE)
    set(visibility INTERFACE)
  endif()
  target_include_directories(penstock_${name} ${visibility} ${PROJECT_SOURCE_DIR})
  target_link_libraries(penstock_${name} ${visibility} ${ARG_DEPS})
  add_library(penstock::${name} ALIAS penstock_${name})
endfunction()

# `ninja tsan_tests` builds the test programs labelled tsan, which ThreadSanitizer runs.
add_custom_target(tsan_tests)

# Compile options of test programs and of tests/support/headers.h. `level`: the optimisation level,
# but in debug builds.
function(penstock_test_options name level)
  target_link_libraries(${name} PRIVATE penstock_flags GTest::gmock absl::status absl::statusor
    absl::strings)
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR})
  set_target_properties(${name} PROPERTIES PENSTOCK_TEST ON)
  target_compile_options(${name} PRIVATE
    "$<$<AND:$<COMPILE_LANGUAGE:CXX>,$<NOT:$<CONFIG:Debug>>>:${level}>")
  penstock_use_headers(${name})
endfunction()

# penstock_test(NAME plan_test SOURCES a_test.cc DEPS penstock::plan LABELS unit TIMEOUT 60) makes
# one GoogleTest program and registers it with ctest as one test.
#
# Labels: unit (default), contract, system or gpu; additionally slow (runs only when named) and tsan
# (also runs under ThreadSanitizer: only for code that uses neither gRPC nor Abseil's
# synchronisation). SERIAL: runs alone, because it measures time or needs all cores. OPTIMIZED: is
# run for longer than it takes to compile.
function(penstock_test)
  cmake_parse_arguments(ARG "SERIAL;OPTIMIZED" "NAME;TIMEOUT" "SOURCES;DEPS;LABELS" ${ARGN})
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 120)
  endif()
  if(PENSTOCK_SANITIZE)
    math(EXPR ARG_TIMEOUT "${ARG_TIMEOUT} * 4")
  endif()
  if(NOT ARG_LABELS MATCHES "unit|contract|system|gpu")
    list(APPEND ARG_LABELS unit)
  endif()
  add_executable(${ARG_NAME} ${ARG_SOURCES})
  # Most tests are compiled more often than run, so -O0. GPU tests measure microseconds of a
  # trainer's thread, so -O2.
  set(headers penstock_test_headers)
  set(level -O0)
  if(ARG_OPTIMIZED OR "gpu" IN_LIST ARG_LABELS)
    set(headers penstock_optimized_test_headers)
    set(level -O2)
  endif()
  if(NOT TARGET ${headers})
    penstock_headers(${headers} tests/support/headers.h)
    penstock_test_options(${headers} ${level})
  endif()
  penstock_test_options(${ARG_NAME} ${level})
  target_link_libraries(${ARG_NAME} PRIVATE ${ARG_DEPS} GTest::gtest_main)
  target_precompile_headers(${ARG_NAME} REUSE_FROM ${headers})
  add_test(NAME ${ARG_NAME} COMMAND ${ARG_NAME})
  set_tests_properties(${ARG_NAME} PROPERTIES LABELS "${ARG_LABELS}" TIMEOUT ${ARG_TIMEOUT})
  if(ARG_SERIAL)
    set_tests_properties(${ARG_NAME} PROPERTIES RUN_SERIAL ON)
  endif()
  if("tsan" IN_LIST ARG_LABELS)
    add_dependencies(tsan_tests ${ARG_NAME})
    if(PENSTOCK_SANITIZE STREQUAL "thread")
      target_sources(${ARG_NAME} PRIVATE ${PROJECT_SOURCE_DIR}/tests/support/tsan_suppressions.cc)
    endif()
    set_property(GLOBAL APPEND PROPERTY PENSTOCK_TSAN_TESTS ${ARG_NAME})
  endif()
endfunction()

# penstock_script_test(NAME layering_test COMMAND python3 a_test.py LABELS unit TIMEOUT 60)
# registers a script with ctest. To skip itself, the script prints "SKIPPED: <why>" and exits with
# code 77.
function(penstock_script_test)
  cmake_parse_arguments(ARG "" "NAME;TIMEOUT" "COMMAND;LABELS" ${ARGN})
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 60)
  endif()
  if(PENSTOCK_SANITIZE)
    math(EXPR ARG_TIMEOUT "${ARG_TIMEOUT} * 4")
  endif()
  if(NOT ARG_LABELS)
    set(ARG_LABELS unit)
  endif()
  add_test(NAME ${ARG_NAME} COMMAND ${ARG_COMMAND})
  set_tests_properties(${ARG_NAME} PROPERTIES LABELS "${ARG_LABELS}" TIMEOUT ${ARG_TIMEOUT}
                       SKIP_RETURN_CODE 77)
endfunction()
