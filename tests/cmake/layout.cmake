# Builds a project as it is, and once more with RustNvLink injected into it; compares the device code, and runs the
# programs. Then installs it and builds another project that uses its static library, and fetches RustNvLink by itself.
include("${CMAKE_CURRENT_LIST_DIR}/run.cmake")

# A shared CUDA runtime is in no folder that is searched by default.
set(ENV{LD_LIBRARY_PATH} "${toolkit}/lib64")
file(REMOVE_RECURSE "${build}")
set(installed "${build}/installed")

configure("${source}" ${options})
build(steps)
find_links(objects 2)
keep_links(${objects})

run("${CMAKE_COMMAND}" "${build}" "-DCMAKE_PROJECT_INCLUDE=${prefix}/lib/cmake/RustNvLink/RustNvLinkInject.cmake")
build(steps)
count(compiled "Building" ${steps})
expect("compilations by another device linker" ${compiled} 0 ${steps})
compare_links("${build}" ${objects})
run("${CMAKE_CTEST_COMMAND}" --test-dir "${build}" --output-on-failure --no-tests=error -C Debug)
build(steps)
count(done "" ${steps})
expect("steps of a build without changes" ${done} 0 ${steps})

run("${CMAKE_COMMAND}" --install "${build}" --prefix "${installed}" --config Debug)
run("${installed}/bin/noisy")

string(APPEND build " user")
file(REMOVE_RECURSE "${build}")
configure("${source}-user" ${options} "-DCMAKE_PREFIX_PATH=${installed}" ${fetch_options})
build(steps)
find_links(objects 1)
file(GLOB_RECURSE programs "${build}/user" "${build}/cxx_user")
foreach(program IN LISTS programs)
  run("${program}")
endforeach()
list(LENGTH programs found)
expect("programs" ${found} 2 ${programs})
