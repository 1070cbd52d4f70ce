# What `cmake --install` does about LibTorch, so that the prefix runs from anywhere: its libraries are copied into
# <prefix>/lib/libtorch in the wheel's layout (their own rpaths find each other there).  With
# -DTRAINCTL_INSTALL_LIBTORCH=OFF the prefix uses the LibTorch that it was built with, where that lies.
include_guard()
option(TRAINCTL_INSTALL_LIBTORCH "Copy LibTorch's libraries into the installed prefix" ON)

if(TRAINCTL_INSTALL_LIBTORCH)
  set(TRAINCTL_ENGINE_RPATH "$ORIGIN;$ORIGIN/libtorch/torch/lib")
  # A CPU set-up holds libtorch_cuda.so for linking only; without NVIDIA's libraries it cannot load.
  set(unused)
  file(GLOB cublas ${TRAINCTL_TORCH_DIR}/../nvidia/cu13/lib/libcublas.so* ${TRAINCTL_TORCH_DIR}/lib/libcublas.so*)
  if(NOT cublas)
    set(unused PATTERN "libtorch_cuda*" EXCLUDE PATTERN "libc10_cuda*" EXCLUDE PATTERN "libtorch_nvshmem*" EXCLUDE
               PATTERN "libcaffe2_nvrtc*" EXCLUDE)
  endif()
  install(DIRECTORY ${TRAINCTL_TORCH_DIR}/lib/ DESTINATION lib/libtorch/torch/lib
          FILES_MATCHING PATTERN "*.so*" PATTERN "libtorch_python*" EXCLUDE ${unused})
  if(EXISTS ${TRAINCTL_TORCH_DIR}/../nvidia)
    install(DIRECTORY ${TRAINCTL_TORCH_DIR}/../nvidia DESTINATION lib/libtorch FILES_MATCHING PATTERN "*.so*")
  endif()
else()
  set(TRAINCTL_ENGINE_RPATH "$ORIGIN;${TRAINCTL_TORCH_DIR}/lib")
endif()
