# Contenders that are other programs, by the protocol of docs/processes.md. The folder `processes` beside
# timerbench has an executable for each, and its description.

set(processes "${CMAKE_BINARY_DIR}/processes")
file(REMOVE_RECURSE "${processes}")  # what is no longer here
add_custom_target(processes ALL)

# Adds process NAME, which runs COMMAND. DEPENDS: files that it is made of.
function(add_process name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "COMMAND;DEPENDS")
  list(JOIN arg_COMMAND "' '" words)
  set(program "${processes}/${name}")
  file(CONFIGURE OUTPUT "${program}" CONTENT "#!/bin/sh\nexec '${words}' \"$@\"\n" @ONLY)
  file(CHMOD "${program}" PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE
    WORLD_READ WORLD_EXECUTE)
  add_custom_command(OUTPUT "${program}.json" VERBATIM DEPENDS "${program}" ${arg_DEPENDS}
    COMMAND "${program}" describe > "${program}.new"
    COMMAND ${CMAKE_COMMAND} -E rename "${program}.new" "${program}.json")
  add_custom_target(process_${name} DEPENDS "${program}.json")
  add_dependencies(processes process_${name})
endfunction()

# Sets VARIABLE to the path of a program that a Debian package has. Otherwise says what is not built.
macro(find_runtime variable program package name)
  find_program(${variable} ${program} PATHS /usr/bin NO_DEFAULT_PATH NO_CACHE)
  if(NOT ${variable})
    message(STATUS "${name} is not built: ${package} is missing")
  endif()
endmacro()

find_runtime(python python3 python3 python_heapq)
if(python)
  set(script "${CMAKE_CURRENT_LIST_DIR}/python/python_heapq.py")
  add_process(python_heapq COMMAND "${python}" "${script}" DEPENDS "${script}")
endif()

include("${CMAKE_CURRENT_LIST_DIR}/java/java.cmake")
include("${CMAKE_CURRENT_LIST_DIR}/go/go.cmake")
include("${CMAKE_CURRENT_LIST_DIR}/node/node.cmake")
include("${CMAKE_CURRENT_LIST_DIR}/rust/rust.cmake")
include("${CMAKE_CURRENT_LIST_DIR}/erlang/erlang.cmake")
