# Builds and runs an example.
include("${CMAKE_CURRENT_LIST_DIR}/run.cmake")

file(REMOVE_RECURSE "${build}")
configure("${source}" -DCMAKE_CUDA_ARCHITECTURES=90 ${options})
run("${CMAKE_COMMAND}" --build "${build}")
run("${build}/${program}")
if(output STREQUAL "")
  message(FATAL_ERROR "${program} printed nothing")
endif()
