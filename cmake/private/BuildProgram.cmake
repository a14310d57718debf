# Builds the program with Cargo.
include_guard(GLOBAL)

# Defines RustNvLink::rustnvlink as what Cargo makes of the repository, and sets <out> to the path of the program.
function(_rustnvlink_build_program out repository)
  find_program(RustNvLink_CARGO cargo
    HINTS ENV CARGO_HOME "$ENV{HOME}/.cargo"
    PATH_SUFFIXES bin
    DOC "The cargo that builds rustnvlink"
  )
  if(NOT RustNvLink_CARGO)
    message(FATAL_ERROR
      "RustNvLink is built with cargo, which is not on PATH. Install Rust from https://www.rust-lang.org/tools/install "
      "or set RustNvLink_CARGO."
    )
  endif()
  set(RustNvLink_CARGO_PROFILE release CACHE STRING "The Cargo profile that rustnvlink is built with")
  set(RustNvLink_CARGO_TARGET_DIR "${CMAKE_CURRENT_BINARY_DIR}/cargo" CACHE PATH "Where Cargo keeps what it builds")
  mark_as_advanced(RustNvLink_CARGO RustNvLink_CARGO_PROFILE RustNvLink_CARGO_TARGET_DIR)

  if(RustNvLink_CARGO_PROFILE STREQUAL "dev")
    set(folder "${RustNvLink_CARGO_TARGET_DIR}/debug")
  else()
    set(folder "${RustNvLink_CARGO_TARGET_DIR}/${RustNvLink_CARGO_PROFILE}")
  endif()
  set(program "${folder}/rustnvlink${CMAKE_HOST_EXECUTABLE_SUFFIX}")

  add_custom_command(
    OUTPUT "${program}"
    # Cargo lists the sources that it has read.
    DEPFILE "${folder}/rustnvlink.d"
    DEPENDS "${repository}/Cargo.toml" "${repository}/Cargo.lock" "${repository}/linker/Cargo.toml"
    COMMAND "${RustNvLink_CARGO}" build --quiet --locked --package rustnvlink --bin rustnvlink
      --profile "${RustNvLink_CARGO_PROFILE}" --target-dir "${RustNvLink_CARGO_TARGET_DIR}"
    # Cargo leaves a program alone that is up to date, but then it must not look older than the manifests.
    COMMAND "${CMAKE_COMMAND}" -E touch "${program}"
    WORKING_DIRECTORY "${repository}"
    COMMENT "Building rustnvlink with Cargo"
    USES_TERMINAL
    VERBATIM
  )
  add_custom_target(rustnvlink-program ALL DEPENDS "${program}")

  add_executable(RustNvLink::rustnvlink IMPORTED GLOBAL)
  set_target_properties(RustNvLink::rustnvlink PROPERTIES IMPORTED_LOCATION "${program}")
  add_dependencies(RustNvLink::rustnvlink rustnvlink-program)
  set(${out} "${program}" PARENT_SCOPE)
endfunction()
