# Links a copy of a static library that reads the clock of virtual_loop.h instead of the system's.
#
#   link_in_virtual_time(BACKEND LIBRARY [MEMBER NAME] [REPLACED FUNCTION...])
#
# LIBRARY is the file's name, such as libev.a. With MEMBER, only this object of it is linked. Each
# system call FUNCTION that is REPLACED gets another name: epoll_wait is libev_epoll_wait, which the
# backend's header defines. Backends of one library share the copy.
function(link_in_virtual_time backend library)
  cmake_parse_arguments(PARSE_ARGV 2 of "" "MEMBER" "REPLACED")
  get_filename_component(name "${library}" NAME_WE)
  set(copy "${PROJECT_BINARY_DIR}/backends/virtual_${library}")
  if(of_MEMBER)
    string(APPEND copy ".o")
  endif()
  if(NOT TARGET virtual_${name})
    set(names --redefine-sym clock_gettime=virtual_clock_gettime
      --redefine-sym gettimeofday=virtual_gettimeofday)
    foreach(function IN LISTS of_REPLACED)
      list(APPEND names --redefine-sym ${function}=${name}_${function})
    endforeach()
    find_library(original NAMES "${library}" NO_CACHE REQUIRED)
    if(of_MEMBER)
      add_custom_command(OUTPUT "${copy}" DEPENDS "${original}" VERBATIM
        COMMAND ${CMAKE_AR} p "${original}" ${of_MEMBER} > "${copy}"
        COMMAND ${CMAKE_OBJCOPY} ${names} "${copy}")
    else()
      add_custom_command(OUTPUT "${copy}" DEPENDS "${original}" VERBATIM
        COMMAND ${CMAKE_OBJCOPY} ${names} "${original}" "${copy}")
    endif()
    add_custom_target(virtual_${name} DEPENDS "${copy}")
  endif()
  add_dependencies(${backend} virtual_${name})
  target_link_libraries(${backend} PRIVATE "${copy}")
endfunction()
