# Makes the device link of a project for Clang, up to the image.
include("${CMAKE_CURRENT_LIST_DIR}/run.cmake")

set(ENV{NVCC} "${nvcc}")
file(REMOVE_RECURSE "${build}")
run("${CMAKE_COMMAND}" -S "${source}" -B "${build}" -G Ninja "-DCMAKE_TOOLCHAIN_FILE=${source}/toolchain.cmake"
  -DCMAKE_CUDA_ARCHITECTURES=90-real "-DCMAKE_PREFIX_PATH=${prefix}")
run(ninja -C "${build}" --verbose CMakeFiles/program.dir/sm_90.cubin)
if(NOT output MATCHES "bin/rustnvlink\"? -arch=sm_90" OR output MATCHES "bin/nvlink")
  message(FATAL_ERROR "the device code was not linked by rustnvlink:\n${output}")
endif()
if(NOT EXISTS "${build}/CMakeFiles/program.dir/sm_90.cubin")
  message(FATAL_ERROR "there is no image")
endif()
