# Device links that CMake does not make by itself.
include_guard(GLOBAL)

# Collects what <target> links that may hold device code, in the order of a link line: names of object libraries in
# <objects>, those of them whose objects CMake does not link by itself also in <nested>, and names of static library
# targets and of files in <libraries>. The names of all targets among what it links are in <linked>.
function(_rustnvlink_collect target objects_out nested_out libraries_out linked_out)
  set(objects "")
  set(nested "")
  set(libraries "")
  set(seen ${target})
  set(waiting ${target})
  # Not `while(waiting)`: a single target may be named like a false value.
  while(NOT waiting STREQUAL "")
    list(POP_FRONT waiting parent)
    get_target_property(parent_type ${parent} TYPE)
    _rustnvlink_direct_links(${parent} ${target} links)
    foreach(link IN LISTS links)
      if(NOT TARGET "${link}")
        if(link MATCHES "\\.(a|o|rlib)$")
          list(APPEND libraries "${link}")
        endif()
        continue()
      endif()
      get_target_property(aliased ${link} ALIASED_TARGET)
      if(aliased)
        set(link ${aliased})
      endif()
      if(link IN_LIST seen)
        continue()
      endif()
      list(APPEND seen ${link})
      get_target_property(type ${link} TYPE)
      if(type MATCHES "^(SHARED_LIBRARY|MODULE_LIBRARY|EXECUTABLE)$")
        # What stands behind it is linked into it.
        continue()
      endif()
      list(APPEND waiting ${link})
      if(type STREQUAL "OBJECT_LIBRARY" AND NOT parent_type STREQUAL "STATIC_LIBRARY")
        list(APPEND objects ${link})
        # CMake links objects into the target that names them, and not into those that name this one.
        if(NOT parent STREQUAL target)
          list(APPEND nested ${link})
        endif()
      elseif(type MATCHES "^(STATIC|UNKNOWN)_LIBRARY$")
        # A library with a device link of its own holds nothing for another one.
        get_target_property(is_resolved ${link} CUDA_RESOLVE_DEVICE_SYMBOLS)
        if(NOT is_resolved)
          list(APPEND libraries ${link})
        endif()
      endif()
    endforeach()
  endwhile()
  list(REMOVE_DUPLICATES libraries)
  list(REMOVE_ITEM seen ${target})
  set(${linked_out} "${seen}" PARENT_SCOPE)
  set(${objects_out} "${objects}" PARENT_SCOPE)
  set(${nested_out} "${nested}" PARENT_SCOPE)
  set(${libraries_out} "${libraries}" PARENT_SCOPE)
endfunction()

# Sets <out> to the targets and files that <target> itself names: for its own link, if it is <final>, else for that of
# whoever links it.
function(_rustnvlink_direct_links target final out)
  get_target_property(type ${target} TYPE)
  get_target_property(is_imported ${target} IMPORTED)
  set(properties "")
  if(target STREQUAL final OR (type STREQUAL "OBJECT_LIBRARY" AND NOT is_imported))
    list(APPEND properties SOURCES LINK_LIBRARIES)
  endif()
  if(NOT target STREQUAL final)
    list(APPEND properties INTERFACE_LINK_LIBRARIES INTERFACE_SOURCES)
  endif()
  set(items "")
  foreach(property IN LISTS properties)
    get_property(value TARGET ${target} PROPERTY ${property})
    list(APPEND items ${value})
  endforeach()

  # These stand for what is in them, and nothing else depends on them.
  set(wrappers TARGET_OBJECTS TARGET_NAME TARGET_NAME_IF_EXISTS LINK_ONLY BUILD_INTERFACE BUILD_LOCAL_INTERFACE)
  list(JOIN wrappers "|" wrappers)
  set(links "")
  while(NOT items STREQUAL "")
    list(POP_FRONT items item)
    if(item MATCHES "^\\$<(${wrappers}):(.*)>$")
      list(PREPEND items "${CMAKE_MATCH_2}")
    elseif(item MATCHES "^\\$<LINK_(LIBRARY|GROUP):[^,<>]*,(.*)>$")
      string(REPLACE "," ";" parts "${CMAKE_MATCH_2}")
      list(PREPEND items ${parts})
    elseif(NOT item MATCHES "^(::@|-|$)")
      list(APPEND links "${item}")
    endif()
  endwhile()
  set(${out} "${links}" PARENT_SCOPE)
endfunction()

