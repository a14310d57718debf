# Builds and installs the package, and moves what was installed.
include("${CMAKE_CURRENT_LIST_DIR}/run.cmake")

file(REMOVE_RECURSE "${build}" "${prefix}" "${prefix}.before")
run("${CMAKE_COMMAND}" -S "${source}" -B "${build}" ${options})
run("${CMAKE_COMMAND}" --build "${build}")
run("${CMAKE_COMMAND}" --install "${build}" --prefix "${prefix}.before")
file(RENAME "${prefix}.before" "${prefix}")
