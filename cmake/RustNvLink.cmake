# The functions of the package. README.md in the repository's folder `cmake` describes them.
include_guard(GLOBAL)
# Not the policies of the project, which may be much older.
cmake_policy(VERSION 3.25...4.1)

include("${CMAKE_CURRENT_LIST_DIR}/private/DeviceLink.cmake")
include("${CMAKE_CURRENT_LIST_DIR}/private/DeviceLinker.cmake")

# Lets RustNvLink do the device links of the current directory and those below it.
function(rustnvlink_use_as_device_linker)
  if(ARGC GREATER 0)
    message(FATAL_ERROR "rustnvlink_use_as_device_linker takes no arguments, got: ${ARGV}")
  endif()
  # Each target is linked by the rules and programs of its directory. Those for nvcc may stand before CUDA is enabled.
  _rustnvlink_nvcc_rule(rule)
  set(CMAKE_CUDA_DEVICE_LINK_EXECUTABLE "${rule}" PARENT_SCOPE)
  set(CMAKE_CUDA_DEVICE_LINK_LIBRARY "${rule}" PARENT_SCOPE)
  # With Clang, CMake runs nvlink and fatbinary by itself, in the words of the latter from before CUDA 13.
  if(CMAKE_CUDA_COMPILER_ID STREQUAL "Clang")
    get_target_property(rustnvlink RustNvLink::rustnvlink IMPORTED_LOCATION)
    get_target_property(cudalink RustNvLink::cudalink IMPORTED_LOCATION)
    set(CMAKE_CUDA_DEVICE_LINKER "\"${rustnvlink}\"" PARENT_SCOPE)
    set(CMAKE_CUDA_FATBINARY "\"${cudalink}\" fatbinary" PARENT_SCOPE)
    # Else objects hold their device code for steps of Clang's own, which CMake does not run.
    if(CMAKE_CUDA_COMPILER_VERSION VERSION_GREATER_EQUAL 21 AND NOT CMAKE_CUDA_FLAGS MATCHES "offload-new-driver")
      set(CMAKE_CUDA_FLAGS "${CMAKE_CUDA_FLAGS} --no-offload-new-driver" PARENT_SCOPE)
    endif()
  endif()
  cmake_language(EVAL CODE
    "cmake_language(DEFER CALL _rustnvlink_depend_on_programs [[${CMAKE_CURRENT_SOURCE_DIR}]])"
  )
endfunction()

# Links the device code of a target where CMake does not.
function(rustnvlink_device_link target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "KEEP_KERNELS" "" "ARCHITECTURES;OBJECTS;LIBRARIES;OPTIONS")
  _rustnvlink_check_arguments(rustnvlink_device_link)
  if(NOT TARGET "${target}")
    message(FATAL_ERROR "rustnvlink_device_link: there is no target ${target}")
  endif()
  get_target_property(type ${target} TYPE)
  get_target_property(directory ${target} SOURCE_DIR)
  if(NOT type MATCHES "^(EXECUTABLE|SHARED_LIBRARY|MODULE_LIBRARY)$")
    message(FATAL_ERROR
      "rustnvlink_device_link: ${target} is no program or shared library, so that others would link its code again"
    )
  endif()
  if(NOT directory STREQUAL CMAKE_CURRENT_SOURCE_DIR)
    message(FATAL_ERROR "rustnvlink_device_link: call it in the directory of ${target}, which is ${directory}")
  endif()
  get_property(is_linked TARGET ${target} PROPERTY _RUSTNVLINK_OPTIONS SET)
  if(is_linked)
    message(FATAL_ERROR "rustnvlink_device_link was called for ${target} before; give it everything in one call")
  endif()
  _rustnvlink_options(options rustnvlink_device_link)
  set_target_properties(${target} PROPERTIES
    _RUSTNVLINK_OBJECTS "${arg_OBJECTS}"
    _RUSTNVLINK_LIBRARIES "${arg_LIBRARIES}"
    _RUSTNVLINK_OPTIONS "${options}"
  )
  # What the target links may be told later in the directory.
  cmake_language(EVAL CODE "cmake_language(DEFER CALL _rustnvlink_finish_device_link [[${target}]])")
endfunction()

# Makes a file with linked device code, for a program that loads it by itself.
function(rustnvlink_add_image name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "FORMAT;OUTPUT" "ARCHITECTURES;OBJECTS;LIBRARIES;OPTIONS")
  _rustnvlink_check_arguments(rustnvlink_add_image)
  set(formats FATBIN CUBIN HEADER)
  set(extensions fatbin cubin h)
  set(spellings fatbin cubin c-header)
  if(NOT arg_FORMAT)
    set(arg_FORMAT FATBIN)
  endif()
  list(FIND formats "${arg_FORMAT}" index)
  if(index EQUAL -1)
    message(FATAL_ERROR "rustnvlink_add_image: FORMAT is FATBIN, CUBIN or HEADER, not ${arg_FORMAT}")
  endif()
  list(GET extensions ${index} extension)
  list(GET spellings ${index} spelling)
  if(NOT arg_OBJECTS AND NOT arg_LIBRARIES)
    message(FATAL_ERROR "rustnvlink_add_image: ${name} needs OBJECTS or LIBRARIES")
  endif()
  if(NOT arg_OUTPUT)
    set(arg_OUTPUT "${name}.${extension}")
  endif()
  get_filename_component(output "${arg_OUTPUT}" ABSOLUTE BASE_DIR "${CMAKE_CURRENT_BINARY_DIR}")
  get_filename_component(directory "${output}" DIRECTORY)
  file(MAKE_DIRECTORY "${directory}")
  _rustnvlink_options(options rustnvlink_add_image)
  _rustnvlink_inputs(inputs depends ${arg_OBJECTS} ${arg_LIBRARIES})
  add_custom_command(OUTPUT "${output}"
    COMMAND RustNvLink::cudalink link ${options} "--output-format=${spelling}" -o "${output}" --depfile "${output}.d" ${inputs}
    DEPENDS ${depends}
    DEPFILE "${output}.d"
    COMMENT "Linking device code of ${name}"
    COMMAND_EXPAND_LISTS
    VERBATIM
  )
  add_library(${name} INTERFACE "${output}")
  set_target_properties(${name} PROPERTIES RUSTNVLINK_IMAGE "${output}")
  if(arg_FORMAT STREQUAL "HEADER")
    target_include_directories(${name} INTERFACE "${directory}")
  endif()
endfunction()
