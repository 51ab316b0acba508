# trainlab::torch: LibTorch's CPU half (libtorch_cpu, libc10) from TRAINLAB_TORCH_DIR, a folder with include/ and lib/.
#
# find_package(Torch) is not used: on the CUDA wheel it insists on a complete CUDA toolkit, which the CPU half does not
# need.

set(TRAINLAB_TORCH_VERSION 2.11)
set(torch_default "${CMAKE_SOURCE_DIR}/.deps/torch")
if(NOT "$ENV{TRAINLAB_TORCH}" STREQUAL "")
  set(torch_default "$ENV{TRAINLAB_TORCH}")
endif()
set(TRAINLAB_TORCH_DIR "${torch_default}" CACHE PATH
    "LibTorch ${TRAINLAB_TORCH_VERSION}: a folder with include/ and lib/")

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
if(NOT torch_version MATCHES "^2\\.11\\.")
  message(FATAL_ERROR "LibTorch in ${TRAINLAB_TORCH_DIR} is ${torch_version}; trainlab needs ${TRAINLAB_TORCH_VERSION}")
endif()

# Some libraries that libtorch_cpu.so needs lie beside it (OpenMP), some in the system. Two small CUDA libraries lie
# where its wheel's own RPATH looks, among the files that tools/setup fetched, or in a CUDA toolkit. A build of LibTorch
# without CUDA does not need these two.
execute_process(COMMAND "${CMAKE_READELF}" -d "${TRAINLAB_TORCH_DIR}/lib/libtorch_cpu.so"
                OUTPUT_VARIABLE torch_dynamic COMMAND_ERROR_IS_FATAL ANY)
string(REGEX MATCHALL "\\(NEEDED\\)[^\n]*" torch_dynamic "${torch_dynamic}")
set(cuda_folders
  "${TRAINLAB_TORCH_DIR}/../nvidia/cu13/lib"
  "${CMAKE_SOURCE_DIR}/.deps/cuda/lib"
  "$ENV{CUDA_HOME}/lib64" "$ENV{CUDA_HOME}/extras/CUPTI/lib64"
  /usr/local/cuda/lib64 /usr/local/cuda/extras/CUPTI/lib64)
file(REAL_PATH "${TRAINLAB_TORCH_DIR}/lib" torch_lib)
set(torch_folders "${torch_lib}")
set(torch_files libtorch_cpu.so libc10.so)
list(TRANSFORM torch_files PREPEND "${torch_lib}/")
foreach(line IN LISTS torch_dynamic)
  string(REGEX REPLACE ".*\\[(.*)\\].*" "\\1" name "${line}")
  if(name STREQUAL "libc10.so")
    continue()
  elseif(EXISTS "${torch_lib}/${name}")
    list(APPEND torch_files "${torch_lib}/${name}")
  elseif(name MATCHES "^lib(cudart|cupti)")
    unset(found)
    foreach(folder IN LISTS cuda_folders)
      if(EXISTS "${folder}/${name}")
        set(found "${folder}")
        break()
      endif()
    endforeach()
    if(NOT DEFINED found)
      list(JOIN cuda_folders " " looked)
      message(FATAL_ERROR "${name}, which this LibTorch needs, is in none of: ${looked}. tools/setup fetches it; "
                          "or set CUDA_HOME to a CUDA toolkit of its version.")
    endif()
    cmake_path(NORMAL_PATH found)
    list(APPEND torch_folders "${found}")
    list(APPEND torch_files "${found}/${name}")
  endif()
endforeach()
list(REMOVE_DUPLICATES torch_folders)

# LibTorch's CUDA half loads these libraries by name when a matrix is first decomposed on a GPU. The names are looked
# for where the program finds LibTorch, so the build tree has links to the two libraries there too.
set(torch_late_files "")
foreach(file IN ITEMS "${torch_lib}/libtorch_cuda_linalg.so" "${torch_lib}/../../nvidia/cu13/lib/libcusolver.so.12")
  if(EXISTS "${file}")
    list(APPEND torch_late_files "${file}")
  endif()
endforeach()

add_library(trainlab::c10 SHARED IMPORTED GLOBAL)
set_target_properties(trainlab::c10 PROPERTIES IMPORTED_LOCATION "${torch_lib}/libc10.so" IMPORTED_SONAME libc10.so)

add_library(trainlab::torch SHARED IMPORTED GLOBAL)
set_target_properties(trainlab::torch PROPERTIES
  IMPORTED_LOCATION "${torch_lib}/libtorch_cpu.so"
  IMPORTED_SONAME libtorch_cpu.so)
target_include_directories(trainlab::torch INTERFACE
  "${CMAKE_CURRENT_LIST_DIR}/torch_instead"
  "${TRAINLAB_TORCH_DIR}/include" "${TRAINLAB_TORCH_DIR}/include/torch/csrc/api/include")
# LibTorch's own headers then name the headers of the operators that they use. Otherwise some of them (ExpandUtils.h,
# input_metadata.h) include the headers of all 2,000 operators, which costs g++ 5 s for each file.
target_compile_definitions(trainlab::torch INTERFACE AT_PER_OPERATOR_HEADERS)
target_link_libraries(trainlab::torch INTERFACE trainlab::c10)
set_target_properties(trainlab::torch PROPERTIES TRAINLAB_USES_TORCH ON)

# RPATH, not RUNPATH, because it also serves the libraries' own needs (libtorch_cpu → libcudart), and because an
# LD_LIBRARY_PATH left over from another LibTorch must not win.
target_link_options(trainlab::torch INTERFACE -Wl,--disable-new-dtags)
foreach(folder IN LISTS torch_folders)
  target_link_options(trainlab::torch INTERFACE "-Wl,-rpath-link,${folder}")
endforeach()

# The build tree gets links and the installed tree copies, both under the names by which the libraries are asked for.
file(MAKE_DIRECTORY "${CMAKE_BINARY_DIR}/${TRAINLAB_LIB_DIR}")
foreach(file IN LISTS torch_files torch_late_files)
  cmake_path(GET file FILENAME name)
  file(REAL_PATH "${file}" real)
  file(CREATE_LINK "${real}" "${CMAKE_BINARY_DIR}/${TRAINLAB_LIB_DIR}/${name}" SYMBOLIC)
  if(file IN_LIST torch_files)
    install(PROGRAMS "${real}" DESTINATION "${TRAINLAB_LIB_DIR}" RENAME "${name}")
  endif()
endforeach()
