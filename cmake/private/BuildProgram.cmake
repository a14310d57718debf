# Builds the programs with Cargo.
include_guard(GLOBAL)

# Defines RustNvLink::rustnvlink and RustNvLink::cudalink as what Cargo makes of the repository, and sets <out> to the
# paths of the programs.
function(_rustnvlink_build_programs out repository)
  find_program(RustNvLink_CARGO cargo
    HINTS ENV CARGO_HOME "$ENV{HOME}/.cargo"
    PATH_SUFFIXES bin
    DOC "The cargo that builds RustNvLink"
  )
  if(NOT RustNvLink_CARGO)
    message(FATAL_ERROR
      "RustNvLink is built with cargo, which is not on PATH. Install Rust from https://www.rust-lang.org/tools/install "
      "or set RustNvLink_CARGO."
    )
  endif()
  set(RustNvLink_CARGO_PROFILE release CACHE STRING "The Cargo profile that RustNvLink is built with")
  set(RustNvLink_CARGO_TARGET_DIR "${CMAKE_CURRENT_BINARY_DIR}/cargo" CACHE PATH "Where Cargo keeps what it builds")
  mark_as_advanced(RustNvLink_CARGO RustNvLink_CARGO_PROFILE RustNvLink_CARGO_TARGET_DIR)

  if(RustNvLink_CARGO_PROFILE STREQUAL "dev")
    set(folder "${RustNvLink_CARGO_TARGET_DIR}/debug")
  else()
    set(folder "${RustNvLink_CARGO_TARGET_DIR}/${RustNvLink_CARGO_PROFILE}")
  endif()

  set(programs "")
  foreach(name rustnvlink cargo-cudalink)
    set(program "${folder}/${name}${CMAKE_EXECUTABLE_SUFFIX}")
    list(APPEND programs "${program}")
    add_custom_command(
      OUTPUT "${program}"
      # Cargo lists the sources that it has read.
      DEPFILE "${folder}/${name}.d"
      DEPENDS "${repository}/Cargo.toml" "${repository}/Cargo.lock"
      # With both packages, so that features of what they share are the same and nothing is built twice.
      COMMAND "${RustNvLink_CARGO}" build --locked --package rustnvlink --package cargo-cudalink --bin ${name}
        --profile "${RustNvLink_CARGO_PROFILE}" --target-dir "${RustNvLink_CARGO_TARGET_DIR}"
      # Cargo leaves a program alone that is up to date, but then it must not look older than the manifests.
      COMMAND "${CMAKE_COMMAND}" -E touch "${program}"
      WORKING_DIRECTORY "${repository}"
      COMMENT "Building ${name} with Cargo"
      USES_TERMINAL
      VERBATIM
    )
  endforeach()
  add_custom_target(rustnvlink-programs ALL DEPENDS ${programs})

  foreach(name rustnvlink cudalink)
    list(POP_FRONT programs program)
    add_executable(RustNvLink::${name} IMPORTED GLOBAL)
    set_target_properties(RustNvLink::${name} PROPERTIES IMPORTED_LOCATION "${program}")
    add_dependencies(RustNvLink::${name} rustnvlink-programs)
    list(APPEND programs "${program}")
  endforeach()
  set(${out} "${programs}" PARENT_SCOPE)
endfunction()
