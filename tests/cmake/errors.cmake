# Calls the functions of the package in wrong ways, and looks at what they say.
include("${CMAKE_CURRENT_LIST_DIR}/run.cmake")

# expect_error(<code> <message>): a project with this code is refused with this message.
function(expect_error code message)
  file(REMOVE_RECURSE "${build}")
  execute_process(
    COMMAND "${CMAKE_COMMAND}" -S "${source}" -B "${build}" "-DCMAKE_PREFIX_PATH=${prefix}" "-DCODE=${code}"
    RESULT_VARIABLE result ERROR_VARIABLE output OUTPUT_QUIET
  )
  # CMake breaks lines.
  string(REGEX REPLACE "[ \n]+" " " output "${output}")
  string(FIND "${output}" "${message}" place)
  if(result EQUAL 0 OR place EQUAL -1)
    message(FATAL_ERROR "${code}: '${message}' was expected, and there is:\n${output}")
  endif()
endfunction()

expect_error("rustnvlink_use_as_device_linker(all)" "takes no arguments, got: all")
expect_error("rustnvlink_device_link(none)" "there is no target none")
expect_error("rustnvlink_device_link(interface)" "interface is no program or shared library")
expect_error("rustnvlink_add_image(image FORMAT OBJECTS a.o)" "nothing follows FORMAT")
expect_error("rustnvlink_add_image(image OBJECTS LIBRARIES)" "image needs OBJECTS or LIBRARIES")
expect_error("rustnvlink_device_link(interface KERNELS)" "does not know: KERNELS; there are ARCHITECTURES, OBJECTS,")
expect_error("rustnvlink_add_image(image OBJECT a.o)" "does not know: OBJECT;a.o; there are FORMAT, OUTPUT,")
expect_error("rustnvlink_add_image(image)" "image needs OBJECTS or LIBRARIES")
expect_error("rustnvlink_add_image(image OBJECTS interface)" "OBJECTS has interface, which is not an object library")
expect_error("rustnvlink_add_image(image LIBRARIES interface)" "LIBRARIES has interface, which is not a static library")
expect_error("rustnvlink_add_image(image OBJECTS a.o FORMAT ELF)" "FORMAT is FATBIN, CUBIN or HEADER, not ELF")
expect_error("rustnvlink_add_image(image OBJECTS a.o ARCHITECTURES sm_90)" "'sm_90', which is nothing like 90")
expect_error("rustnvlink_add_image(image OBJECTS a.o ARCHITECTURES 90-virtual)" "only machine code is linked")
expect_error("rustnvlink_add_image(image OBJECTS kernel)" "OBJECTS has kernel, which is neither a file nor a target")
expect_error("rustnvlink_add_image(image LIBRARIES A::b)" "LIBRARIES has A::b, which is neither a file nor a target")

run("${CMAKE_COMMAND}" -S "${source}" -B "${build}" "-DCMAKE_PREFIX_PATH=${prefix}"
  "-DCODE=rustnvlink_add_image(image OBJECTS a.o ARCHITECTURES all-major)")

# Advice names what CMake has, not options that nobody has typed.
set(inputs "${CMAKE_CURRENT_LIST_DIR}/../inputs")
set(code "rustnvlink_add_image(image OBJECTS ${inputs}/saxpy.sm_90.cubin ARCHITECTURES 80)")
file(REMOVE_RECURSE "${build}")
run("${CMAKE_COMMAND}" -S "${source}" -B "${build}" "-DCMAKE_PREFIX_PATH=${prefix}" "-DCODE=${code}")
execute_process(COMMAND "${CMAKE_COMMAND}" --build "${build}" RESULT_VARIABLE result OUTPUT_VARIABLE output ERROR_VARIABLE output)
if(result EQUAL 0 OR NOT output MATCHES "help: in CMake, CMAKE_CUDA_ARCHITECTURES")
  message(FATAL_ERROR "there is no advice for users of CMake:\n${output}")
endif()
