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

# trainlab_uses_torch(OUT TARGET…): whether one of these targets is LibTorch, or a module that uses LibTorch.
function(trainlab_uses_torch out)
  set(${out} OFF PARENT_SCOPE)
  foreach(target IN LISTS ARGN)
    get_target_property(uses ${target} TRAINLAB_USES_TORCH)
    if(uses)
      set(${out} ON PARENT_SCOPE)
    endif()
  endforeach()
endfunction()

# trainlab_room(NAME PUBLIC… -- PRIVATE…): notes that a module or program of that name lies in the current folder, and
# the names in its DEPENDS and PRIVATE_DEPENDS lists. trainlab_write_rooms writes all of them into rooms.txt of the
# build folder, a line each, with tabs between name, folder, public and private dependencies. A test compares them with
# docs/architecture.md.
function(trainlab_room name)
  cmake_path(RELATIVE_PATH CMAKE_CURRENT_SOURCE_DIR BASE_DIRECTORY "${CMAKE_SOURCE_DIR}" OUTPUT_VARIABLE folder)
  list(JOIN ARGN " " dependencies)
  string(REPLACE "--" "\t" dependencies "${dependencies}")
  set_property(GLOBAL APPEND_STRING PROPERTY TRAINLAB_ROOMS "${name}\t${folder}\t${dependencies}\n")
endfunction()

function(trainlab_write_rooms)
  get_property(rooms GLOBAL PROPERTY TRAINLAB_ROOMS)
  file(WRITE "${CMAKE_BINARY_DIR}/rooms.txt" "${rooms}")
endfunction()

# trainlab_compile_together(TARGET FILE…): these files of the target are compiled in groups, neighbours together. Most
# of the compiler's time goes into headers, which a group reads once, so that large groups make a first build short, and
# small groups a build after a change of one file. Files of a group must not use one name for two things, not even in
# anonymous namespaces: two such functions of one name may compile, and take the calls that were meant for the other,
# which test lint/names and, exactly but slowly, .ci/groups find. A file with options or definitions of its own, or with
# SKIP_UNITY_BUILD_INCLUSION, is compiled by itself, and files that share a word in TRAINLAB_GROUP only with each other,
# so that a program which needs nothing else of the module links nothing else of it (these properties are set before the
# module is made). (CMake's own unity builds name files by absolute paths, so that ccache would not know them again in
# another clone.)
set(TRAINLAB_GROUP_KB 100 CACHE STRING
    "a group of files that are compiled together has at most these kB, unless one file is larger; 0: no groups")
function(trainlab_compile_together target)
  math(EXPR most "1000 * ${TRAINLAB_GROUP_KB}")
  set(groups "")
  set(names "")
  foreach(file IN LISTS ARGN)
    set(alone "")
    foreach(property IN ITEMS SKIP_UNITY_BUILD_INCLUSION COMPILE_OPTIONS COMPILE_DEFINITIONS)
      get_property(value SOURCE "${file}" PROPERTY ${property})
      string(APPEND alone "${value}")
    endforeach()
    if(alone OR TRAINLAB_GROUP_KB EQUAL 0)
      continue()
    endif()
    get_property(kind SOURCE "${file}" PROPERTY TRAINLAB_GROUP)
    string(JOIN "_" name "${target}" ${kind})
    file(SIZE "${CMAKE_CURRENT_SOURCE_DIR}/${file}" size)
    if(NOT name IN_LIST names)
      list(APPEND names "${name}")
      set(number_${name} 0)
      set(bytes_${name} ${most})  # so that the first file begins a group
    endif()
    math(EXPR bytes_${name} "${bytes_${name}} + ${size}")
    if(bytes_${name} GREATER most)
      math(EXPR number_${name} "${number_${name}} + 1")
      set(bytes_${name} ${size})
    endif()
    set(group "${name}_${number_${name}}")
    list(APPEND groups "${group}")
    string(APPEND text_${group} "#include \"${file}\"\n")
    set_source_files_properties("${file}" PROPERTIES HEADER_FILE_ONLY ON)
  endforeach()
  list(REMOVE_DUPLICATES groups)
  foreach(group IN LISTS groups)
    set(path "${CMAKE_CURRENT_BINARY_DIR}/groups/${group}.cpp")
    file(CONFIGURE OUTPUT "${path}" CONTENT "// Generated by trainlab_compile_together.\n${text_${group}}" @ONLY)
    target_sources(${target} PRIVATE "${path}")
  endforeach()
endfunction()