# Sets <out> to whether <target> may compile CUDA sources: its own, or those that the targets behind <out>, which it links,
# have for whoever links them.
function(_rustnvlink_has_cuda_sources target out)
  set(${out} FALSE PARENT_SCOPE)
  get_property(languages GLOBAL PROPERTY ENABLED_LANGUAGES)
  if(NOT "CUDA" IN_LIST languages)
    return()
  endif()
  get_property(sources TARGET ${target} PROPERTY SOURCES)
  foreach(link IN LISTS ARGN)
    get_property(handed_on TARGET ${link} PROPERTY INTERFACE_SOURCES)
    list(APPEND sources ${handed_on})
  endforeach()
  list(FILTER sources EXCLUDE REGEX "^\\$<TARGET_OBJECTS:[^<>]*>$")
  foreach(source IN LISTS sources)
    get_property(language SOURCE "${source}" TARGET_DIRECTORY ${target} PROPERTY LANGUAGE)
    # Nobody knows yet what other generator expressions stand for.
    if(language STREQUAL "CUDA" OR source MATCHES "^\\$<")
      set(${out} TRUE PARENT_SCOPE)
      return()
    endif()
  endforeach()
endfunction()

# Sets <out> to the options of the linker that the caller's arguments ask for.
function(_rustnvlink_options out function)
  set(options "")
  foreach(architecture IN LISTS arg_ARCHITECTURES)
    if(architecture MATCHES "^([0-9]+[af]?)(-real)?$")
      list(APPEND options "--arch=sm_${CMAKE_MATCH_1}")
    elseif(NOT architecture MATCHES "^[0-9]+[af]?-virtual$")
      message(FATAL_ERROR "${function}: ARCHITECTURES has '${architecture}', which is nothing like 90, 90a or 90-real")
    endif()
  endforeach()
  if(arg_ARCHITECTURES AND NOT options)
    message(FATAL_ERROR "${function}: only machine code is linked, and ARCHITECTURES has ${arg_ARCHITECTURES}")
  endif()
  if(arg_KEEP_KERNELS)
    list(APPEND options --kernels=all)
  endif()
  set(${out} ${options} ${arg_OPTIONS} PARENT_SCOPE)
endfunction()

# Reports what cmake_parse_arguments left over in the caller, which takes <keywords>, and targets among its arguments that
# cannot be linked so.
macro(_rustnvlink_check_arguments function keywords)
  if(arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "${function} does not know: ${arg_UNPARSED_ARGUMENTS}; there are ${keywords}")
  endif()
  # Lists may be empty, as they are where a variable with them is.
  set(arg_missing ${arg_KEYWORDS_MISSING_VALUES})
  list(FILTER arg_missing INCLUDE REGEX "^(FORMAT|OUTPUT)$")
  if(arg_missing)
    message(FATAL_ERROR "${function}: nothing follows ${arg_missing}")
  endif()
  _rustnvlink_check_targets("${function}" OBJECTS "an object library" "OBJECT" ${arg_OBJECTS})
  _rustnvlink_check_targets("${function}" LIBRARIES "a static library" "STATIC|UNKNOWN" ${arg_LIBRARIES})
endmacro()

# Reports a target among the values of an argument that is not what it wants, by a regular expression for the type.
function(_rustnvlink_check_targets function argument what types)
  foreach(value IN LISTS ARGN)
    if(TARGET "${value}")
      get_target_property(type ${value} TYPE)
      if(NOT type MATCHES "^(${types})_LIBRARY$")
        message(FATAL_ERROR "${function}: ${argument} has ${value}, which is not ${what}")
      endif()
    endif()
  endforeach()
endfunction()

# Reports a value of an argument that looks like a target, and is none. Files that are yet to be made have an extension.
function(_rustnvlink_check_names function argument)
  foreach(value IN LISTS ARGN)
    if(NOT TARGET "${value}" AND NOT value MATCHES "[./$]" AND NOT EXISTS "${CMAKE_CURRENT_SOURCE_DIR}/${value}")
      message(FATAL_ERROR "${function}: ${argument} has ${value}, which is neither a file nor a target that is known here")
    endif()
  endforeach()
endfunction()

# Sets <out> to an expression for the objects of <target>, among which CMake counts precompiled headers.
function(_rustnvlink_objects_of out target)
  set(${out} "$<FILTER:$<TARGET_OBJECTS:${target}>,EXCLUDE,[.](gch|pch)$>" PARENT_SCOPE)
endfunction()

# Sets <out> to what the command line says for object libraries, static libraries and files, and <depends_out> to what a
# custom command with it depends on.
function(_rustnvlink_inputs out depends_out)
  set(inputs "")
  set(depends "")
  foreach(input IN LISTS ARGN)
    if(TARGET "${input}")
      # Makefiles wait for targets, not for files of other targets.
      list(APPEND depends "${input}")
      get_target_property(type ${input} TYPE)
      if(type STREQUAL "OBJECT_LIBRARY")
        _rustnvlink_objects_of(input ${input})
      else()
        set(input "$<TARGET_FILE:${input}>")
      endif()
    elseif(input MATCHES "^\\$<TARGET_OBJECTS:([^<>]*)>$")
      _rustnvlink_objects_of(input ${CMAKE_MATCH_1})
    elseif(NOT input MATCHES "^\\$<")
      get_filename_component(input "${input}" ABSOLUTE BASE_DIR "${CMAKE_CURRENT_SOURCE_DIR}")
    endif()
    list(APPEND inputs "${input}")
    list(APPEND depends "${input}")
  endforeach()
  get_target_property(program RustNvLink::cudalink IMPORTED_LOCATION)
  list(APPEND depends "${program}")
  if(TARGET rustnvlink-programs)
    list(APPEND depends rustnvlink-programs)
  endif()
  set(${out} "${inputs}" PARENT_SCOPE)
  set(${depends_out} "${depends}" PARENT_SCOPE)
