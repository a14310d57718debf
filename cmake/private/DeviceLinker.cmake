# How the device links that CMake makes by itself get to RustNvLink.
include_guard(GLOBAL)

# What rustnvlink_use_as_device_linker() includes, in whatever directory.
set(_RUSTNVLINK_CLANG_FILE "${CMAKE_CURRENT_LIST_DIR}/ClangDeviceLinker.cmake" CACHE INTERNAL "")

# Sets <out> to a rule that links device code from what CMake would tell nvcc.
function(_rustnvlink_nvcc_rule out)
  get_target_property(program RustNvLink::cudalink IMPORTED_LOCATION)
  set(${out}
    "\"${program}\" nvcc-dlink <CMAKE_CUDA_COMPILER> <LANGUAGE_COMPILE_FLAGS> <LINK_FLAGS> -dlink <OBJECTS> -o <TARGET> <LINK_LIBRARIES>"
    PARENT_SCOPE
  )
endfunction()

# Says once who links device code: a project into which the package is injected does not show it.
function(_rustnvlink_announce)
  get_property(is_announced GLOBAL PROPERTY _RUSTNVLINK_ANNOUNCED)
  if(NOT is_announced)
    set_property(GLOBAL PROPERTY _RUSTNVLINK_ANNOUNCED TRUE)
    get_target_property(program RustNvLink::rustnvlink IMPORTED_LOCATION)
    message(STATUS "Device code is linked by RustNvLink: ${program}")
  endif()
endfunction()

# Makes every target of a directory and those below it wait for the programs and link again when they change.
function(_rustnvlink_depend_on_programs directory)
  get_target_property(cudalink RustNvLink::cudalink IMPORTED_LOCATION)
  get_property(targets DIRECTORY "${directory}" PROPERTY BUILDSYSTEM_TARGETS)
  foreach(target IN LISTS targets)
    get_target_property(type ${target} TYPE)
    if(type MATCHES "^(EXECUTABLE|SHARED_LIBRARY|MODULE_LIBRARY|STATIC_LIBRARY)$")
      # With Clang, CMake would give these to nvlink as inputs.
      if(NOT CMAKE_CUDA_COMPILER_ID STREQUAL "Clang")
        set_property(TARGET ${target} APPEND PROPERTY LINK_DEPENDS "${cudalink}")
      endif()
      if(TARGET rustnvlink-programs)
        add_dependencies(${target} rustnvlink-programs)
      endif()
    endif()
  endforeach()
  get_property(directories DIRECTORY "${directory}" PROPERTY SUBDIRECTORIES)
  foreach(directory IN LISTS directories)
    _rustnvlink_depend_on_programs("${directory}")
  endforeach()
endfunction()
