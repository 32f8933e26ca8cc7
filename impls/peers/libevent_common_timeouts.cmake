include("${CMAKE_CURRENT_LIST_DIR}/libevent.cmake")
