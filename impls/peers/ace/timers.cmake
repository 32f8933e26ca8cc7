# Links ACE. Its free lists keep all that is free: ACE_Timer_Hash_T reads what it has given back, and
# by default a list that has 25 000 deletes what comes.
find_library(ace NAMES ACE NO_CACHE REQUIRED)
target_link_libraries(${backend} PRIVATE "${ace}")
target_compile_definitions(${backend} PRIVATE ACE_DEFAULT_FREE_LIST_HWM=4294967295)
