find_library(libuv_static NAMES libuv_a.a NO_CACHE REQUIRED)
target_link_libraries(${backend} PRIVATE "${libuv_static}" dl)
