# The functions of the package. README.md in the repository's folder `cmake` describes them.
include_guard(GLOBAL)
# Not the policies of the project, which may be much older.
cmake_policy(VERSION 3.25...4.4)

include("${CMAKE_CURRENT_LIST_DIR}/private/DeviceLink.cmake")
include("${CMAKE_CURRENT_LIST_DIR}/private/DeviceLinker.cmake")

# Reports that a function is called where the targets of the package are not known.
function(_rustnvlink_check_scope function)
  if(NOT TARGET RustNvLink::cudalink)
    message(FATAL_ERROR "${function}: find_package(RustNvLink) was called, but not in this directory or one above")
  endif()
endfunction()

# Lets RustNvLink do the device links of the current directory and those below it. Each target is linked by the rules and
# programs of its directory, so this is a macro.
macro(rustnvlink_use_as_device_linker)
  if(${ARGC} GREATER 0)
    message(FATAL_ERROR "rustnvlink_use_as_device_linker takes no arguments, got: ${ARGV}")
  endif()
  _rustnvlink_check_scope(rustnvlink_use_as_device_linker)
  _rustnvlink_announce()
  # CMake leaves rules alone that it finds when CUDA is enabled.
  _rustnvlink_nvcc_rule(CMAKE_CUDA_DEVICE_LINK_EXECUTABLE)
  _rustnvlink_nvcc_rule(CMAKE_CUDA_DEVICE_LINK_LIBRARY)
  # With Clang, it has no rules, and includes a file when CUDA is enabled.
  if(CMAKE_CUDA_COMPILER_LOADED)
    include("${_RUSTNVLINK_CLANG_FILE}")
  elseif(NOT "${CMAKE_USER_MAKE_RULES_OVERRIDE_CUDA}" STREQUAL "${_RUSTNVLINK_CLANG_FILE}")
    set(_RUSTNVLINK_OVERRIDE_OF_PROJECT "${CMAKE_USER_MAKE_RULES_OVERRIDE_CUDA}")
    set(CMAKE_USER_MAKE_RULES_OVERRIDE_CUDA "${_RUSTNVLINK_CLANG_FILE}")
  endif()
  cmake_language(EVAL CODE
    "cmake_language(DEFER CALL _rustnvlink_depend_on_programs [[${CMAKE_CURRENT_SOURCE_DIR}]])"
  )
endmacro()

# Links the device code of a target where CMake does not.
function(rustnvlink_device_link target)
  _rustnvlink_check_scope(rustnvlink_device_link)
  cmake_parse_arguments(PARSE_ARGV 1 arg "KEEP_KERNELS" "" "ARCHITECTURES;OBJECTS;LIBRARIES;OPTIONS")
  _rustnvlink_check_arguments(rustnvlink_device_link "ARCHITECTURES, OBJECTS, LIBRARIES, KEEP_KERNELS and OPTIONS")
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
  _rustnvlink_check_scope(rustnvlink_add_image)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "FORMAT;OUTPUT" "ARCHITECTURES;OBJECTS;LIBRARIES;OPTIONS")
  _rustnvlink_check_arguments(
    rustnvlink_add_image "FORMAT, OUTPUT, ARCHITECTURES, OBJECTS, LIBRARIES and OPTIONS")
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
  _rustnvlink_per_configuration(output "${output}")
  get_filename_component(directory "${output}" DIRECTORY)
  _rustnvlink_options(options rustnvlink_add_image)
  foreach(part OBJECTS LIBRARIES)
    _rustnvlink_check_names(rustnvlink_add_image ${part} ${arg_${part}})
  endforeach()
  _rustnvlink_optimize(options ${arg_OBJECTS} ${arg_LIBRARIES})
  _rustnvlink_inputs(inputs depends ${arg_OBJECTS} ${arg_LIBRARIES})
  add_custom_command(OUTPUT "${output}"
    COMMAND "${CMAKE_COMMAND}" -E make_directory "${directory}"
    COMMAND RustNvLink::cudalink link --caller=cmake ${options} "--output-format=${spelling}" -o "${output}" --depfile "${output}.d" ${inputs}
    DEPENDS ${depends}
    DEPFILE "${output}.d"
    COMMENT "Linking device code of ${name}"
    COMMAND_EXPAND_LISTS
    VERBATIM
  )
  set_property(DIRECTORY APPEND PROPERTY ADDITIONAL_CLEAN_FILES "${output}.d")
  add_library(${name} INTERFACE "${output}")
  set_target_properties(${name} PROPERTIES RUSTNVLINK_IMAGE "${output}")
  if(arg_FORMAT STREQUAL "HEADER")
    target_include_directories(${name} INTERFACE "${directory}")
  endif()
endfunction()
