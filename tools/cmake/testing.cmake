# trainlab_tests: a module's Catch2 tests.  trainlab_cli_test: a test that runs programs.

# A test that may take longer begins earlier (COST), so that at the end no core waits for one long test.

# Settings with which sanitizer builds run. LibTorch itself is not instrumented, yet runs under the address sanitizer
# without false alarms; leaks that are not ours are named in lsan.supp. Some tests ask for more memory than there is,
# which is to fail as it does without the sanitizer. Instrumented code is several times slower.
set(TRAINLAB_TEST_ENVIRONMENT "")
set(TRAINLAB_TEST_PATIENCE 1)
if(TRAINLAB_SANITIZE)
  set(TRAINLAB_TEST_PATIENCE 5)
  set(support "${CMAKE_SOURCE_DIR}/tests/support")
  list(APPEND TRAINLAB_TEST_ENVIRONMENT
    "ASAN_OPTIONS=detect_stack_use_after_return=1:strict_init_order=1:allocator_may_return_null=1"
    "LSAN_OPTIONS=suppressions=${support}/lsan.supp:print_suppressions=0"
    "UBSAN_OPTIONS=print_stacktrace=1"
    "TSAN_OPTIONS=halt_on_error=1")
endif()

# trainlab_tests(MODULE core FILES test_value.cpp … [DEPENDS …] [TIMEOUT seconds] [ENVIRONMENT A=b …]
#                [ON_STAND_IN test_value.cpp …])
#
# One program, test_core, linked to the module and to DEPENDS; for each file test_value.cpp a ctest test core/value,
# label unit. Files that are not named test_… are shared by the others. The tests also see the module's private
# headers. A test file without a test case fails; hidden cases, [.tag], run only by hand. LibTorch uses one thread in
# these tests unless a test asks for more. A test that leaves a file in the folder in which it was started, or in its
# home, has failed. The files ON_STAND_IN make a second test each, core/value@stand_in, whose tensors live on the
# stand-in device (tests/support/stand_in_device.h), and where there is a GPU a third one, core/value@cuda, whose
# tensors live there.
function(trainlab_tests)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "MODULE;TIMEOUT" "FILES;DEPENDS;ENVIRONMENT;ON_STAND_IN")
  if(arg_UNPARSED_ARGUMENTS OR NOT arg_MODULE OR NOT arg_FILES)
    message(FATAL_ERROR "trainlab_tests(MODULE m FILES … DEPENDS …): got '${ARGV}'")
  endif()
  trainlab_resolve(targets missing ${arg_MODULE} ${arg_DEPENDS})
  if(missing)
    trainlab_skip(test_${arg_MODULE} ${missing})
    return()
  endif()
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 120)
  endif()
  math(EXPR timeout "${arg_TIMEOUT} * ${TRAINLAB_TEST_PATIENCE}")

  set(target test_${arg_MODULE})
  add_executable(${target} ${arg_FILES})
  get_target_property(module_folder trainlab_${arg_MODULE} SOURCE_DIR)
  target_include_directories(${target} PRIVATE
    "${CMAKE_CURRENT_SOURCE_DIR}" "${CMAKE_SOURCE_DIR}/tests" "${module_folder}")
  target_link_libraries(${target} PRIVATE ${targets} trainlab_test_main)
  set_target_properties(${target} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/tests")
  # Tests are compiled in groups, as the modules are, and without optimisation, which takes half the time: they check
  # the modules, which are optimised.
  set(own_files ${arg_FILES})
  list(FILTER own_files EXCLUDE REGEX "^/")  # files that stand elsewhere, or are generated
  trainlab_compile_together(${target} ${own_files})
  trainlab_precompile(${target} test_headers)
  target_compile_options(${target} PRIVATE -O0)
  if(arg_ON_STAND_IN)
    trainlab_export_to_plugins(${target})
  endif()
  foreach(file IN LISTS arg_FILES)
    cmake_path(GET file STEM stem)
    if(NOT stem MATCHES "^test_")
      continue()
    endif()
    string(REGEX REPLACE "^test_" "" short "${stem}")
    set(devices cpu)
    if(file IN_LIST arg_ON_STAND_IN)
      list(APPEND devices stand_in)
      if(TARGET trainlab_cuda_plugin AND EXISTS /dev/nvidiactl)
        list(APPEND devices cuda)
      endif()
    endif()
    foreach(device IN LISTS devices)
      set(name "${arg_MODULE}/${short}")
      if(NOT device STREQUAL cpu)
        string(APPEND name "@${device}")
      endif()
      set(scratch "${CMAKE_BINARY_DIR}/tests/scratch/${name}")
      add_test(NAME ${name} COMMAND
        bash "${CMAKE_SOURCE_DIR}/tests/support/in_scratch" --leaves-nothing "${scratch}"
        $<TARGET_FILE:${target}> --filenames-as-tags --warn NoTests "[#${stem}]~[.]")
      set(device_environment "TRAINLAB_TEST_DEVICE=${device}")
      if(device STREQUAL cuda)
        list(APPEND device_environment "TRAINLAB_DEVICES=${CMAKE_BINARY_DIR}/${TRAINLAB_LIBEXEC_DIR}")
      endif()
      set_tests_properties(${name} PROPERTIES
        LABELS unit TIMEOUT ${timeout} COST ${timeout}
        ENVIRONMENT "OMP_NUM_THREADS=1;${device_environment};${TRAINLAB_TEST_ENVIRONMENT};${arg_ENVIRONMENT}")
    endforeach()
  endforeach()
endfunction()

# trainlab_cli_test(NAME cli/help COMMAND bash ${CMAKE_CURRENT_SOURCE_DIR}/help.sh [NEEDS trainlab trainlab-engine]
#                   [TIMEOUT seconds] [ENVIRONMENT A=b …])
#
# Runs COMMAND in an empty folder, label cli; passes when it exits with 0. TRAINLAB in its environment is the program's
# path, SOURCE_DIR the checkout. NEEDS names programs without which there is no such test (builds without LibTorch).
function(trainlab_cli_test)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "NAME;TIMEOUT" "COMMAND;NEEDS;ENVIRONMENT")
  if(arg_UNPARSED_ARGUMENTS OR NOT arg_NAME OR NOT arg_COMMAND)
    message(FATAL_ERROR "trainlab_cli_test(NAME n COMMAND …): got '${ARGV}'")
  endif()
  foreach(program IN LISTS arg_NEEDS)
    if(NOT TARGET ${program})
      return()
    endif()
  endforeach()
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 120)
  endif()
  math(EXPR timeout "${arg_TIMEOUT} * ${TRAINLAB_TEST_PATIENCE}")
  add_test(NAME ${arg_NAME} COMMAND
    bash "${CMAKE_SOURCE_DIR}/tests/support/in_scratch" "${CMAKE_BINARY_DIR}/tests/scratch/${arg_NAME}"
    ${arg_COMMAND})
  set(places "TRAINLAB=${CMAKE_BINARY_DIR}/bin/trainlab;SOURCE_DIR=${CMAKE_SOURCE_DIR};BUILD_DIR=${CMAKE_BINARY_DIR}")
  set_tests_properties(${arg_NAME} PROPERTIES
    LABELS cli TIMEOUT ${timeout} COST ${timeout}
    ENVIRONMENT "${places};${TRAINLAB_TEST_ENVIRONMENT};${arg_ENVIRONMENT}")
endfunction()
