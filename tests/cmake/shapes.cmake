# Builds a project with RustNvLink and compares the device code with that of nvlink, which ${reference} holds; without it,
# the project is first built with the device links of ${compiler}. Then checks that a build without changes does nothing,
# and that a change is linked once.
include("${CMAKE_CURRENT_LIST_DIR}/run.cmake")

# The sources are changed below.
set(copy "${build} sources")
file(REMOVE_RECURSE "${build}" "${copy}")
file(COPY "${source}/" DESTINATION "${copy}")

# Those for nvcc, and the ones for one processor of those for Clang.
set(device_link "Linking .*(cmake_device_link|/sm_90[.]cubin)")

set(common "-DCMAKE_CUDA_COMPILER_LAUNCHER=${CMAKE_CURRENT_LIST_DIR}/compile-once" -DCMAKE_CUDA_ARCHITECTURES=90-real
  # Nothing that tells one configuration from another, so that objects can be shared.
  -DCMAKE_CUDA_FLAGS_DEBUG=)

if(reference)
  configure("${copy}" ${common} ${options})
  build(steps)
  find_links(objects ${links})
else()
  set(reference "${build}")
  configure("${copy}" ${common})
  build(steps)
  find_links(objects ${links})
  keep_links(${objects})

  run("${CMAKE_COMMAND}" "${build}" ${options})
  build(steps)
  count(compiled "Building" ${steps})
  expect("compilations by another device linker" ${compiled} 0 ${steps})
  count(linked "${device_link}" ${steps})
  expect("device links by another device linker" ${linked} ${links} ${steps})
endif()
compare_links("${reference}" ${objects})

build(steps)
count(done "" ${steps})
expect("steps of a build without changes" ${done} 0 ${steps})

file(APPEND "${copy}/diamond/left.cu" "// A change.\n")
build(steps)
count(compiled "Building" ${steps})
expect("compilations of one change" ${compiled} 1 ${steps})
count(linked "${device_link}" ${steps})
expect("device links of one change" ${linked} 1 ${steps})
