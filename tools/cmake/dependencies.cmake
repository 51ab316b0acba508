# The libraries, each as an imported target of our own: trainlab::NAME. One name for each whatever way it is found, and
# a missing one is reported with the Debian package that brings it.

find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)
add_library(trainlab_threads INTERFACE)
target_link_libraries(trainlab_threads INTERFACE Threads::Threads)
add_library(trainlab::threads ALIAS trainlab_threads)

# trainlab_pkg(NAME MODULE VERSION PACKAGE): trainlab::NAME from pkg-config.
function(trainlab_pkg name module version package)
  pkg_check_modules(TRAINLAB_${name} QUIET IMPORTED_TARGET GLOBAL "${module}>=${version}")
  if(NOT TRAINLAB_${name}_FOUND)
    message(FATAL_ERROR "${module} ${version} or later is missing; on Debian: apt-get install ${package}")
  endif()
  add_library(trainlab::${name} ALIAS PkgConfig::TRAINLAB_${name})
endfunction()

# trainlab_headers(NAME HEADER PACKAGE): trainlab::NAME from a header.
function(trainlab_headers name header package)
  find_path(TRAINLAB_${name}_INCLUDE "${header}")
  mark_as_advanced(TRAINLAB_${name}_INCLUDE)
  if(NOT TRAINLAB_${name}_INCLUDE)
    message(FATAL_ERROR "the header ${header} is missing; on Debian: apt-get install ${package}")
  endif()
  add_library(trainlab::${name} INTERFACE IMPORTED GLOBAL)
  target_include_directories(trainlab::${name} SYSTEM INTERFACE "${TRAINLAB_${name}_INCLUDE}")
endfunction()

# trainlab_archive_or_shared(NAME MODULE VERSION PACKAGE): trainlab::NAME from pkg-config, as one library. Programs with
# the property TRAINLAB_ARCHIVES hold a copy of the library where the package has one, and others share the library.
function(trainlab_archive_or_shared name module version package)
  trainlab_pkg(${name}_shared ${module} ${version} ${package})
  list(GET TRAINLAB_${name}_shared_LIBRARIES 0 library)
  find_library(TRAINLAB_${name}_archive lib${library}.a HINTS ${TRAINLAB_${name}_shared_LIBRARY_DIRS})
  mark_as_advanced(TRAINLAB_${name}_archive)
  add_library(trainlab::${name} INTERFACE IMPORTED GLOBAL)
  if(TRAINLAB_${name}_archive)
    set(archives "$<BOOL:$<TARGET_PROPERTY:TRAINLAB_ARCHIVES>>")
    target_link_libraries(trainlab::${name} INTERFACE
                          "$<IF:${archives},${TRAINLAB_${name}_archive},trainlab::${name}_shared>")
    target_include_directories(trainlab::${name} SYSTEM INTERFACE ${TRAINLAB_${name}_shared_INCLUDE_DIRS})
  else()
    target_link_libraries(trainlab::${name} INTERFACE trainlab::${name}_shared)
  endif()
endfunction()

trainlab_archive_or_shared(sodium libsodium 1.0.18 libsodium-dev)
trainlab_archive_or_shared(sqlite sqlite3 3.35 libsqlite3-dev)
trainlab_pkg(luajit luajit 2.1 libluajit-5.1-dev)
trainlab_pkg(zlib zlib 1.2 zlib1g-dev)
trainlab_pkg(jpeg libjpeg 2.1 libjpeg62-turbo-dev)
trainlab_pkg(png libpng 1.6 libpng-dev)

# SOCI has no .pc file. Its backend needs SQLite's own header.
foreach(name IN ITEMS soci_core soci_sqlite3)
  find_library(TRAINLAB_${name} ${name})
  mark_as_advanced(TRAINLAB_${name})
  if(NOT TRAINLAB_${name})
    message(FATAL_ERROR "${name} is missing; on Debian: apt-get install libsoci-dev")
  endif()
endforeach()
add_library(trainlab::soci INTERFACE IMPORTED GLOBAL)
target_link_libraries(trainlab::soci INTERFACE "${TRAINLAB_soci_sqlite3}" "${TRAINLAB_soci_core}" trainlab::sqlite)

# Chart.js, which pages of `trainlab report --html` hold as it is.
find_file(TRAINLAB_CHART_LIBRARY chart.min.js PATHS /usr/share/javascript/chart.js NO_DEFAULT_PATH)
mark_as_advanced(TRAINLAB_CHART_LIBRARY)
if(NOT TRAINLAB_CHART_LIBRARY)
  message(FATAL_ERROR "chart.min.js is missing; on Debian: apt-get install libjs-chart.js")
endif()

# Replaces malloc and free in programs that link LibTorch: small steps are mostly allocation, and glibc serves aligned
# blocks and the bursts that a garbage collector frees slowly. Sanitizers bring an allocator of their own.
add_library(trainlab::allocator INTERFACE IMPORTED GLOBAL)
if(NOT TRAINLAB_SANITIZE)
  find_library(TRAINLAB_MIMALLOC mimalloc)
  find_path(TRAINLAB_MIMALLOC_INCLUDE mimalloc.h)
  mark_as_advanced(TRAINLAB_MIMALLOC TRAINLAB_MIMALLOC_INCLUDE)
  if(NOT TRAINLAB_MIMALLOC OR NOT TRAINLAB_MIMALLOC_INCLUDE)
    message(FATAL_ERROR "mimalloc is missing; on Debian: apt-get install libmimalloc-dev")
  endif()
  # Named in every program although it asks for no symbol of it by name alone, and before the C library.
  target_link_libraries(trainlab::allocator INTERFACE
    -Wl,--push-state,--no-as-needed "${TRAINLAB_MIMALLOC}" -Wl,--pop-state)
endif()

# Header-only ones: their .pc files may name a library that is not wanted, or none at all.
trainlab_headers(tomlplusplus toml++/toml.h libtomlplusplus-dev)
trainlab_headers(json nlohmann/json.hpp nlohmann-json3-dev)
trainlab_headers(boost boost/version.hpp libboost-dev)
trainlab_headers(catch2 catch2/catch.hpp catch2)
trainlab_headers(eigen eigen3/Eigen/Dense libeigen3-dev)

# fmt. LibTorch's include folder brings another version of fmt; a folder that holds nothing but a link to the system's
# fmt, searched before LibTorch's, makes <fmt/…> mean the system's everywhere.
find_path(TRAINLAB_fmt_INCLUDE fmt/format.h)
mark_as_advanced(TRAINLAB_fmt_INCLUDE)
if(NOT TRAINLAB_fmt_INCLUDE)
  message(FATAL_ERROR "the header fmt/format.h is missing; on Debian: apt-get install libfmt-dev")
endif()
file(MAKE_DIRECTORY "${CMAKE_BINARY_DIR}/include/fmt")
file(CREATE_LINK "${TRAINLAB_fmt_INCLUDE}/fmt" "${CMAKE_BINARY_DIR}/include/fmt/fmt" SYMBOLIC)
add_library(trainlab_fmt STATIC "${CMAKE_CURRENT_LIST_DIR}/fmt.cpp")
add_library(trainlab::fmt ALIAS trainlab_fmt)
target_include_directories(trainlab_fmt PUBLIC "${CMAKE_BINARY_DIR}/include/fmt")

include(torch)
