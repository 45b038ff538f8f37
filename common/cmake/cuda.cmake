# PENSTOCK_CUDA=AUTO|ON|OFF: whether to build GPU delivery with a CUDA toolkit. Sets
# PENSTOCK_HAS_CUDA and enables the language. Neither the build machine nor the target machine needs
# a GPU or a driver: the runtime is linked statically, and the driver is not linked at all.
set(PENSTOCK_CUDA "AUTO" CACHE STRING "Build GPU delivery: AUTO (if a toolkit is found), ON, OFF")
set_property(CACHE PENSTOCK_CUDA PROPERTY STRINGS AUTO ON OFF)
# Machine code for A100 (80), A10 and RTX 30 (86), L4, L40 and RTX 40 (89), H100 and H200 (90); and
# PTX of 90, which the driver compiles for newer GPUs when a trainer first uses it. They are the
# GPUs that training runs on and that CUDA 13 still builds for. Against 90 alone this costs 13 s
# more of one core, and in each program with kernels 2.3 MB, 0.5 MB of them once packed. Developers'
# presets build for 90 alone.
set(PENSTOCK_CUDA_ARCHITECTURES 80-real 86-real 89-real 90 CACHE STRING
    "GPU architectures to build kernels for, in CMake's notation")

if(NOT PENSTOCK_CUDA MATCHES "^(AUTO|ON|OFF)$")
  message(FATAL_ERROR "PENSTOCK_CUDA is '${PENSTOCK_CUDA}'; give it AUTO, ON or OFF")
endif()

set(PENSTOCK_HAS_CUDA OFF)
if(PENSTOCK_CUDA STREQUAL "OFF")
  message(STATUS "CUDA: off, as asked (PENSTOCK_CUDA=OFF); batches are delivered to host memory")
else()
  find_package(CUDAToolkit QUIET)
  if(CUDAToolkit_FOUND AND CUDAToolkit_NVCC_EXECUTABLE)
    set(PENSTOCK_HAS_CUDA ON)
    message(STATUS
      "CUDA: toolkit ${CUDAToolkit_VERSION} found (${CUDAToolkit_NVCC_EXECUTABLE}); batches "
            "are delivered to GPUs, kernels built for architecture ${PENSTOCK_CUDA_ARCHITECTURES}")
  elseif(PENSTOCK_CUDA STREQUAL "ON")
    message(FATAL_ERROR
      "PENSTOCK_CUDA=ON, but no CUDA toolkit with nvcc was found; install one, point "
            "CUDAToolkit_ROOT at it, or configure with PENSTOCK_CUDA=AUTO or OFF")
  else()
    message(STATUS
      "CUDA: no toolkit found (PENSTOCK_CUDA=AUTO); batches are delivered to host memory")
  endif()
endif()

if(PENSTOCK_HAS_CUDA)
  set(CMAKE_CUDA_COMPILER ${CUDAToolkit_NVCC_EXECUTABLE} CACHE FILEPATH "nvcc")
  set(CMAKE_CUDA_ARCHITECTURES ${PENSTOCK_CUDA_ARCHITECTURES})
  set(CMAKE_CUDA_RUNTIME_LIBRARY Static)
  enable_language(CUDA)
  # CMake 3.25 does not know nvcc's option for C++20.
  if(NOT CMAKE_CUDA20_STANDARD_COMPILE_OPTION)
    set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION -std=c++20)
    set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION -std=c++20)
  endif()
endif()
