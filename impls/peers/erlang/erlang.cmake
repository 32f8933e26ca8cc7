# Erlang's timers. A program is its own module and replay.erl, which has the protocol.

set(erlang_sources "${CMAKE_CURRENT_LIST_DIR}")

# Adds process NAME, of NAME.erl.
function(add_erlang_process name)
  set(folder "${CMAKE_CURRENT_BINARY_DIR}/erlang/${name}")
  set(sources "${erlang_sources}/replay.erl" "${erlang_sources}/${name}.erl")
  add_custom_command(OUTPUT "${folder}/${name}.beam" VERBATIM DEPENDS ${sources}
    COMMENT "Compiling ${name}"
    COMMAND ${CMAKE_COMMAND} -E make_directory "${folder}"
    COMMAND "${erlc}" -Werror -pa "${folder}" -o "${folder}" ${sources})
  add_process(${name} DEPENDS "${folder}/${name}.beam"
    COMMAND "${erl}" +S 1 -noinput -pa "${folder}" -run replay main ${name} -extra)
endfunction()

find_runtime(erlc erlc erlang-base "erlang_*")
if(erlc)
  cmake_path(REPLACE_FILENAME erlc erl OUTPUT_VARIABLE erl)
  add_erlang_process(erlang_null)
  add_erlang_process(erlang_gb_sets)
endif()
