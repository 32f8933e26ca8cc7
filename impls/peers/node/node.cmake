# The timers of Node.js. A program is its own file and replay.js, which has the protocol.

set(node_sources "${CMAKE_CURRENT_LIST_DIR}")

# Adds process NAME, of NAME.js.
function(add_node_process name)
  set(script "${node_sources}/${name}.js")
  add_process(${name} COMMAND "${node}" --expose-internals "${script}"
    DEPENDS "${script}" "${node_sources}/replay.js")
endfunction()

find_runtime(node node nodejs "node_*")
if(node)
  add_node_process(node_null)
  add_node_process(node_timers)
endif()
