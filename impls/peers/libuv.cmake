target_link_libraries(${backend} PRIVATE uv_a dl)
