# Runs the guide's lines that build a program without CMake, and the program: cmake -DBLOCKS=pkg_config,link_line -DGUIDE=...
# -DPREFIX=... -DLIBDIR=... -DCXX=... -DWORK=... -P this. A block is what stands in building.md between
# "<!-- begin: NAME -->" and "<!-- end: NAME -->"; its /somewhere is PREFIX, its c++ CXX.
find_program(pkg_config pkg-config)
if(NOT pkg_config)
  message(FATAL_ERROR "pkg-config was not found. On Debian: scripts/install-packages test")
endif()
file(READ ${GUIDE} guide)
string(REPLACE "," ";" BLOCKS ${BLOCKS})
foreach(block IN LISTS BLOCKS)
  if(NOT guide MATCHES "<!-- begin: ${block} -->\n```sh\n([^`]*)```\n<!-- end: ${block} -->")
    message(FATAL_ERROR "${GUIDE}: no block of sh between the comments begin: ${block} and end: ${block}")
  endif()
  set(script "${CMAKE_MATCH_1}")
  string(REPLACE "/somewhere/lib" "${PREFIX}/${LIBDIR}" script "${script}")
  string(REPLACE "/somewhere" "${PREFIX}" script "${script}")
  string(REGEX REPLACE "(^|\n)c[+][+] " "\\1${CXX} " script "${script}")
  file(REMOVE_RECURSE ${WORK}/${block})
  configure_file(${CMAKE_CURRENT_LIST_DIR}/exchange.cpp ${WORK}/${block}/program.cpp COPYONLY)
  message(STATUS "${block}:\n${script}./program")
  # Run by the path of a shared library's, which is not the linker's.
  execute_process(COMMAND ${CMAKE_COMMAND} -E env LD_LIBRARY_PATH=${PREFIX}/${LIBDIR} sh -ec "${script}./program"
                  WORKING_DIRECTORY ${WORK}/${block} RESULT_VARIABLE status OUTPUT_VARIABLE output)
  if(NOT status EQUAL 0 OR NOT output STREQUAL "rank 0 got 11, rank 1 got 10\n")
    message(FATAL_ERROR "failed (${status}), output: ${output}")
  endif()
  message(STATUS "${output}")
endforeach()
