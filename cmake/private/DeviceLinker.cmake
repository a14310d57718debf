# How the device links that CMake makes by itself get to RustNvLink.
include_guard(GLOBAL)

# Sets <out> to an nvcc that does all as the compiler of the project does, but links with <program>.
#
# nvcc runs the nvlink that lies beside it and takes its own name literally, so a folder of links to the toolkit that
# has another nvlink is a toolkit with another device linker.
function(_rustnvlink_nvcc out program)
  get_filename_component(bin "${CMAKE_CUDA_COMPILER}" REALPATH)
  get_filename_component(bin "${bin}" DIRECTORY)
  get_filename_component(toolkit "${bin}" DIRECTORY)
  string(SHA1 folder "${bin}")
  string(SUBSTRING "${folder}" 0 10 folder)
  set(folder "${CMAKE_BINARY_DIR}/CMakeFiles/RustNvLink/toolkit-${folder}")

  file(MAKE_DIRECTORY "${folder}/bin")
  file(GLOB parts LIST_DIRECTORIES true "${toolkit}/*")
  list(REMOVE_ITEM parts "${bin}")
  file(GLOB programs LIST_DIRECTORIES true "${bin}/*")
  list(REMOVE_ITEM programs "${bin}/nvlink")
  foreach(part IN LISTS parts programs)
    file(RELATIVE_PATH name "${toolkit}" "${part}")
    file(CREATE_LINK "${part}" "${folder}/${name}" SYMBOLIC)
  endforeach()
  file(CREATE_LINK "${program}" "${folder}/bin/nvlink" SYMBOLIC)
  set(${out} "${folder}/bin/nvcc" PARENT_SCOPE)
endfunction()

# Makes every target of a directory and those below it wait for the program and link again when it changes.
function(_rustnvlink_depend_on_program directory program)
  get_property(targets DIRECTORY "${directory}" PROPERTY BUILDSYSTEM_TARGETS)
  foreach(target IN LISTS targets)
    get_target_property(type ${target} TYPE)
    if(type MATCHES "^(EXECUTABLE|SHARED_LIBRARY|MODULE_LIBRARY|STATIC_LIBRARY)$")
      set_property(TARGET ${target} APPEND PROPERTY LINK_DEPENDS "${program}")
      if(TARGET rustnvlink-program)
        add_dependencies(${target} rustnvlink-program)
      endif()
    endif()
  endforeach()
  get_property(directories DIRECTORY "${directory}" PROPERTY SUBDIRECTORIES)
  foreach(directory IN LISTS directories)
    _rustnvlink_depend_on_program("${directory}" "${program}")
  endforeach()
endfunction()
