# Headers of libraries, compiled once for all targets.

# trainlab_common_headers(NAME LIBRARY…): the target trainlab_NAME_headers owns headers/NAME_headers.h as a precompiled
# header, which includes headers of these libraries. Where NAME ends in _hot, it is the header of the same name without
# that ending, compiled for hot sources: g++ optimises the functions of a file as the precompiled header before them was
# compiled, whatever the options of the file say.
function(trainlab_common_headers name)
  string(REGEX REPLACE "_hot$" "" header ${name})
  set(target trainlab_${name}_headers)
  set(folder "${CMAKE_SOURCE_DIR}/tools/cmake/headers")
  add_library(${target} OBJECT EXCLUDE_FROM_ALL "${folder}/owner.cpp")
  target_link_libraries(${target} PRIVATE ${ARGN})
  # Named without its folder: ccache would not know an absolute path again in another clone.
  target_include_directories(${target} PRIVATE "${folder}")
  target_precompile_headers(${target} PRIVATE <${header}_headers.h>)
  if(name MATCHES "_test$")
    target_compile_options(${target} PRIVATE -O0)  # as trainlab_tests compiles; no other header serves such files
  elseif(name MATCHES "_hot$")
    target_compile_options(${target} PRIVATE -O2)  # g++ 12 crashes in a file at -O3 with a header at -O1
  endif()

  # Without this sum, ccache would read the precompiled header, up to 270 MB, for each file that uses the header, and
  # would compile all these files again wherever the header was compiled again, because a precompiled header has other
  # bytes each time. With CCACHE_PCH_EXTSUM (options.cmake) ccache reads the sum instead, which depends only on what the
  # header is made from.
  if(TRAINLAB_CCACHE)
    string(TOUPPER "${CMAKE_BUILD_TYPE}" type)
    set(flags "${CMAKE_CXX_FLAGS} ${CMAKE_CXX_FLAGS_${type}} $<JOIN:$<TARGET_PROPERTY:${target},COMPILE_OPTIONS>, >")
    set(sum "${CMAKE_BINARY_DIR}/CMakeFiles/${target}.dir/cmake_pch.hxx.gch.sum")
    add_custom_command(OUTPUT "${sum}"
      COMMAND bash "${folder}/sum_header" "${folder}/${header}_headers.h" "${sum}" "${flags}"
              "${CMAKE_CXX_COMPILER}" -std=c++20
              "-fmacro-prefix-map=${CMAKE_SOURCE_DIR}/="  # LibTorch's assertions name their files
              "-I$<JOIN:$<TARGET_PROPERTY:${target},INCLUDE_DIRECTORIES>,;-I>"
      DEPENDS "${folder}/${header}_headers.h" "${folder}/sum_header" DEPFILE "${sum}.d"
      COMMAND_EXPAND_LISTS VERBATIM COMMENT "Summing ${name}_headers.h")
    add_custom_target(${target}_sum DEPENDS "${sum}")
    add_dependencies(${target} ${target}_sum)
  endif()
endfunction()

# trainlab_precompile(TARGET KIND): the files of the target begin with the common headers of that kind, `headers`,
# `hot_headers` (of hot sources) or `test_headers`, with LibTorch's among them where the target links LibTorch or a
# module that uses LibTorch.
function(trainlab_precompile target kind)
  get_target_property(libraries ${target} LINK_LIBRARIES)
  if(NOT libraries)
    set(libraries "")
  endif()
  trainlab_uses_torch(uses_torch ${libraries})
  if(kind STREQUAL "hot_headers" AND NOT CMAKE_BUILD_TYPE STREQUAL "Release")
    set(kind headers)  # only a release compiles hot sources otherwise
  endif()
  if(uses_torch)
    set_target_properties(${target} PROPERTIES TRAINLAB_USES_TORCH ON)
    target_precompile_headers(${target} REUSE_FROM trainlab_torch_${kind})
  else()
    target_precompile_headers(${target} REUSE_FROM trainlab_std_${kind})
  endif()
endfunction()

trainlab_common_headers(std)
trainlab_common_headers(std_test trainlab::catch2)
if(TRAINLAB_WITH_TORCH)
  trainlab_common_headers(torch trainlab::torch)
  trainlab_common_headers(torch_test trainlab::torch trainlab::catch2)
endif()
if(CMAKE_BUILD_TYPE STREQUAL "Release")
  trainlab_common_headers(std_hot)
  if(TRAINLAB_WITH_TORCH)
    trainlab_common_headers(torch_hot trainlab::torch)
  endif()
endif()
