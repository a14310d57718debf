# Builds a project with nvcc's device links, then the same objects with RustNvLink, and compares the device code. Then
# checks that a build without changes does nothing, and that a change is linked once.
include("${CMAKE_CURRENT_LIST_DIR}/run.cmake")

# The sources are changed below.
set(copy "${build} sources")
file(REMOVE_RECURSE "${build}" "${copy}")
file(COPY "${source}/" DESTINATION "${copy}")

set(device_link "Linking .*cmake_device_link")

run("${CMAKE_COMMAND}" -S "${copy}" -B "${build}" -G "${generator}"
  "-DCMAKE_CUDA_COMPILER=${nvcc}" "-DCMAKE_CUDA_COMPILER_LAUNCHER=${CMAKE_CURRENT_LIST_DIR}/compile-once"
  -DCMAKE_CUDA_ARCHITECTURES=90-real)
build(steps)
file(GLOB_RECURSE objects RELATIVE "${build}" "${build}/*cmake_device_link.o")
list(LENGTH objects links)
expect("device links" ${links} 8 ${objects})
foreach(object IN LISTS objects)
  file(COPY_FILE "${build}/${object}" "${build}/${object}.nvcc")
endforeach()

run("${CMAKE_COMMAND}" "${build}" ${options})
build(steps)
count(compiled "Building" ${steps})
expect("compilations by another device linker" ${compiled} 0 ${steps})
count(linked "${device_link}" ${steps})
expect("device links by another device linker" ${linked} ${links} ${steps})
foreach(object IN LISTS objects)
  run("${same_images}" "${build}/${object}.nvcc" "${build}/${object}")
  # Our linker names itself in the image, so equal files would be those of nvcc.
  file(SHA256 "${build}/${object}.nvcc" theirs)
  file(SHA256 "${build}/${object}" ours)
  if(ours STREQUAL theirs)
    message(FATAL_ERROR "${object} was linked by nvlink")
  endif()
endforeach()

build(steps)
count(done "" ${steps})
expect("steps of a build without changes" ${done} 0 ${steps})

file(APPEND "${copy}/diamond/left.cu" "// A change.\n")
build(steps)
count(compiled "Building" ${steps})
expect("compilations of one change" ${compiled} 1 ${steps})
count(linked "${device_link}" ${steps})
expect("device links of one change" ${linked} 1 ${steps})
