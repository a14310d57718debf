# Builds a project with RustNvLink and compares the device code with that of nvlink, which ${reference} holds. Without it
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

# name_of_target(<out> <object>): sets <out> to the target that an object is of, wherever CMake has put it.
function(name_of_target out object)
  string(REGEX MATCH "([^/]+)\\.dir/" found "${object}")
  set(${out} "${CMAKE_MATCH_1}" PARENT_SCOPE)
endfunction()

# find_links(<out>): sets <out> to the objects of device links.
function(find_links out)
  file(GLOB_RECURSE objects RELATIVE "${build}" "${build}/*cmake_device_link.o")
  list(LENGTH objects found)
  expect("device links" ${found} ${links} ${objects})
  set(${out} ${objects} PARENT_SCOPE)
endfunction()

if(reference)
  configure("${copy}" ${common} ${options})
  build(steps)
  find_links(objects)
else()
  set(reference "${build}")
  configure("${copy}" ${common})
  build(steps)
  find_links(objects)
  file(MAKE_DIRECTORY "${build}/by nvlink")
  foreach(object IN LISTS objects)
    name_of_target(target "${object}")
    file(COPY_FILE "${build}/${object}" "${build}/by nvlink/${target}.o")
  endforeach()

  run("${CMAKE_COMMAND}" "${build}" ${options})
  build(steps)
  count(compiled "Building" ${steps})
  expect("compilations by another device linker" ${compiled} 0 ${steps})
  count(linked "${device_link}" ${steps})
  expect("device links by another device linker" ${linked} ${links} ${steps})
endif()
foreach(object IN LISTS objects)
  name_of_target(target "${object}")
  set(theirs "${reference}/by nvlink/${target}.o")
  run("${same_images}" "${theirs}" "${build}/${object}")
  # Our linker names itself in the image, so equal files would be those of nvcc.
  file(SHA256 "${theirs}" hash_of_theirs)
  file(SHA256 "${build}/${object}" hash_of_ours)
  if(hash_of_ours STREQUAL hash_of_theirs)
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
