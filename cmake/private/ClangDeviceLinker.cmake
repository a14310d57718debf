# What CMake calls for the device links of Clang, in a directory that has enabled CUDA or is about to do so. There CMake runs
# nvlink and fatbinary by itself, the latter in words from before CUDA 13.
if(_RUSTNVLINK_OVERRIDE_OF_PROJECT)
  include("${_RUSTNVLINK_OVERRIDE_OF_PROJECT}")
endif()
if(CMAKE_CUDA_COMPILER_ID STREQUAL "Clang" AND TARGET RustNvLink::cudalink)
  get_target_property(CMAKE_CUDA_DEVICE_LINKER RustNvLink::rustnvlink IMPORTED_LOCATION)
  get_target_property(CMAKE_CUDA_FATBINARY RustNvLink::cudalink IMPORTED_LOCATION)
  # CMake writes them into command lines as they stand, and into a file of its own between double quotes.
  if(CMAKE_CUDA_DEVICE_LINKER MATCHES " ")
    set(CMAKE_CUDA_DEVICE_LINKER "'${CMAKE_CUDA_DEVICE_LINKER}'")
    set(CMAKE_CUDA_FATBINARY "'${CMAKE_CUDA_FATBINARY}'")
  endif()
  string(APPEND CMAKE_CUDA_FATBINARY " fatbinary")
  # Else objects hold their device code for steps of Clang's own, which CMake does not run.
  if(CMAKE_CUDA_COMPILER_VERSION VERSION_GREATER_EQUAL 21
      AND NOT "${CMAKE_CUDA_FLAGS} ${CMAKE_CUDA_FLAGS_INIT}" MATCHES "offload-new-driver")
    if(DEFINED CMAKE_CUDA_FLAGS)
      string(APPEND CMAKE_CUDA_FLAGS " --no-offload-new-driver")
    else()
      string(APPEND CMAKE_CUDA_FLAGS_INIT " --no-offload-new-driver")
    endif()
  endif()
endif()
