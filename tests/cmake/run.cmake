# Functions of the scripts that drive test projects.
cmake_policy(VERSION 3.25)

# run(<command>..): runs a command that has to succeed and leaves what it prints in `output`.
function(run)
  execute_process(COMMAND ${ARGV} RESULT_VARIABLE result OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT result EQUAL 0)
    list(JOIN ARGV " " command)
    message(FATAL_ERROR "${command} ended with ${result}:\n${output}")
  endif()
  set(output "${output}" PARENT_SCOPE)
endfunction()

# configure(<folder> <option>..): configures the project of a folder in ${build}. What CMake finds out about compilers it
# finds out once, and keeps it in COMPILE_ONCE_FOLDER, if there is one.
function(configure folder)
  string(SHA256 key "${CMAKE_VERSION} ${compiler} ${toolkit} ${flags}")
  set(known "$ENV{COMPILE_ONCE_FOLDER}/compilers-${key}")
  set(found "${build}/CMakeFiles/${CMAKE_VERSION}")
  set(is_known "")
  if(DEFINED ENV{COMPILE_ONCE_FOLDER} AND EXISTS "${known}")
    file(COPY "${known}/" DESTINATION "${found}")
    set(is_known -DCMAKE_PLATFORM_INFO_INITIALIZED=ON -DCMAKE_EXECUTABLE_FORMAT=ELF)
  endif()
  run("${CMAKE_COMMAND}" -S "${folder}" -B "${build}" -G "${generator}"
    "-DCMAKE_CUDA_COMPILER=${compiler}" "-DCUDAToolkit_ROOT=${toolkit}" "-DCMAKE_CUDA_FLAGS=${flags}"
    ${is_known} ${ARGN})
  if(DEFINED ENV{COMPILE_ONCE_FOLDER} AND NOT EXISTS "${known}")
    string(RANDOM LENGTH 8 suffix)
    file(COPY "${found}/" DESTINATION "${known}-${suffix}")
    # Another test may have been faster.
    file(RENAME "${known}-${suffix}" "${known}" RESULT ignored)
  endif()
endfunction()

# build(<out>): builds ${build} and sets <out> to the lines that tell of a step. Device links are given nothing but what they
# can use.
function(build out)
  run("${CMAKE_COMMAND}" --build "${build}" --parallel 2)
  if(output MATCHES "[[]ignored-input]")
    message(FATAL_ERROR "a device link leaves out what it was given:\n${output}")
  endif()
  string(REGEX MATCHALL "(Building|Linking) [^\n]*" steps "${output}")
  list(FILTER steps EXCLUDE REGEX "with Cargo$")
  set(${out} "${steps}" PARENT_SCOPE)
endfunction()

# count(<out> <regex> <step>..): sets <out> to how many steps match.
function(count out regex)
  set(steps ${ARGN})
  list(FILTER steps INCLUDE REGEX "${regex}")
  list(LENGTH steps length)
  set(${out} ${length} PARENT_SCOPE)
endfunction()

# expect(<what> <actual> <expected> <step>..): fails, and shows the steps, if the numbers differ.
function(expect what actual expected)
  if(NOT actual EQUAL expected)
    list(JOIN ARGN "\n" steps)
    message(FATAL_ERROR "${what}: ${actual} instead of ${expected}\n${steps}")
  endif()
endfunction()

# find_links(<out> <number>): sets <out> to the objects of the device links that CMake has made, as many as there should be.
function(find_links out number)
  file(GLOB_RECURSE objects RELATIVE "${build}" "${build}/*cmake_device_link.o")
  list(LENGTH objects found)
  expect("device links" ${found} ${number} ${objects})
  set(${out} ${objects} PARENT_SCOPE)
endfunction()

# name_of_target(<out> <object>): sets <out> to the target that an object is of, wherever CMake has put it.
function(name_of_target out object)
  string(REGEX MATCH "([^/]+)\\.dir/" found "${object}")
  set(${out} "${CMAKE_MATCH_1}" PARENT_SCOPE)
endfunction()

# keep_links(<object>..): keeps objects that nvlink has linked, for another build folder, too.
function(keep_links)
  file(MAKE_DIRECTORY "${build}/by nvlink")
  foreach(object IN LISTS ARGN)
    name_of_target(target "${object}")
    file(COPY_FILE "${build}/${object}" "${build}/by nvlink/${target}.o")
  endforeach()
endfunction()

# compare_links(<reference> <object>..): compares objects with those that were kept in a build folder.
function(compare_links reference)
  foreach(object IN LISTS ARGN)
    name_of_target(target "${object}")
    set(theirs "${reference}/by nvlink/${target}.o")
    run("${same_images}" "${theirs}" "${build}/${object}")
    # Our linker names itself in the image, so equal files would be those of nvlink.
    file(SHA256 "${theirs}" hash_of_theirs)
    file(SHA256 "${build}/${object}" hash_of_ours)
    if(hash_of_ours STREQUAL hash_of_theirs)
      message(FATAL_ERROR "${object} was linked by nvlink")
    endif()
  endforeach()
endfunction()
