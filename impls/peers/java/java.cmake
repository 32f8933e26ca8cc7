# The JVM's timers. Each program has a folder of classes: its own, and those of the protocol.

set(java_sources "${CMAKE_CURRENT_LIST_DIR}")
set(java_classes "${CMAKE_CURRENT_BINARY_DIR}/java")
# The collector and the heap are the same wherever this is measured. The last leaves no file in
# /tmp.
set(java_flags -XX:+UseSerialGC -Xms2g -Xmx2g -XX:-UsePerfData)

# Adds process NAME, which is the main() of CLASS and made of CLASSES as well. LIBRARIES are
# archives and folders of classes. DEPENDS: what makes them.
function(add_java_process name class)
  cmake_parse_arguments(PARSE_ARGV 2 arg "" "" "CLASSES;LIBRARIES;DEPENDS")
  set(folder "${java_classes}/${name}")
  set(sources ${class} ${arg_CLASSES} Fires Replay Timers Trace)
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

# Sets VARIABLE to the path of an archive that a Debian package has, which tells its version.
# Otherwise says what is not built.
macro(find_java_library variable archive package name)
  file(GLOB ${variable} "/usr/share/java/${archive}-[0-9]*.jar")
  if(NOT ${variable})
    message(STATUS "${name} is not built: ${package} is missing")
  endif()
endmacro()

find_runtime(javac javac openjdk-17-jdk-headless "java_*")
if(javac)
  cmake_path(REPLACE_FILENAME javac java OUTPUT_VARIABLE java)
  add_java_process(java_null JavaNull)
  add_java_process(java_priority_queue JavaPriorityQueue)
  add_java_process(java_delay_queue JavaDelayQueue)
  add_java_process(java_skip_list JavaSkipList)
  add_java_process(java_kafka_wheel JavaKafkaWheel)

  find_java_library(netty netty-common libnetty-java netty_wheel)
  find_java_library(jctools jctools-core libjctools-java netty_wheel)
  if(netty AND jctools)
    # Netty's timer asks the system for the time. In this copy it asks another class, whose name
    # is as long: that is all that changes in a class file.
    set(patched "${java_classes}/netty")
    add_custom_command(OUTPUT "${patched}/made" VERBATIM DEPENDS "${netty}"
      COMMENT "Copying the HashedWheelTimer of Netty"
      COMMAND ${CMAKE_COMMAND} -E rm -rf "${patched}"
      COMMAND ${CMAKE_COMMAND} -E make_directory "${patched}"
      COMMAND ${CMAKE_COMMAND} -E chdir "${patched}" ${CMAKE_COMMAND} -E tar x "${netty}"
        "io/netty/util/HashedWheelTimer.class" "io/netty/util/HashedWheelTimer$Worker.class"
      COMMAND sed -i "s|java/lang/System|VirtualNanoClock|g"
        "${patched}/io/netty/util/HashedWheelTimer.class"
        "${patched}/io/netty/util/HashedWheelTimer$Worker.class"
      COMMAND ${CMAKE_COMMAND} -E touch "${patched}/made")
    add_java_process(netty_wheel NettyWheel CLASSES Beside NettyWorker VirtualNanoClock
      LIBRARIES "${patched}" "${netty}" "${jctools}" DEPENDS "${patched}/made")
  endif()

  find_java_library(caffeine caffeine libcaffeine-java caffeine_wheel)
  if(caffeine)
    add_java_process(caffeine_wheel CaffeineWheel CLASSES Beside LIBRARIES "${caffeine}")
  endif()
endif()
