# What `dcgn vgpu run --emulate` puts beneath a program: a driver and a runtime, for which names are taken from the toolkit's
# headers.

set(dcgn_emulation_generated ${CMAKE_CURRENT_BINARY_DIR}/generated)
foreach(folder IN LISTS CUDAToolkit_INCLUDE_DIRS)
  if(EXISTS ${folder}/cuda_runtime_api.h)
    set(headers ${folder})
    break()
  endif()
endforeach()

# dcgn_list_errors(<variable> <header> <names>): a line each, from the header's enumeration.
function(dcgn_list_errors variable header names)
  file(STRINGS ${header} lines REGEX "^ *${names} *= *[0-9]+")
  set(text "")
  foreach(line IN LISTS lines)
    string(REGEX REPLACE "^ *([A-Za-z0-9_]+) *= *([0-9]+).*" "    {\\2, \"\\1\"},\n" entry "${line}")
    string(APPEND text "${entry}")
  endforeach()
  set(${variable} "${text}" PARENT_SCOPE)
endfunction()
dcgn_list_errors(dcgn_driver_errors ${headers}/cuda.h "CUDA_(SUCCESS|ERROR_[A-Z0-9_]+)")
dcgn_list_errors(dcgn_runtime_errors ${headers}/driver_types.h "cuda(Success|Error[A-Za-z0-9]+)")
configure_file(${CMAKE_CURRENT_SOURCE_DIR}/src/names_of_errors.hpp.in
               ${dcgn_emulation_generated}/vgpu/src/names_of_errors.hpp @ONLY)

# All functions of the runtime: as they are declared, and with the ends that --default-stream per-thread gives them.
file(STRINGS ${headers}/cuda_runtime_api.h lines REGEX "CUDARTAPI|__CUDART_API_PT")
set(names "")
foreach(line IN LISTS lines)
  if(line MATCHES "CUDARTAPI(_CDECL)? +(cuda[A-Za-z0-9_]+) *\\(")
    list(APPEND names ${CMAKE_MATCH_2})
  elseif(line MATCHES "define .*__CUDART_API_PT([SD])([SZ])\\((cuda[A-Za-z0-9_]+)\\)")
    string(TOLOWER "${CMAKE_MATCH_1}${CMAKE_MATCH_2}" end)
    list(APPEND names ${CMAKE_MATCH_3}_pt${end})
  endif()
endforeach()
list(REMOVE_DUPLICATES names)
set(dcgn_runtime_names "")
foreach(name IN LISTS names)
  string(APPEND dcgn_runtime_names "DCGN_NOT_HERE(${name})\n")
endforeach()
set(runtime ${CMAKE_CURRENT_SOURCE_DIR}/src/emulated_runtime)
configure_file(${runtime}/not_here.cpp.in ${dcgn_emulation_generated}/not_here.cpp @ONLY)
configure_file(${runtime}/exports.map.in ${dcgn_emulation_generated}/runtime_exports.map @ONLY)

add_subdirectory(src/emulated_driver emulated_driver)
add_subdirectory(src/emulated_runtime emulated_runtime)
