# Builds a project whose device code only RustNvLink links, and checks what came out against nvcc. Then checks that a
# build without changes does nothing, and that a change gets everywhere. Where one build folder has several
# configurations, each has files of its own.
include("${CMAKE_CURRENT_LIST_DIR}/run.cmake")

set(copy "${build} sources")
file(REMOVE_RECURSE "${build}" "${copy}")
file(COPY "${source}/" "${source}/../shapes/" DESTINATION "${copy}" FILES_MATCHING PATTERN "*.cu" PATTERN "*.cpp")
file(COPY "${source}/CMakeLists.txt" "${source}/rusty.rs" DESTINATION "${copy}")

configure("${copy}" "-DCMAKE_CUDA_COMPILER_LAUNCHER=${CMAKE_CURRENT_LIST_DIR}/compile-once"
  -DCMAKE_CUDA_ARCHITECTURES=90-real ${options})
build(steps)

# Where a configuration has its files.
set(debug "")
if(generator MATCHES "Multi-Config")
  set(debug "Debug/")
endif()

# Those that all compilers make code for, and the others.
set(programs uses_rust own takes n chooses)
if(EXISTS "${build}/${debug}fast")
  list(APPEND programs fast)
endif()

# The programs start: their device code registers itself with the runtime.
foreach(program nested loads ${programs})
  run("${build}/${debug}${program}")
endforeach()

# The same objects by nvcc.
file(GLOB inner "${build}/CMakeFiles/inner.dir/${debug}*.o")
file(GLOB outer "${build}/CMakeFiles/outer.dir/${debug}*.o")
run("${nvcc}" -arch=sm_90 -dlink ${outer} ${inner} -o "${build}/nvcc.o")
run("${same_images}" "${build}/nvcc.o" "${build}/CMakeFiles/nested.dir/${debug}rustnvlink_device_link.o")
foreach(target plugin ${programs})
  if(NOT EXISTS "${build}/CMakeFiles/${target}.dir/${debug}rustnvlink_device_link.o")
    message(FATAL_ERROR "no device link of ${target}")
  endif()
  if(EXISTS "${build}/CMakeFiles/${target}.dir/${debug}cmake_device_link.o")
    message(FATAL_ERROR "CMake has linked the device code of ${target}, too")
  endif()
endforeach()

foreach(image "${debug}fat.fatbin" "images/${debug}one.cubin" "${debug}described.h")
  if(NOT EXISTS "${build}/${image}")
    message(FATAL_ERROR "there is no ${image}")
  endif()
endforeach()

if(debug)
  run("${CMAKE_COMMAND}" --build "${build}" --parallel 2 --config Release --target fat one described)
  run("${CMAKE_COMMAND}" -E compare_files "${build}/images/Debug/one.cubin" "${build}/images/Release/one.cubin")
endif()

build(steps)
count(done "" ${steps})
expect("steps of a build without changes" ${done} 0 ${steps})

file(APPEND "${copy}/twice.cu" "// A change.\n")
build(steps)
count(compiled "Building CUDA" ${steps})
expect("compilations of one change" ${compiled} 1 ${steps})
# These, two more, and three images.
list(LENGTH programs expected)
math(EXPR expected "${expected} + 5")
count(linked "Linking (device code of (nested|plugin|uses_rust|chooses|fast|fat|one|described)|(CUDA|CXX) executable (${debug})?(own|takes|n))$" ${steps})
expect("device links of one change" ${linked} ${expected} ${steps})

run("${CMAKE_COMMAND}" --build "${build}" --target clean)
file(GLOB_RECURSE left "${build}/*rustnvlink_device_link.o*" "${build}/*fat.fatbin*" "${build}/*one.cubin*" "${build}/*described.h*")
# The other configuration is not cleaned.
list(FILTER left EXCLUDE REGEX "/Release/")
list(LENGTH left number)
expect("files behind a cleaning" ${number} 0 ${left})
