# Go's timers. A program is its own file and replay.go, which has the protocol.

set(go_sources "${CMAKE_CURRENT_LIST_DIR}")

# Adds process NAME, of NAME.go. ARGN: flags of the compiler.
function(add_go_process name)
  set(program "${CMAKE_CURRENT_BINARY_DIR}/go/${name}")
  set(sources "${go_sources}/replay.go" "${go_sources}/${name}.go")
  add_custom_command(OUTPUT "${program}" VERBATIM DEPENDS ${sources}
    COMMENT "Compiling ${name}"
    COMMAND ${CMAKE_COMMAND} -E env GO111MODULE=off GOFLAGS= CGO_ENABLED=0
      "GOCACHE=${CMAKE_CURRENT_BINARY_DIR}/go/cache"
      "${go}" build ${ARGN} -o "${program}" ${sources})
  add_process(${name} COMMAND "${program}" DEPENDS "${program}")
endfunction()

find_runtime(go go golang-go "go_*")
if(go)
  add_go_process(go_null)
  add_go_process(go_container_heap)
  add_go_process(go_runtime_timers -tags faketime)
endif()
