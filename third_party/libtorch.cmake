# LibTorch from the PyTorch wheel or the official zip, without TorchConfig.cmake (which demands nvcc and a list
# of architectures).  Makes torch::cpu, and torch::cuda where CUDA's headers are, and the precompiled header.
#
# Where: -DTRAINCTL_LIBTORCH=DIR, else $TRAINCTL_LIBTORCH, else .deps/libtorch (scripts/setup.sh).  DIR holds
# lib/ and include/, or torch/ with both (the wheel's layout).
set(TRAINCTL_LIBTORCH "" CACHE PATH "LibTorch: a folder with lib/ and include/, or with torch/")
set(dir "${TRAINCTL_LIBTORCH}")
if(NOT dir)
  set(dir "$ENV{TRAINCTL_LIBTORCH}")
endif()
if(NOT dir)
  set(dir ${PROJECT_SOURCE_DIR}/.deps/libtorch)
endif()
if(EXISTS ${dir}/torch/lib)
  set(dir ${dir}/torch)
endif()
if(NOT EXISTS ${dir}/lib/libtorch_cpu.so)
  message(FATAL_ERROR "no LibTorch in ${dir}\n  run scripts/setup.sh, or set TRAINCTL_LIBTORCH to a folder with "
                      "lib/libtorch_cpu.so, or build control only with -DTRAINCTL_ENGINE=OFF")
endif()
get_filename_component(dir ${dir} REALPATH)

file(STRINGS ${dir}/include/torch/headeronly/version.h lines REGEX "define TORCH_VERSION_(MAJOR|MINOR|PATCH) ")
string(REGEX REPLACE "[^0-9;]+" "" lines "${lines}")
string(REPLACE ";" "." TRAINCTL_TORCH_VERSION "${lines}")
if(NOT TRAINCTL_TORCH_VERSION MATCHES "^2\\.11\\.")
  message(FATAL_ERROR "LibTorch ${TRAINCTL_TORCH_VERSION} in ${dir}: trainctl is built against 2.11")
endif()
set(TRAINCTL_TORCH_DIR ${dir} CACHE INTERNAL "")
set(TRAINCTL_TORCH_VERSION ${TRAINCTL_TORCH_VERSION} CACHE INTERNAL "")

add_library(trainctl_torch_cpu INTERFACE)
add_library(torch::cpu ALIAS trainctl_torch_cpu)
# LibTorch's include folder also holds a fmt of its own (12), which fits neither libfmt nor spdlog here: ours goes first.
get_target_property(fmt_include fmt::fmt INTERFACE_INCLUDE_DIRECTORIES)
file(MAKE_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/our_fmt)
file(CREATE_LINK ${fmt_include}/fmt ${CMAKE_CURRENT_BINARY_DIR}/our_fmt/fmt SYMBOLIC)
target_include_directories(trainctl_torch_cpu SYSTEM INTERFACE
  ${CMAKE_CURRENT_BINARY_DIR}/our_fmt ${dir}/include ${dir}/include/torch/csrc/api/include ${dir}/include/kineto
  ${CMAKE_CURRENT_SOURCE_DIR}/gloo/include)
target_compile_definitions(trainctl_torch_cpu INTERFACE USE_DISTRIBUTED USE_C10D_GLOO)
target_link_libraries(trainctl_torch_cpu INTERFACE ${dir}/lib/libtorch_cpu.so ${dir}/lib/libc10.so Threads::Threads)
# libtorch.so is an empty shell that only pulls in the libraries above.  What they themselves need (cudart,
# cupti, their own OpenMP) they find by their own rpath at run time.
target_link_options(trainctl_torch_cpu INTERFACE -Wl,--allow-shlib-undefined)

add_library(trainctl_torch_pch OBJECT torch_pch.cpp)
trainctl_target_defaults(trainctl_torch_pch)
target_link_libraries(trainctl_torch_pch PUBLIC torch::cpu)
target_precompile_headers(trainctl_torch_pch PRIVATE ${CMAKE_CURRENT_SOURCE_DIR}/torch_pch.h)

# CUDA's headers: the toolkit's, or the wheels' (nvidia/cu13 and nvidia/nccl beside torch/, or the oracle's).
include(CheckCXXSourceCompiles)
set(TRAINCTL_CUDA_FOUND FALSE CACHE INTERNAL "")
set(not_built "")  # why libtrainctl_cuda.so is not; make_backend("cuda") says it
if(NOT TRAINCTL_CUDA)
  set(not_built "configured with -DTRAINCTL_CUDA=OFF")
elseif(NOT EXISTS ${dir}/lib/libtorch_cuda.so)
  set(not_built "LibTorch in ${dir} is a CPU build, without libtorch_cuda.so")