endfunction()

# Sets <out> to the path of a file that is made in each configuration: where several have one build folder, each has a folder
# of its own, unless the path says how they differ.
function(_rustnvlink_per_configuration out path)
  get_property(is_multi_config GLOBAL PROPERTY GENERATOR_IS_MULTI_CONFIG)
  if(is_multi_config AND NOT path MATCHES "\\$<")
    get_filename_component(directory "${path}" DIRECTORY)
    get_filename_component(name "${path}" NAME)
    set(path "${directory}/$<CONFIG>/${name}")
  endif()
  set(${out} "${path}" PARENT_SCOPE)
endfunction()

# Does what rustnvlink_device_link() asked for, when all is known of the target.
function(_rustnvlink_finish_device_link target)
  # CMake makes a device link for every target that it finds CUDA in.
  set_property(TARGET ${target} PROPERTY CUDA_RESOLVE_DEVICE_SYMBOLS OFF)

  foreach(part OBJECTS LIBRARIES OPTIONS)
    get_property(asked_${part} TARGET ${target} PROPERTY _RUSTNVLINK_${part})
  endforeach()

  foreach(part OBJECTS LIBRARIES)
    _rustnvlink_check_names(rustnvlink_device_link ${part} ${asked_${part}})
  endforeach()

  _rustnvlink_collect(${target} objects nested libraries linked)
  foreach(object IN LISTS asked_OBJECTS)
    if(object MATCHES "^\\$<TARGET_OBJECTS:([^<>]*)>$")
      set(object "${CMAKE_MATCH_1}")
    endif()
    if(NOT object IN_LIST objects)
      list(APPEND objects "${object}")
      list(APPEND nested "${object}")
    endif()
  endforeach()
  foreach(object IN LISTS nested)
    if(TARGET "${object}")
      set(object "$<TARGET_OBJECTS:${object}>")
    endif()
    target_sources(${target} PRIVATE "${object}")
  endforeach()
  list(APPEND libraries ${asked_LIBRARIES})
  list(REMOVE_DUPLICATES libraries)

  _rustnvlink_has_cuda_sources(${target} has_cuda_sources ${linked})
  if(NOT has_cuda_sources AND NOT objects AND NOT libraries)
    message(FATAL_ERROR
      "rustnvlink_device_link: ${target} links nothing that may hold device code; name it in OBJECTS or LIBRARIES"
    )
  endif()
  _rustnvlink_inputs(inputs depends ${objects} ${libraries})
  _rustnvlink_per_configuration(output
    "${CMAKE_CURRENT_BINARY_DIR}/CMakeFiles/${target}.dir/rustnvlink_device_link.o")
  set(command RustNvLink::cudalink link --caller=cmake ${asked_OPTIONS} -o "${output}")

  if(has_cuda_sources)
    # The objects of the target itself exist only just before it is linked.
    _rustnvlink_objects_of(own_objects ${target})
    add_custom_command(TARGET ${target} PRE_LINK
      COMMAND ${command} "${own_objects}" ${inputs}
      COMMENT "Linking device code of ${target}"
      COMMAND_EXPAND_LISTS
      VERBATIM
    )
    set_property(TARGET ${target} APPEND PROPERTY ADDITIONAL_CLEAN_FILES "${output}")
    target_link_options(${target} PRIVATE "${output}")
    list(FILTER depends EXCLUDE REGEX "^[^/$]")
    set_property(TARGET ${target} APPEND PROPERTY LINK_DEPENDS ${depends})
    if(TARGET rustnvlink-programs)
      add_dependencies(${target} rustnvlink-programs)
    endif()
    return()
  endif()

  get_target_property(pool ${target} JOB_POOL_LINK)
  set(job_pool "")
  if(pool)
    set(job_pool JOB_POOL "${pool}")
  endif()
  add_custom_command(OUTPUT "${output}"
    COMMAND ${command} --depfile "${output}.d" ${inputs}
    DEPENDS ${depends}
    DEPFILE "${output}.d"
    COMMENT "Linking device code of ${target}"
    COMMAND_EXPAND_LISTS
    VERBATIM
    ${job_pool}
  )
  set_property(TARGET ${target} APPEND PROPERTY ADDITIONAL_CLEAN_FILES "${output}.d")
  target_sources(${target} PRIVATE "${output}")
endfunction()
