# Compiles the library of go_timers/ and adds the services that use it.

find_runtime(go go golang-go "go_timers_*")
if(NOT go)
  return()
endif()
execute_process(COMMAND "${go}" env GOVERSION OUTPUT_VARIABLE go_version
  OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
string(REPLACE "go" "" go_version "${go_version}")

set(library "${CMAKE_CURRENT_BINARY_DIR}/go_timers/go_timers.so")
set(source "${CMAKE_CURRENT_LIST_DIR}/go_timers/go_timers.go")
add_custom_command(OUTPUT "${library}" VERBATIM DEPENDS "${source}"
  COMMENT "Compiling the timers of Go"
  COMMAND ${CMAKE_COMMAND} -E env GO111MODULE=off GOFLAGS= CGO_ENABLED=1
    "GOCACHE=${CMAKE_CURRENT_BINARY_DIR}/../go/cache"
    "${go}" build -buildmode=c-shared -o "${library}" "${source}")
add_custom_target(go_timers_library DEPENDS "${library}")

add_service(go_timers "GoTimers<1>, GoTimers<2>" ${CMAKE_DL_LIBS})
add_dependencies(service_go_timers go_timers_library)
target_compile_definitions(service_go_timers PRIVATE
  "TIMERBENCH_GO_LIBRARY=\"${library}\"" "TIMERBENCH_GO_VERSION=\"${go_version}\"")
