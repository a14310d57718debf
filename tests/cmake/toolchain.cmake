# Injects RustNvLink into a project by a variable of the environment, as where CMake is called by something else.
include("${CMAKE_CURRENT_LIST_DIR}/run.cmake")

file(REMOVE_RECURSE "${build}")
file(WRITE "${build}/inject.cmake"
  "set(CMAKE_PROJECT_INCLUDE \"${prefix}/lib/cmake/RustNvLink/RustNvLinkInject.cmake\")\n")
set(ENV{CMAKE_TOOLCHAIN_FILE} "${build}/inject.cmake")
run("${CMAKE_COMMAND}" -S "${source}" -B "${build}")

# It says so, once.
string(REGEX MATCHALL "Device code is linked by RustNvLink: [^\n]*/rustnvlink" said "${output}")
list(LENGTH said times)
expect("announcements" ${times} 1 "${output}")
