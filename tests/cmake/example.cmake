# Builds and runs the CMake example.
include("${CMAKE_CURRENT_LIST_DIR}/run.cmake")

file(REMOVE_RECURSE "${build}")
run("${CMAKE_COMMAND}" -S "${source}" -B "${build}" -G Ninja
  "-DCMAKE_CUDA_COMPILER=${nvcc}" -DCMAKE_CUDA_ARCHITECTURES=90 ${options})
run("${CMAKE_COMMAND}" --build "${build}")
run("${build}/orbits")
if(NOT output MATCHES "^no GPU: |steps on their circles")
  message(FATAL_ERROR "the program printed:\n${output}")
endif()
