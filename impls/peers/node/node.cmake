# The timers of Node.js. A program is its own file and replay.js, which has the protocol.

find_runtime(node node nodejs "node_*")
if(node)
  foreach(name node_null node_timers)
    set(script "${CMAKE_CURRENT_LIST_DIR}/${name}.js")
    add_process(${name} COMMAND "${node}" --expose-internals "${script}"
      DEPENDS "${script}" "${CMAKE_CURRENT_LIST_DIR}/replay.js")
  endforeach()
endif()
