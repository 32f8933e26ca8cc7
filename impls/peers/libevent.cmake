# Debian's static library, in which the system calls of an iteration have other names.
find_library(libevent_static NAMES libevent_core.a NO_CACHE REQUIRED)
set(libevent_virtual "${CMAKE_CURRENT_BINARY_DIR}/backends/libevent_virtual.a")
add_custom_command(OUTPUT "${libevent_virtual}" DEPENDS "${libevent_static}" VERBATIM COMMAND
  ${CMAKE_OBJCOPY} --redefine-sym clock_gettime=timerbench_libevent_clock_gettime
  --redefine-sym gettimeofday=timerbench_libevent_gettimeofday
  --redefine-sym epoll_wait=timerbench_libevent_epoll_wait "${libevent_static}" "${libevent_virtual}")
add_custom_target(libevent_virtual DEPENDS "${libevent_virtual}")
add_dependencies(${backend} libevent_virtual)
target_link_libraries(${backend} PRIVATE "${libevent_virtual}")
