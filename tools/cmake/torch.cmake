# trainlab::torch: LibTorch's CPU half (libtorch_cpu, libc10) from TRAINLAB_TORCH_DIR, a folder with include/ and lib/.
#
# find_package(Torch) is not used: on the CUDA wheel it insists on a complete CUDA toolkit, which the CPU half does not
# need. What it does need are two small CUDA libraries, which are looked for where they can be.

set(TRAINLAB_TORCH_VERSION 2.11.0)
set(torch_default "${CMAKE_SOURCE_DIR}/.deps/torch")
if(NOT "$ENV{TRAINLAB_TORCH}" STREQUAL "")
  set(torch_default "$ENV{TRAINLAB_TORCH}")
endif()
set(TRAINLAB_TORCH_DIR "${torch_default}" CACHE PATH "LibTorch ${TRAINLAB_TORCH_VERSION}: a folder with include/ and lib/")

# The thread sanitizer cannot look into LibTorch and takes its locks for races: such a build leaves out all that needs
# it (see trainlab_module).
if(TRAINLAB_SANITIZE MATCHES "thread")
  set(TRAINLAB_WITH_TORCH OFF)
  return()
endif()
set(TRAINLAB_WITH_TORCH ON)

foreach(file IN ITEMS lib/libtorch_cpu.so lib/libc10.so include/ATen/core/Tensor.h include/torch/headeronly/version.h)
  if(NOT EXISTS "${TRAINLAB_TORCH_DIR}/${file}")
    message(FATAL_ERROR "no LibTorch ${TRAINLAB_TORCH_VERSION} in ${TRAINLAB_TORCH_DIR}: ${file} is missing. "
                        "tools/setup fetches it; TRAINLAB_TORCH=DIR names one that is there already.")
  endif()
endforeach()

file(STRINGS "${TRAINLAB_TORCH_DIR}/include/torch/headeronly/version.h" version_lines
     REGEX "^#define TORCH_VERSION_(MAJOR|MINOR|PATCH) [0-9]+")
string(REGEX REPLACE "[^0-9;]+" "" version_numbers "${version_lines}")
list(JOIN version_numbers "." torch_version)
if(NOT torch_version VERSION_EQUAL TRAINLAB_TORCH_VERSION)
  message(FATAL_ERROR "LibTorch in ${TRAINLAB_TORCH_DIR} is ${torch_version}; trainlab needs ${TRAINLAB_TORCH_VERSION}")
endif()

# libcudart and libcupti: beside LibTorch, where its wheel's own RPATH looks, in what the set-up fetched, or in a
# CUDA 13 toolkit.
set(cuda_folders
  "${TRAINLAB_TORCH_DIR}/lib"
  "${TRAINLAB_TORCH_DIR}/../nvidia/cu13/lib"
  "${CMAKE_SOURCE_DIR}/.deps/cuda/lib"
  "$ENV{CUDA_HOME}/lib64" "$ENV{CUDA_HOME}/extras/CUPTI/lib64"
  /usr/local/cuda/lib64 /usr/local/cuda/extras/CUPTI/lib64
  /usr/local/cuda-13.0/lib64 /usr/local/cuda-13.0/extras/CUPTI/lib64)
foreach(name IN ITEMS cudart cupti)
  unset(found)
  foreach(folder IN LISTS cuda_folders)
    if(EXISTS "${folder}/lib${name}.so.13")
      file(REAL_PATH "${folder}" found)
      break()
    endif()
  endforeach()
  if(NOT DEFINED found)
    message(FATAL_ERROR "lib${name}.so.13, which LibTorch ${TRAINLAB_TORCH_VERSION} needs, is in none of: "
                        "${cuda_folders}. tools/setup fetches it (4 MB); or set CUDA_HOME to a CUDA 13 toolkit.")
  endif()
  set(torch_${name} "${found}/lib${name}.so.13")
  list(APPEND torch_cuda_folders "${found}")
endforeach()
file(REAL_PATH "${TRAINLAB_TORCH_DIR}/lib" torch_lib)
set(torch_rpath ${torch_lib} ${torch_cuda_folders})
list(REMOVE_DUPLICATES torch_rpath)

add_library(trainlab::c10 SHARED IMPORTED GLOBAL)
set_target_properties(trainlab::c10 PROPERTIES IMPORTED_LOCATION "${torch_lib}/libc10.so" IMPORTED_SONAME libc10.so)

add_library(trainlab::torch SHARED IMPORTED GLOBAL)
set_target_properties(trainlab::torch PROPERTIES
  IMPORTED_LOCATION "${torch_lib}/libtorch_cpu.so"
  IMPORTED_SONAME libtorch_cpu.so)
target_include_directories(trainlab::torch INTERFACE
  "${TRAINLAB_TORCH_DIR}/include" "${TRAINLAB_TORCH_DIR}/include/torch/csrc/api/include")
target_link_libraries(trainlab::torch INTERFACE trainlab::c10)

# RPATH, not RUNPATH, because it also serves the libraries' own needs (libtorch_cpu → libcudart), and because an
# LD_LIBRARY_PATH left over from another LibTorch must not win.
target_link_options(trainlab::torch INTERFACE -Wl,--disable-new-dtags)
foreach(folder IN LISTS torch_rpath)
  target_link_options(trainlab::torch INTERFACE "-Wl,-rpath-link,${folder}")
endforeach()
list(APPEND CMAKE_BUILD_RPATH ${torch_rpath})

# The installed tree stands alone: the libraries, under the names by which they are asked for.
foreach(name IN ITEMS libtorch_cpu.so libc10.so libgomp.so.1)
  if(EXISTS "${torch_lib}/${name}")
    file(REAL_PATH "${torch_lib}/${name}" real)
    install(PROGRAMS "${real}" DESTINATION "${TRAINLAB_LIB_DIR}" RENAME "${name}")
  endif()
endforeach()
foreach(name IN ITEMS cudart cupti)
  file(REAL_PATH "${torch_${name}}" real)
  install(PROGRAMS "${real}" DESTINATION "${TRAINLAB_LIB_DIR}" RENAME "lib${name}.so.13")
endforeach()
