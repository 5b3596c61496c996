# What is needed, and what can be done without: each folder that is built says so in its dependencies.cmake. Every optional
# part that is off is noted with its reason and the way to turn it on; dcgn_print_summary() prints the notes at the end of
# the configure step.

include(DcgnSwitch)

set(dcgn_parts "")

# dcgn_note(<part> <on|off> <reason>)
macro(dcgn_note part state reason)
  list(APPEND dcgn_parts ${part})
  set(dcgn_part_${part} "${state} (${reason})")
endmacro()

function(dcgn_print_summary)
  message(STATUS "Decagon ${PROJECT_VERSION}, ${CMAKE_BUILD_TYPE}, ${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION}")
  foreach(part IN LISTS dcgn_parts)
    message(STATUS "  ${part}: ${dcgn_part_${part}}")
  endforeach()
endfunction()

# dcgn_find_c_library(<NAME> <header> <library> <packages> <what it is for>): the switch DCGN_<NAME> decides; sets
# dcgn_has_<name>, DCGN_<NAME>_INCLUDE and DCGN_<NAME>_LIBRARY. <packages> is the group of packages.txt that has it.
macro(dcgn_find_c_library name header library packages purpose)
  string(TOLOWER ${name} lower)
  set(dcgn_has_${lower} OFF)
  dcgn_read_switch(DCGN_${name} asked)
  if(asked STREQUAL "OFF")
    dcgn_note(${name} off "-DDCGN_${name}=ON builds ${purpose}")
  else()
    # Debian keeps the HDF5 without MPI beside the one with it.
    find_path(DCGN_${name}_INCLUDE ${header} PATH_SUFFIXES hdf5/serial)
    find_library(DCGN_${name}_LIBRARY NAMES ${library}_serial ${library})
    mark_as_advanced(DCGN_${name}_INCLUDE DCGN_${name}_LIBRARY)
    if(DCGN_${name}_INCLUDE AND DCGN_${name}_LIBRARY)
      set(dcgn_has_${lower} ON)
      dcgn_note(${name} on "${purpose}")
    elseif(asked STREQUAL "ON")
      message(FATAL_ERROR "DCGN_${name}=ON, and ${name} was not found. On Debian: scripts/install-packages ${packages}")
    else()
      dcgn_note(${name} off "not found; scripts/install-packages ${packages}, for ${purpose}")
    endif()
  endif()
endmacro()

# dcgn_note_module(<part> <option> <purpose>): a module that needs nothing but its option.
macro(dcgn_note_module part option purpose)
  if(${option})
    dcgn_note(${part} on "${purpose}")
  else()
    dcgn_note(${part} off "-D${option}=ON builds ${purpose}")
  endif()
endmacro()

foreach(folder IN ITEMS core stencil vgpu pixels wall memnet bench python tool tests)
  include(${PROJECT_SOURCE_DIR}/${folder}/dependencies.cmake OPTIONAL) # a source package for Python has not all of them
endforeach()
