# Compiles the classes of jvm_timers/, and adds the services that run them in the JVM of the process.

set(jdk openjdk-17-jdk-headless)
find_runtime(javac javac ${jdk} "jdk_*")
if(NOT javac)
  return()
endif()
file(REAL_PATH "${javac}" java_home)
cmake_path(REMOVE_FILENAME java_home)
cmake_path(APPEND java_home ..)
file(STRINGS "${java_home}/release" java_version REGEX "^JAVA_VERSION=")
string(REGEX REPLACE ".*\"(.*)\"" "\\1" java_version "${java_version}")

set(classes Timers JdkTimer JdkDelayQueue JdkScheduledExecutor)
find_java_library(netty netty-common libnetty-java "netty_wheel_*")
find_java_library(jctools jctools-core libjctools-java "netty_wheel_*")
if(netty AND jctools)
  string(REGEX REPLACE ".*netty-common-([0-9.]*[0-9]).*" "\\1" netty_version "${netty}")
  list(APPEND classes NettyWheel)
endif()

set(folder "${CMAKE_CURRENT_BINARY_DIR}/jvm_timers")
list(TRANSFORM classes REPLACE "(.+)" "${CMAKE_CURRENT_LIST_DIR}/jvm_timers/\\1.java")
set(libraries ${netty} ${jctools})
list(JOIN libraries ":" libraries)
add_custom_command(OUTPUT "${folder}/Timers.class" VERBATIM DEPENDS ${classes}
  COMMENT "Compiling the timers of the JVM"
  COMMAND ${CMAKE_COMMAND} -E rm -rf "${folder}"
  COMMAND "${javac}" -Xlint:all -Werror -cp "${libraries}" -d "${folder}" ${classes})
add_custom_target(jvm_timers_classes DEPENDS "${folder}/Timers.class")

# The collector and the heap are those of the processes (../java/java.cmake). The JVM leaves signals
# to the program, and no file if it crashes.
get_directory_property(java_flags DIRECTORY "${CMAKE_CURRENT_LIST_DIR}/.." DEFINITION java_flags)
list(JOIN java_flags " " java_flags)

# Adds the services TYPES of HEADER.h.
macro(add_jvm_service header types)
  add_service(${header} "${types}" ${CMAKE_DL_LIBS})
  add_dependencies(service_${header} jvm_timers_classes)
  target_include_directories(service_${header} SYSTEM PRIVATE
    "${java_home}/include" "${java_home}/include/linux")
  target_compile_definitions(service_${header} PRIVATE
    "TIMERBENCH_LIBJVM=\"${java_home}/lib/server/libjvm.so\""
    "TIMERBENCH_JVM_CLASSES=\"${folder}:${libraries}\""
    "TIMERBENCH_JVM_FLAGS=\"${java_flags} -Xrs -XX:ErrorFile=/dev/null\""
    "TIMERBENCH_JVM=\"OpenJDK ${java_version}, ${jdk}\""
    "TIMERBENCH_NETTY_VERSION=\"${netty_version}\"")
endmacro()

add_jvm_service(jdk_timer JdkTimer)
add_jvm_service(jdk_delay_queue JdkDelayQueue)
add_jvm_service(jdk_scheduled_executor JdkScheduledExecutor)
if(netty AND jctools)
  add_jvm_service(netty_wheel "NettyWheel<1>, NettyWheel<10>")
endif()
