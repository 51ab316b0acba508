# trainlab_module: a folder of sources as a static library with an include root of its own.
# trainlab_program: an executable in its place in the build tree and in the installed tree.

# trainlab_resolve(OUT MISSING NAME…): the targets for names in a DEPENDS list. A plain name is a module if there is
# one of that name, else one of the libraries of dependencies.cmake; 'a::b' stands for itself. MISSING gets the names
# that this build leaves out, because LibTorch is left out.
function(trainlab_resolve out missing)
  get_property(skipped GLOBAL PROPERTY TRAINLAB_SKIPPED)
  set(targets "")
  set(left_out "")
  foreach(name IN LISTS ARGN)
    if(name IN_LIST skipped OR (NOT TRAINLAB_WITH_TORCH AND name MATCHES "^(trainlab::)?(torch|c10)$"))
      list(APPEND left_out ${name})
    elseif(TARGET trainlab_${name})
      list(APPEND targets trainlab_${name})
    elseif(TARGET trainlab::${name})
      list(APPEND targets trainlab::${name})
    elseif(TARGET ${name})
      list(APPEND targets ${name})
    else()
      message(FATAL_ERROR "'${name}' in a DEPENDS list is neither a module that was added before this one (the order "
                          "is in the top CMakeLists.txt) nor a library of tools/cmake/dependencies.cmake")
    endif()
  endforeach()
  set(${out} "${targets}" PARENT_SCOPE)
  set(${missing} "${left_out}" PARENT_SCOPE)
endfunction()

# trainlab_skip(NAME WHY): NAME is left out of this build, and so will be what depends on it.
function(trainlab_skip name)
  set_property(GLOBAL APPEND PROPERTY TRAINLAB_SKIPPED ${name})
  list(JOIN ARGN ", " why)
  message(STATUS "left out: ${name} (needs ${why})")
endfunction()

# trainlab_module(NAME core SOURCES value.cpp … [DEPENDS …] [PRIVATE_DEPENDS …])
#
# Makes trainlab_core (also trainlab::core) from the current folder. Other modules see what lies in include/, and
# include it as "core/value.h"; headers beside the sources are private. DEPENDS goes on to users, PRIVATE_DEPENDS does
# not. Without SOURCES the module has headers only.
function(trainlab_module)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "NAME" "SOURCES;DEPENDS;PRIVATE_DEPENDS")
  if(arg_UNPARSED_ARGUMENTS OR NOT arg_NAME)
    message(FATAL_ERROR "trainlab_module(NAME n SOURCES … DEPENDS … PRIVATE_DEPENDS …): got '${ARGV}'")
  endif()
  trainlab_resolve(public missing ${arg_DEPENDS})
  trainlab_resolve(private missing_private ${arg_PRIVATE_DEPENDS})
  if(missing OR missing_private)
    trainlab_skip(${arg_NAME} ${missing} ${missing_private})
    return()
  endif()

  set(target trainlab_${arg_NAME})
  set(visible PUBLIC)
  if(arg_SOURCES)
    add_library(${target} STATIC ${arg_SOURCES})
    target_include_directories(${target} PRIVATE "${CMAKE_CURRENT_SOURCE_DIR}")
    target_link_libraries(${target} PRIVATE ${private})
  else()
    set(visible INTERFACE)
    add_library(${target} INTERFACE)
  endif()
  add_library(trainlab::${arg_NAME} ALIAS ${target})
  if(IS_DIRECTORY "${CMAKE_CURRENT_SOURCE_DIR}/include")
    target_include_directories(${target} ${visible} "${CMAKE_CURRENT_SOURCE_DIR}/include")
  endif()
  target_link_libraries(${target} ${visible} ${public})
endfunction()

# trainlab_program(NAME trainlab-engine FOLDER libexec SOURCES main.cpp … [DEPENDS …])
#
# FOLDER is bin or libexec, in build/PRESET as in the installed tree, so that programs find each other in both by the
# same relative path.
function(trainlab_program)
  cmake_parse_arguments(PARSE_ARGV 0 arg "NO_INSTALL" "NAME;FOLDER" "SOURCES;DEPENDS")
  if(arg_UNPARSED_ARGUMENTS OR NOT arg_NAME OR NOT arg_FOLDER OR NOT arg_SOURCES)
    message(FATAL_ERROR "trainlab_program(NAME n FOLDER f SOURCES … DEPENDS …): got '${ARGV}'")
  endif()
  trainlab_resolve(targets missing ${arg_DEPENDS})
  if(missing)
    trainlab_skip(${arg_NAME} ${missing})
    return()
  endif()
  add_executable(${arg_NAME} ${arg_SOURCES})
  target_include_directories(${arg_NAME} PRIVATE "${CMAKE_CURRENT_SOURCE_DIR}")
  target_link_libraries(${arg_NAME} PRIVATE ${targets})
  set_target_properties(${arg_NAME} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/${arg_FOLDER}")
  if(NOT arg_NO_INSTALL)
    install(TARGETS ${arg_NAME} RUNTIME DESTINATION ${arg_FOLDER})
  endif()
endfunction()
