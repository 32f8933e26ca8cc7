# The JVM's timers. Each program has a folder of classes: its own, and those of the protocol.

set(java_sources "${CMAKE_CURRENT_LIST_DIR}")
set(java_classes "${CMAKE_CURRENT_BINARY_DIR}/java")
# The collector and the heap are the same wherever this is measured. The last leaves no file in /tmp.
set(java_flags -XX:+UseSerialGC -Xms2g -Xmx2g -XX:-UsePerfData)

# Adds process NAME, which is the main() of CLASS. LIBRARIES are archives and folders of classes.
function(add_java_process name class)
  cmake_parse_arguments(PARSE_ARGV 2 arg "" "" "LIBRARIES;DEPENDS")
  set(folder "${java_classes}/${name}")
  set(sources ${class} Fires Replay Timers Trace)
  list(TRANSFORM sources REPLACE "(.+)" "${java_sources}/\\1.java")
  list(JOIN arg_LIBRARIES ":" libraries)
  set(class_path "${folder}")
  if(libraries)
    string(APPEND class_path ":${libraries}")
  endif()
  add_custom_command(OUTPUT "${folder}/${class}.class" VERBATIM DEPENDS ${sources} ${arg_DEPENDS}
    COMMENT "Compiling ${name}"
    COMMAND ${CMAKE_COMMAND} -E rm -rf "${folder}"
    COMMAND "${javac}" -Xlint:all -Werror -cp "${libraries}" -sourcepath "${java_sources}"
      -d "${folder}" "${java_sources}/${class}.java")
  add_process(${name} DEPENDS "${folder}/${class}.class"
    COMMAND "${java}" ${java_flags} -cp "${class_path}" ${class})
endfunction()

find_runtime(javac javac openjdk-17-jdk-headless "java_*")
if(javac)
  cmake_path(REPLACE_FILENAME javac java OUTPUT_VARIABLE java)
  add_java_process(java_null JavaNull)
  add_java_process(java_priority_queue JavaPriorityQueue)
  add_java_process(java_delay_queue JavaDelayQueue)
  add_java_process(java_skip_list JavaSkipList)
  add_java_process(java_kafka_wheel JavaKafkaWheel)
endif()
