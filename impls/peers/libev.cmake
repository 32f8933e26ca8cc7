# The object of Debian's static library that is libev, not its imitation of libevent.
include("${PROJECT_SOURCE_DIR}/impls/core/virtual_loop.cmake")
link_in_virtual_time(${backend} libev.a MEMBER ev.o REPLACED epoll_wait)
