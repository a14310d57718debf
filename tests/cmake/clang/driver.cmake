# Lets Clang link a program by itself, once with the nvlink of ${toolkit} and once with ours in the place of it, and
# compares the device code.
include("${CMAKE_CURRENT_LIST_DIR}/../run.cmake")

file(REMOVE_RECURSE "${build}")
file(MAKE_DIRECTORY "${build}")
set(path "$ENV{PATH}")
set(clang "${compiler}" --offload-new-driver -Wno-unknown-cuda-version "--cuda-path=${toolkit}")

set(objects "")
foreach(name plain twice)
  set(object "${build}/${name}.o")
  run(${clang} -fgpu-rdc --cuda-gpu-arch=sm_80 --cuda-gpu-arch=sm_90a -c "${source}/${name}.cu" -o "${object}")
  list(APPEND objects "${object}")
endforeach()

# link(<program> <folder>): with the nvlink that lies in `bin` of a folder. Clang up to 20 looks for it on PATH, as for
# fatbinary.
function(link program folder)
  set(ENV{PATH} "${folder}/bin:${toolkit}/bin:${path}")
  run(${clang} --offload-link -Xoffload-linker "--cuda-path=${folder}" ${objects} -o "${build}/${program}"
    "-L${toolkit}/lib64" -lcudart_static -ldl -lrt -lpthread)
  run("${build}/${program}")
endfunction()

link("by nvlink" "${toolkit}")

set(ours "${build}/ours/bin/nvlink")
file(WRITE "${ours}" "#!/bin/sh\n: >\"$0.was-called\"\nexec \"${prefix}/bin/rustnvlink\" \"$@\"\n")
file(CHMOD "${ours}" PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE)
link("by ours" "${build}/ours")
if(NOT EXISTS "${ours}.was-called")
  message(FATAL_ERROR "Clang did not call ${ours}")
endif()
run("${same_images}" "${build}/by nvlink" "${build}/by ours")

# A toolkit in which ours has the place of nvlink: in one step Clang takes the nvlink of the toolkit.
set(with_ours "${build}/toolkit with ours")
file(GLOB entries LIST_DIRECTORIES true "${toolkit}/*")
file(GLOB programs "${toolkit}/bin/*")
file(MAKE_DIRECTORY "${with_ours}/bin")
foreach(entry IN LISTS entries programs)
  file(RELATIVE_PATH name "${toolkit}" "${entry}")
  if(NOT name STREQUAL "bin")
    file(CREATE_LINK "${entry}" "${with_ours}/${name}" SYMBOLIC)
  endif()
endforeach()
file(REMOVE "${with_ours}/bin/nvlink")
file(RENAME "${ours}" "${with_ours}/bin/nvlink")
set(ENV{PATH} "${with_ours}/bin:${path}")
list(TRANSFORM clang REPLACE "^--cuda-path=.*" "--cuda-path=${with_ours}")
run(${clang} -fgpu-rdc --cuda-gpu-arch=sm_80 --cuda-gpu-arch=sm_90a "${source}/plain.cu" "${source}/twice.cu"
  -o "${build}/in one step" "-L${toolkit}/lib64" -lcudart_static -ldl -lrt -lpthread)
if(NOT EXISTS "${with_ours}/bin/nvlink.was-called")
  message(FATAL_ERROR "Clang did not call the nvlink of ${with_ours}")
endif()
run("${build}/in one step")
run("${same_images}" "${build}/by nvlink" "${build}/in one step")
