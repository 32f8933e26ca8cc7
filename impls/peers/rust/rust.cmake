# Rust's timers. A program is its own file and replay.rs, which has the protocol. The compiler is
# Debian's own, which its crates were made for.

set(rust_sources "${CMAKE_CURRENT_LIST_DIR}")
set(rust_programs "${CMAKE_CURRENT_BINARY_DIR}/rust")
file(MAKE_DIRECTORY "${rust_programs}")

# Adds process NAME, of NAME.rs and the standard library.
function(add_rust_process name)
  set(program "${rust_programs}/${name}")
  set(sources "${rust_sources}/${name}.rs" "${rust_sources}/replay.rs")
  add_custom_command(OUTPUT "${program}" VERBATIM DEPENDS "${rustc}" ${sources}
    COMMENT "Compiling ${name}"
    COMMAND ${CMAKE_COMMAND} -E env "RUST_VERSION=${rust_version}"
      "${rustc}" --edition 2021 -D warnings -C opt-level=3 -C panic=abort
      -o "${program}" "${rust_sources}/${name}.rs")
  add_process(${name} COMMAND "${program}" DEPENDS "${program}")
endfunction()

find_runtime(rustc rustc rustc "rust_*")
if(rustc)
  execute_process(COMMAND "${rustc}" --version OUTPUT_VARIABLE rust_version
    OUTPUT_STRIP_TRAILING_WHITESPACE)
  string(APPEND rust_version " (rustc)")
  add_rust_process(rust_null)
  add_rust_process(rust_binary_heap)
endif()

find_runtime(cargo cargo cargo tokio_delay_queue)
foreach(crate tokio-util tokio)
  file(GLOB ${crate} "/usr/share/cargo/registry/${crate}-[0-9]*/Cargo.toml")
  if(NOT ${crate})
    message(STATUS "tokio_delay_queue is not built: librust-${crate}-dev is missing")
  endif()
endforeach()
if(rustc AND cargo AND tokio-util AND tokio)
  string(REGEX REPLACE ".*/(.*)/.*" "\\1 (librust-tokio-util-dev)" tokio_version "${tokio-util}")
  configure_file("${rust_sources}/Cargo.toml.in" "${rust_programs}/Cargo.toml" @ONLY)
  set(program "${rust_programs}/release/tokio_delay_queue")
  add_custom_command(OUTPUT "${program}" VERBATIM DEPENDS "${rustc}" "${rust_programs}/Cargo.toml"
      "${rust_sources}/tokio_delay_queue.rs" "${rust_sources}/replay.rs"
    COMMENT "Compiling tokio_delay_queue"
    COMMAND ${CMAKE_COMMAND} -E env "RUST_VERSION=${tokio_version}, ${rust_version}"
      "RUSTC=${rustc}" "CARGO_HOME=${rust_programs}/home" "RUSTFLAGS=-D warnings"
      "${cargo}" build --release --offline --quiet
      --manifest-path "${rust_programs}/Cargo.toml" --target-dir "${rust_programs}"
      --config "source.crates-io.replace-with='debian'"
      --config "source.debian.directory='/usr/share/cargo/registry'")
  add_process(tokio_delay_queue COMMAND "${program}" DEPENDS "${program}")
endif()