else()
  file(GLOB wheels ${dir}/../nvidia ${PROJECT_SOURCE_DIR}/.deps/oracle/lib/python3*/site-packages/nvidia)
  set(cuda_hints)
  set(nccl_hints)
  foreach(wheel IN LISTS wheels)
    list(APPEND cuda_hints ${wheel}/cu13/include)
    list(APPEND nccl_hints ${wheel}/nccl/include)
  endforeach()
  find_path(TRAINCTL_CUDA_INCLUDE cublas_v2.h HINTS $ENV{CUDA_HOME}/include ${cuda_hints} /usr/local/cuda/include)
  find_path(TRAINCTL_NCCL_INCLUDE nccl.h HINTS ${nccl_hints} ${TRAINCTL_CUDA_INCLUDE} /usr/local/cuda/include)
  # What those include in turn: in a toolkit it lies beside them, among the wheels in wheels of its own.
  find_path(TRAINCTL_CUDA_CRT_INCLUDE crt/host_defines.h HINTS ${TRAINCTL_CUDA_INCLUDE} ${cuda_hints})
  find_path(TRAINCTL_CUDA_CCCL_INCLUDE nv/target HINTS ${TRAINCTL_CUDA_INCLUDE}/cccl ${TRAINCTL_CUDA_INCLUDE} ${cuda_hints})
  set(cuda_includes ${TRAINCTL_CUDA_INCLUDE} ${TRAINCTL_NCCL_INCLUDE} ${TRAINCTL_CUDA_CRT_INCLUDE} ${TRAINCTL_CUDA_CCCL_INCLUDE})
  list(FILTER cuda_includes EXCLUDE REGEX NOTFOUND)
  set(CMAKE_REQUIRED_INCLUDES ${cuda_includes})
  check_cxx_source_compiles("#include <cublas_v2.h>
#include <cuda_runtime.h>
#include <cusolverDn.h>
#include <cusparse.h>
#include <nccl.h>
int main() {}" TRAINCTL_CUDA_HEADERS_COMPILE)
  unset(CMAKE_REQUIRED_INCLUDES)
  if(NOT TRAINCTL_CUDA_INCLUDE)
    set(not_built "cublas_v2.h and the other headers of CUDA were not found")
  elseif(NOT TRAINCTL_NCCL_INCLUDE)
    set(not_built "nccl.h was not found")
  elseif(NOT TRAINCTL_CUDA_HEADERS_COMPILE)
    set(not_built "CUDA's headers in ${TRAINCTL_CUDA_INCLUDE} do not compile (is crt/ or nv/target missing?)")
  else()
    message(STATUS "CUDA library: built with ${TRAINCTL_CUDA_INCLUDE} and ${TRAINCTL_NCCL_INCLUDE}/nccl.h")
    set(TRAINCTL_CUDA_FOUND TRUE CACHE INTERNAL "")
    add_library(trainctl_torch_cuda INTERFACE)
    add_library(torch::cuda ALIAS trainctl_torch_cuda)
    target_include_directories(trainctl_torch_cuda SYSTEM INTERFACE ${cuda_includes})
    target_compile_definitions(trainctl_torch_cuda INTERFACE USE_C10D_NCCL)
    target_link_libraries(trainctl_torch_cuda INTERFACE torch::cpu ${dir}/lib/libtorch_cuda.so ${dir}/lib/libc10_cuda.so)
    file(STRINGS ${TRAINCTL_NCCL_INCLUDE}/nccl.h nccl REGEX "define NCCL_(MAJOR|MINOR|PATCH) ")
    string(REGEX REPLACE "[^0-9;]+" "" nccl "${nccl}")
    string(REPLACE ";" "." nccl "${nccl}")
    set(TRAINCTL_NCCL_VERSION ${nccl} CACHE INTERNAL "")
    file(STRINGS ${TRAINCTL_CUDA_INCLUDE}/cuda.h cuda REGEX "define CUDA_VERSION ")
    string(REGEX REPLACE "[^0-9]+" "" cuda "${cuda}")
    math(EXPR major "${cuda} / 1000")
    math(EXPR minor "${cuda} % 1000 / 10")
    set(TRAINCTL_CUDA_VERSION ${major}.${minor} CACHE INTERNAL "")
  endif()
endif()
set(TRAINCTL_CUDA_NOT_BUILT "${not_built}" CACHE INTERNAL "")
if(not_built)
  message(STATUS "CUDA library: not built: ${not_built}")
endif()

include(InstallLibTorch)
set(TRAINCTL_ENGINE_RPATH "${TRAINCTL_ENGINE_RPATH}" CACHE INTERNAL "rpath of our engine libraries once installed")
