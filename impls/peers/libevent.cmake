include("${PROJECT_SOURCE_DIR}/impls/core/virtual_loop.cmake")
link_in_virtual_time(${backend} libevent_core.a REPLACED epoll_wait)
