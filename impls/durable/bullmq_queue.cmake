# Installs BullMQ into the folder MODULES, in the versions of package-lock.json, if they are not there:
# cmake -DMODULES=... -P bullmq_queue.cmake. Without npm, or without a network, it says what is
# missing, and the rest of the build goes on; then the contender says so, too.

set(wanted ${CMAKE_CURRENT_LIST_DIR}/bullmq_queue)
set(installed ${MODULES}/node_modules/.package-lock.json)  # which npm writes last
if(EXISTS ${installed} AND NOT ${wanted}/package-lock.json IS_NEWER_THAN ${installed})
  return()
endif()
file(COPY ${wanted}/package.json ${wanted}/package-lock.json DESTINATION ${MODULES})
find_program(npm npm)
if(NOT npm)
  message("bullmq cannot run: npm is missing; scripts/setup --durable installs it")
  return()
endif()
execute_process(
  COMMAND ${npm} ci --ignore-scripts --no-audit --no-fund --prefix ${MODULES}
  OUTPUT_QUIET ERROR_VARIABLE errors RESULT_VARIABLE status)
if(NOT status EQUAL 0)
  message("${errors}")
  message("bullmq cannot run: npm cannot install it; see its errors above")
endif()
