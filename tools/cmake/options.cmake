# How everything is compiled and linked. The flags are set once, for all targets, because objects that disagree on
# NDEBUG or on a sanitizer do not fit together.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_C_STANDARD 11)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
# A precompiled header serves libraries and programs only if both are compiled alike.
set(CMAKE_CXX_COMPILE_OPTIONS_PIE -fPIC)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Release, Debug, Sanitize or Whole" FORCE)
endif()

set(TRAINLAB_SANITIZE "" CACHE STRING "sanitizers: empty, 'address,undefined' or 'thread'")
option(TRAINLAB_WERROR "warnings are errors" ON)

# NDEBUG is always defined: at::RecordFunction and others have data members under '#ifndef NDEBUG', so code compiled
# without it disagrees with the released LibTorch on layouts.
#
# A release: -Og, which g++ compiles a third sooner than -O2. Sources with inner loops of their own have -O3: HOT in
# trainlab_module.
set(CMAKE_CXX_FLAGS_RELEASE "-Og -DNDEBUG")
set(CMAKE_CXX_FLAGS_DEBUG "-Og -g -DNDEBUG -D_GLIBCXX_ASSERTIONS")
set(CMAKE_CXX_FLAGS_SANITIZE "-O1 -g1 -fno-omit-frame-pointer -DNDEBUG -D_GLIBCXX_ASSERTIONS")
set(CMAKE_CXX_FLAGS_WHOLE "-O0 -DNDEBUG")  # the linker compares definitions, and optimisation would only remove some
set(CMAKE_C_FLAGS_RELEASE "${CMAKE_CXX_FLAGS_RELEASE}")
set(CMAKE_C_FLAGS_DEBUG "${CMAKE_CXX_FLAGS_DEBUG}")
set(CMAKE_C_FLAGS_SANITIZE "${CMAKE_CXX_FLAGS_SANITIZE}")
set(CMAKE_C_FLAGS_WHOLE "${CMAKE_CXX_FLAGS_WHOLE}")
if(NOT CMAKE_BUILD_TYPE MATCHES "^(Release|Debug|Sanitize|Whole)$")
  message(FATAL_ERROR "CMAKE_BUILD_TYPE is '${CMAKE_BUILD_TYPE}'; trainlab knows Release, Debug, Sanitize and Whole. "
                      "Use a preset: cmake --list-presets")
endif()

# Contracting a*b+c depends on compiler and target; results of a recipe must not. Nothing reads errno or the flags of
# floating-point exceptions after arithmetic. As long as g++ has to preserve them, a loop with a comparison or a square
# root does not become vector instructions.
add_compile_options(-ffp-contract=off -fno-math-errno -fno-trapping-math)

# Never -fopenmp: LibTorch brings its own OpenMP runtime, and two of them in one process fight over the cores.
if("${CMAKE_CXX_FLAGS} ${CMAKE_C_FLAGS}" MATCHES "-fopenmp")
  message(FATAL_ERROR "-fopenmp would load a second OpenMP runtime beside LibTorch's; remove it from the flags")
endif()

# g++ frees memory that it no longer needs only when it holds this much, in kilobytes: 9 % less time.
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  add_compile_options("$<$<COMPILE_LANGUAGE:CXX>:--param=ggc-min-heapsize=400000>")
endif()

set(warnings -Wall -Wextra -Wpedantic -Wshadow -Wformat=2 -Wnon-virtual-dtor -Woverloaded-virtual -Wextra-semi)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  list(APPEND warnings -Wsuggest-override -Wduplicated-cond -Wlogical-op)
  if(CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
    # g++ 12 sees overlaps and endless copies in any  "literal" + std::string,  and reads of a std::variant's other
    # members.
    list(APPEND warnings -Wno-restrict -Wno-stringop-overflow -Wno-array-bounds -Wno-maybe-uninitialized)
  endif()
endif()
if(TRAINLAB_WERROR)
  list(APPEND warnings -Werror)
endif()
foreach(warning IN LISTS warnings)
  add_compile_options("$<$<COMPILE_LANGUAGE:CXX>:${warning}>")
endforeach()

if(TRAINLAB_SANITIZE)
  add_compile_options(-fsanitize=${TRAINLAB_SANITIZE} -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${TRAINLAB_SANITIZE})
  if(TRAINLAB_SANITIZE MATCHES "undefined")
    add_compile_options(-fno-sanitize=vptr)  # wants type information that libraries do not export
    # g++ needs up to twice the time for these three, which look at each access to memory. The address sanitizer ends
    # the program at most of what they find, and tools/fuzz has them, by clang.
    if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
      add_compile_options(-fno-sanitize=null,alignment,object-size)
    endif()
  endif()
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # g++'s flow analysis goes astray in instrumented code.
    add_compile_options(-Wno-maybe-uninitialized -Wno-stringop-overflow -Wno-array-bounds)
    if(TRAINLAB_SANITIZE MATCHES "thread")
      add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-Wno-tsan>)  # std::atomic_thread_fence in system headers
    endif()
  endif()
endif()

# Objects are kept across clones: with a base folder ccache sees relative paths.
find_program(TRAINLAB_CCACHE ccache)
mark_as_advanced(TRAINLAB_CCACHE)
if(TRAINLAB_CCACHE AND NOT DEFINED CMAKE_CXX_COMPILER_LAUNCHER)
  # The sloppiness is what ccache asks for with precompiled headers: it then compares their content, not their times.
  set(CMAKE_CXX_COMPILER_LAUNCHER env "CCACHE_BASEDIR=${CMAKE_SOURCE_DIR}" CCACHE_PCH_EXTSUM=1
      CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime "${TRAINLAB_CCACHE}")
  set(CMAKE_C_COMPILER_LAUNCHER ${CMAKE_CXX_COMPILER_LAUNCHER})
endif()

find_program(TRAINLAB_MOLD mold)
mark_as_advanced(TRAINLAB_MOLD)
if(TRAINLAB_MOLD)
  # Code that hardly ever runs (paths to errors) lies by itself, so that a run maps fewer pages: the engine holds 0.6 MB
  # less memory in recipes/digits.lua.
  add_link_options(-fuse-ld=mold -Wl,-z,keep-text-section-prefix)
endif()
add_link_options(-Wl,--as-needed)

# The linker then sees the definitions of all files together: two classes of one name that differ are an error.
if(CMAKE_INTERPROCEDURAL_OPTIMIZATION AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  add_link_options(-Werror=odr -Werror=lto-type-mismatch)
endif()

set(TRAINLAB_BIN_DIR bin)                      # trainlab
set(TRAINLAB_LIBEXEC_DIR libexec)              # trainlab-engine, device plugins
set(TRAINLAB_LIB_DIR lib/trainlab)             # LibTorch
set(TRAINLAB_SHARE_DIR share/trainlab)         # recipes, stdlib

# Programs find their libraries by the same relative path in the build tree and in the installed tree, so nothing is
# relinked or patched at installation. (CMake's own build RPATH ends in a colon, which the loader reads as "the current
# directory": a library lying there by chance would be loaded.)
set(CMAKE_INSTALL_RPATH "$ORIGIN/../${TRAINLAB_LIB_DIR}")
set(CMAKE_BUILD_WITH_INSTALL_RPATH ON)
if(CMAKE_INSTALL_PREFIX_INITIALIZED_TO_DEFAULT)
  set(CMAKE_INSTALL_PREFIX "${CMAKE_BINARY_DIR}/install" CACHE PATH "where cmake --install puts the programs" FORCE)
endif()
