# Links a copy of a static library that reads the clock of virtual_loop.h instead of the system's.
#
#   link_in_virtual_time(BACKEND LIBRARY [MEMBER NAME] [REPLACED FUNCTION...])
#
# LIBRARY is the file's name, such as libev.a. With MEMBER, only this object of it is linked. Each
# system call FUNCTION that is REPLACED gets the name of the backend before its own, such as
# libev_epoll_wait; the backend's header defines it.
function(link_in_virtual_time backend library)
  cmake_parse_arguments(PARSE_ARGV 2 of "" "MEMBER" "REPLACED")
  string(REGEX REPLACE "^backend_" "" name "${backend}")
  set(names --redefine-sym clock_gettime=virtual_clock_gettime
    --redefine-sym gettimeofday=virtual_gettimeofday)
  foreach(function IN LISTS of_REPLACED)
    list(APPEND names --redefine-sym ${function}=${name}_${function})
  endforeach()
  find_library(original NAMES "${library}" NO_CACHE REQUIRED)
  if(of_MEMBER)
    set(copy "${CMAKE_CURRENT_BINARY_DIR}/backends/${name}_virtual.o")
    add_custom_command(OUTPUT "${copy}" DEPENDS "${original}" VERBATIM
      COMMAND ${CMAKE_AR} p "${original}" ${of_MEMBER} > "${copy}"
      COMMAND ${CMAKE_OBJCOPY} ${names} "${copy}")
  else()
    set(copy "${CMAKE_CURRENT_BINARY_DIR}/backends/${name}_virtual.a")
    add_custom_command(OUTPUT "${copy}" DEPENDS "${original}" VERBATIM
      COMMAND ${CMAKE_OBJCOPY} ${names} "${original}" "${copy}")
  endif()
  add_custom_target(${name}_virtual DEPENDS "${copy}")
  add_dependencies(${backend} ${name}_virtual)
  target_link_libraries(${backend} PRIVATE "${copy}")
endfunction()
