# The object of Debian's static library that is libev, not its imitation of libevent, with other names
# for the system calls of an iteration.
find_library(libev_static NAMES libev.a NO_CACHE REQUIRED)
set(libev_virtual "${CMAKE_CURRENT_BINARY_DIR}/backends/libev_virtual.o")
add_custom_command(OUTPUT "${libev_virtual}" DEPENDS "${libev_static}" VERBATIM
  COMMAND ${CMAKE_AR} p "${libev_static}" ev.o > "${libev_virtual}"
  COMMAND ${CMAKE_OBJCOPY} --redefine-sym clock_gettime=timerbench_libev_clock_gettime
    --redefine-sym gettimeofday=timerbench_libev_gettimeofday
    --redefine-sym epoll_wait=timerbench_libev_epoll_wait "${libev_virtual}")
add_custom_target(libev_virtual DEPENDS "${libev_virtual}")
add_dependencies(${backend} libev_virtual)
target_link_libraries(${backend} PRIVATE "${libev_virtual}")
