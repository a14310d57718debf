# Builds the package and finds it where it was built, installs it, and moves what was installed.
include("${CMAKE_CURRENT_LIST_DIR}/run.cmake")

file(REMOVE_RECURSE "${build}" "${prefix}" "${prefix}.before")
run("${CMAKE_COMMAND}" -S "${source}" -B "${build}" ${options})
run("${CMAKE_COMMAND}" --build "${build}")
run("${CMAKE_COMMAND}" -S "${CMAKE_CURRENT_LIST_DIR}/errors" -B "${build}/finds" "-DRustNvLink_DIR=${build}" -DCODE=)
run("${CMAKE_COMMAND}" -S "${CMAKE_CURRENT_LIST_DIR}/toolchain" -B "${build}/is given"
  "-DCMAKE_PROJECT_INCLUDE=${build}/RustNvLinkInject.cmake")
run("${CMAKE_COMMAND}" --install "${build}" --prefix "${prefix}.before")
file(RENAME "${prefix}.before" "${prefix}")
