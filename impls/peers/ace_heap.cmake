include("${PROJECT_SOURCE_DIR}/impls/peers/ace/timers.cmake")