# trainlab_registration(OUT MODULE FILE…): the path of a source, written now, that defines register_MODULE(Registry&).
# It calls register_FILE(Registry&) of each file, in this order: what an entry names in a default must come before the
# entry.
function(trainlab_registration out module)
  set(declarations "")
  set(calls "")
  foreach(file IN LISTS ARGN)
    cmake_path(GET file STEM name)
    string(APPEND declarations "void register_${name}(Registry& registry);\n")
    string(APPEND calls "  register_${name}(registry);\n")
  endforeach()
  set(path "${CMAKE_CURRENT_BINARY_DIR}/register_${module}.cpp")
  set(text "// Generated by trainlab_module from the list ENTRIES.
namespace trainlab {

class Registry;
${declarations}
void register_${module}(Registry& registry);
void register_${module}(Registry& registry) {
${calls}}

}  // namespace trainlab
")
  file(CONFIGURE OUTPUT "${path}" CONTENT "${text}" @ONLY)
  set(${out} "${path}" PARENT_SCOPE)
endfunction()

# trainlab_commands(OUT TYPE Command HEADER cli/command.h NAMESPACE trainlab::cli COMMANDS run check …)
#
# OUT gets the sources of these commands: commands/run.cpp, which defines TYPE run_command(), and so on, and one that is
# written now and defines `std::vector<TYPE> all_commands()`: all of them, in this order.
function(trainlab_commands out)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "TYPE;HEADER;NAMESPACE" "COMMANDS")
  set(declarations "")
  set(calls "")
  set(files "")
  foreach(name IN LISTS arg_COMMANDS)
    string(APPEND declarations "${arg_TYPE} ${name}_command();\n")
    string(APPEND calls "  commands.push_back(${name}_command());\n")
    list(APPEND files "commands/${name}.cpp")
  endforeach()
  list(LENGTH arg_COMMANDS count)
  set(path "${CMAKE_CURRENT_BINARY_DIR}/all_commands.cpp")
  set(text "// Generated by trainlab_commands.
#include \"${arg_HEADER}\"

namespace ${arg_NAMESPACE} {

${declarations}
std::vector<${arg_TYPE}> all_commands() {
  std::vector<${arg_TYPE}> commands;
  commands.reserve(${count});
${calls}  return commands;
}

}  // namespace ${arg_NAMESPACE}
")
  file(CONFIGURE OUTPUT "${path}" CONTENT "${text}" @ONLY)
  set_source_files_properties("${path}" PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  set(${out} ${files} "${path}" PARENT_SCOPE)
endfunction()

# trainlab_clones(TARGET): the sources of this target, a part of a module or a benchmark, include core/clones.h. They do
# without the precompiled header: g++ compiles the clones of a function as that header was compiled, at -O2, which
# leaves most loops without vector instructions.
function(trainlab_clones target)
  target_compile_definitions(${target} PRIVATE TRAINLAB_IS_IN_CLONES)
  set_target_properties(${target} PROPERTIES DISABLE_PRECOMPILE_HEADERS ON)
endfunction()

# trainlab_module_part(TARGET HEADERS SOURCES FILE… PUBLIC TARGET… PRIVATE TARGET…): how the files of a module in one
# of its targets are compiled, with common headers of the kind HEADERS (trainlab_precompile).
function(trainlab_module_part target headers)
  cmake_parse_arguments(PARSE_ARGV 2 arg "" "" "SOURCES;PUBLIC;PRIVATE")
  target_include_directories(${target} PRIVATE "${CMAKE_CURRENT_SOURCE_DIR}")
  if(IS_DIRECTORY "${CMAKE_CURRENT_SOURCE_DIR}/include")
    target_include_directories(${target} PUBLIC "${CMAKE_CURRENT_SOURCE_DIR}/include")
  endif()
  target_link_libraries(${target} PUBLIC ${arg_PUBLIC} PRIVATE ${arg_PRIVATE})
  trainlab_compile_together(${target} ${arg_SOURCES})
  trainlab_precompile(${target} ${headers})
endfunction()

# trainlab_module(NAME core [ENTRIES layers/linear …] [SOURCES value.cpp …] [HOT kernels.cpp …] [CLONES sums.cpp …]
#                 [DEPENDS …] [PRIVATE_DEPENDS …])
#
# Makes trainlab_core (also trainlab::core) from the current folder. Other modules see what lies in include/, and
# include it as "core/value.h"; headers beside the sources are private. DEPENDS goes on to users, PRIVATE_DEPENDS does
# not. ENTRIES names the sources that add entries to the registry: layers/linear is layers/linear.cpp, which defines
# register_linear(Registry&). The module has register_NAME(Registry&), which calls them all.
#
# Each source stands in one of three lists. HOT: sources that have inner loops of their own, over pixels, weights or
# trials, or that stand in the inner loops of recipes; they are optimised for that (-O3), and may be sources of ENTRIES
# too. CLONES: hot ones that include core/clones.h. SOURCES: all others, which call those or LibTorch for the work.
function(trainlab_module)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "NAME" "ENTRIES;SOURCES;HOT;CLONES;DEPENDS;PRIVATE_DEPENDS")
  if(arg_UNPARSED_ARGUMENTS OR NOT arg_NAME OR NOT (arg_ENTRIES OR arg_SOURCES OR arg_HOT))
    message(FATAL_ERROR "trainlab_module(NAME n ENTRIES … SOURCES … HOT … DEPENDS … PRIVATE_DEPENDS …): got '${ARGV}'")
  endif()
  trainlab_room(${arg_NAME} ${arg_DEPENDS} -- ${arg_PRIVATE_DEPENDS})
  trainlab_resolve(public missing ${arg_DEPENDS})
  trainlab_resolve(private missing_private ${arg_PRIVATE_DEPENDS})
  if(missing OR missing_private)
    trainlab_skip(${arg_NAME} ${missing} ${missing_private})
    return()
  endif()

  set(target trainlab_${arg_NAME})
  list(TRANSFORM arg_ENTRIES APPEND ".cpp" OUTPUT_VARIABLE cold)
  list(APPEND cold ${arg_SOURCES})
  if(arg_HOT OR arg_CLONES)
    list(REMOVE_ITEM cold ${arg_HOT} ${arg_CLONES})
  endif()
  list(SORT cold)

  add_library(${target} STATIC ${cold})
  add_library(trainlab::${arg_NAME} ALIAS ${target})
  trainlab_module_part(${target} headers SOURCES ${cold} PUBLIC ${public} PRIVATE ${private})
  if(arg_ENTRIES)
    trainlab_registration(registration ${arg_NAME} ${arg_ENTRIES})
    target_sources(${target} PRIVATE "${registration}")
    set_source_files_properties("${registration}" PROPERTIES SKIP_PRECOMPILE_HEADERS ON)
  endif()
  foreach(kind IN ITEMS HOT CLONES)
    if(NOT arg_${kind})
      continue()
    endif()
    string(TOLOWER "${target}_${kind}" part)
    list(SORT arg_${kind})
    add_library(${part} OBJECT ${arg_${kind}})
    target_compile_options(${part} PRIVATE $<$<CONFIG:Release>:-O3>)
    trainlab_module_part(${part} hot_headers SOURCES ${arg_${kind}} PUBLIC ${public} PRIVATE ${private})
    if(kind STREQUAL "CLONES")
      trainlab_clones(${part})
    endif()
    target_sources(${target} PRIVATE $<TARGET_OBJECTS:${part}>)
  endforeach()
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
  trainlab_room(${arg_NAME} ${arg_DEPENDS} --)
  trainlab_resolve(targets missing ${arg_DEPENDS})
  if(missing)
    trainlab_skip(${arg_NAME} ${missing})
    return()
  endif()
  add_executable(${arg_NAME} ${arg_SOURCES})
  target_include_directories(${arg_NAME} PRIVATE "${CMAKE_CURRENT_SOURCE_DIR}")
  target_link_libraries(${arg_NAME} PRIVATE ${targets})
  trainlab_compile_together(${arg_NAME} ${arg_SOURCES})
  trainlab_precompile(${arg_NAME} headers)
  set_target_properties(${arg_NAME} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/${arg_FOLDER}")
  if(NOT arg_NO_INSTALL)
    install(TARGETS ${arg_NAME} RUNTIME DESTINATION ${arg_FOLDER})
  endif()
endfunction()

# trainlab_export_to_plugins(TARGET): device plugins (tensor/device_plugin.h) that the program TARGET loads may use the
# engine's classes and functions that are named here by their mangled names without their namespace. All symbols of the
# engine would be 5,300, whose names and addresses take 0.8 MB in each run.
function(trainlab_export_to_plugins target)
  foreach(name IN ITEMS 5Error 6Device 11MemoryCount 12MemoryCharge 3Key 6Stream)
    foreach(kind IN ITEMS _ZN _ZNK _ZT?N)  # members, const members, and the tables of the class
      target_link_options(${target} PRIVATE "-Wl,--export-dynamic-symbol=${kind}8trainlab${name}*")
    endforeach()
  endforeach()
  foreach(name IN ITEMS 12recipe_error 11usage_error 9run_error 15add_device_kind 15keyed_generator
                        18current_memory_use)
    target_link_options(${target} PRIVATE "-Wl,--export-dynamic-symbol=_ZN8trainlab${name}*")
  endforeach()
endfunction()
