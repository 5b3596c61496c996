# How the folders of this project make their targets.

# dcgn_kernel_sources(<target> [<file>...]): under CUDA, nvcc compiles these files. Without files: those sources of the
# target that define or launch kernels, which are known by what they contain: DCGN_HOST_DEVICE, a header of dcgn/gpu/,
# or a header of kernels by its name, *_kernel.hpp or *_kernels.hpp.
function(dcgn_kernel_sources target)
  if(NOT dcgn_has_cuda)
    return()
  endif()
  set(files ${ARGN})
  if(NOT files)
    get_target_property(sources ${target} SOURCES)
    foreach(source IN LISTS sources)
      file(STRINGS ${source} hits LIMIT_COUNT 1 REGEX "DCGN_HOST_DEVICE|<dcgn/gpu/|_kernels?\\.hpp[\">]")
      if(hits)
        list(APPEND files ${source})
      endif()
    endforeach()
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${sources})
  endif()
  # Alone in a unity build too: ptxas takes longer over many kernels at once than over one after the other.
  set_source_files_properties(${files} TARGET_DIRECTORY ${target} PROPERTIES LANGUAGE CUDA SKIP_UNITY_BUILD_INCLUSION ON)
endfunction()

# dcgn_unite_folders(<target>): in a unity build, the files of a folder are one unit, so that they share its names and no
# others. The library's own kernels, *_kernels.cpp, and instances/ stay alone: one of them takes as long as a folder.
function(dcgn_unite_folders target)
  get_target_property(sources ${target} SOURCES)
  list(FILTER sources EXCLUDE REGEX "_kernels?\\.cpp$")
  set(alone ${sources})
  list(FILTER alone INCLUDE REGEX "/instances/")
  set_source_files_properties(${alone} TARGET_DIRECTORY ${target} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  list(FILTER sources EXCLUDE REGEX "/instances/")
  foreach(source IN LISTS sources)
    cmake_path(GET source PARENT_PATH folder)
    cmake_path(RELATIVE_PATH folder BASE_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR})
    string(MAKE_C_IDENTIFIER "${folder}" group)
    set_source_files_properties(${source} TARGET_DIRECTORY ${target} PROPERTIES UNITY_GROUP ${group})
  endforeach()
  set_target_properties(${target} PROPERTIES UNITY_BUILD_MODE GROUP)
endfunction()

# What every executable and object library of ours has.
function(dcgn_set_up target)
  target_link_libraries(${target} PRIVATE dcgn::dcgn dcgn::device)
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/src)
  dcgn_set_warnings(${target})
endfunction()

# dcgn_add_executable(<name> <source>... [KERNELS <source>...]): KERNELS are handed to nvcc under CUDA; where none are
# named, dcgn_kernel_sources() finds them.
function(dcgn_add_executable name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" KERNELS)
  add_executable(${name} ${arg_UNPARSED_ARGUMENTS} ${arg_KERNELS})
  dcgn_set_up(${name})
  dcgn_kernel_sources(${name} ${arg_KERNELS})
endfunction()

# The same for objects that the command and the tests link.
function(dcgn_add_objects name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" KERNELS)
  add_library(${name} OBJECT ${arg_UNPARSED_ARGUMENTS} ${arg_KERNELS})
  dcgn_set_up(${name})
  dcgn_kernel_sources(${name} ${arg_KERNELS})
endfunction()
