# Rust's timers. A program is its own file and replay.rs, which has the protocol. Debian's own compiler is
# taken, for its crates go with it.

set(rust_sources "${CMAKE_CURRENT_LIST_DIR}")
set(rust_programs "${CMAKE_CURRENT_BINARY_DIR}/rust")
file(MAKE_DIRECTORY "${rust_programs}")

find_runtime(rustc rustc rustc "rust_*")
if(rustc)
  execute_process(COMMAND "${rustc}" --version OUTPUT_VARIABLE rust_version
    OUTPUT_STRIP_TRAILING_WHITESPACE)
  foreach(name rust_null rust_binary_heap)
    set(program "${rust_programs}/${name}")
    set(sources "${rust_sources}/${name}.rs" "${rust_sources}/replay.rs")
    add_custom_command(OUTPUT "${program}" VERBATIM DEPENDS "${rustc}" ${sources}
      COMMENT "Compiling ${name}"
      COMMAND ${CMAKE_COMMAND} -E env "RUST_VERSION=${rust_version}"
        "${rustc}" --edition 2021 -D warnings -C opt-level=3 -C panic=abort
        -o "${program}" "${rust_sources}/${name}.rs")
    add_process(${name} COMMAND "${program}" DEPENDS "${program}")
  endforeach()
endif()

find_runtime(cargo cargo cargo tokio_delay_queue)
file(GLOB tokio_util "/usr/share/cargo/registry/tokio-util-*/Cargo.toml")
if(NOT tokio_util)
  message(STATUS "tokio_delay_queue is not built: librust-tokio-util-dev is missing")
endif()
if(rustc AND cargo AND tokio_util)
  string(REGEX REPLACE ".*/(.*)/.*" "\\1" tokio_util_version "${tokio_util}")
  configure_file("${rust_sources}/Cargo.toml.in" "${rust_programs}/Cargo.toml" @ONLY)
  set(program "${rust_programs}/release/tokio_delay_queue")
  add_custom_command(OUTPUT "${program}" VERBATIM DEPENDS "${rustc}" "${rust_programs}/Cargo.toml"
      "${rust_sources}/tokio_delay_queue.rs" "${rust_sources}/replay.rs"
    COMMENT "Compiling tokio_delay_queue"
    COMMAND ${CMAKE_COMMAND} -E env "RUST_VERSION=${tokio_util_version}, ${rust_version}"
      "RUSTC=${rustc}" "CARGO_HOME=${rust_programs}/home" "RUSTFLAGS=-D warnings"
      "${cargo}" build --release --offline --quiet
      --manifest-path "${rust_programs}/Cargo.toml" --target-dir "${rust_programs}"
      --config "source.crates-io.replace-with='debian'"
      --config "source.debian.directory='/usr/share/cargo/registry'")
  add_process(tokio_delay_queue COMMAND "${program}" DEPENDS "${program}")
endif()
