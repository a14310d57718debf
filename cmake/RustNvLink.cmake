# The functions of the package. README.md in the repository's folder `cmake` describes them.
include_guard(GLOBAL)
# Not the policies of the project, which may be much older.
cmake_policy(VERSION 3.25...4.1)

include("${CMAKE_CURRENT_LIST_DIR}/private/DeviceLinker.cmake")

# Lets RustNvLink do the device links of the current directory and those below it.
function(rustnvlink_use_as_device_linker)
  if(ARGC GREATER 0)
    message(FATAL_ERROR "rustnvlink_use_as_device_linker takes no arguments, got: ${ARGV}")
  endif()
  get_property(languages GLOBAL PROPERTY ENABLED_LANGUAGES)
  if(NOT "CUDA" IN_LIST languages)
    message(FATAL_ERROR "rustnvlink_use_as_device_linker has to come after project() or enable_language() with CUDA")
  endif()
  if(NOT CMAKE_CUDA_COMPILER_ID STREQUAL "NVIDIA")
    message(FATAL_ERROR
      "rustnvlink_use_as_device_linker works with NVIDIA's compiler, "
      "not with ${CMAKE_CUDA_COMPILER_ID} (${CMAKE_CUDA_COMPILER})"
    )
  endif()
  get_target_property(program RustNvLink::rustnvlink IMPORTED_LOCATION)
  _rustnvlink_nvcc(nvcc "${program}")
  # The rules that link device code. Each target uses those of its directory.
  foreach(rule CMAKE_CUDA_DEVICE_LINK_EXECUTABLE CMAKE_CUDA_DEVICE_LINK_LIBRARY)
    string(REPLACE "<CMAKE_CUDA_COMPILER>" "\"${nvcc}\"" changed "${${rule}}")
    set(${rule} "${changed}" PARENT_SCOPE)
  endforeach()
  cmake_language(EVAL CODE
    "cmake_language(DEFER CALL _rustnvlink_depend_on_program [[${CMAKE_CURRENT_SOURCE_DIR}]] [[${program}]])"
  )
endfunction()
