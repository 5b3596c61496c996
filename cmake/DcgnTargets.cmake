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

# dcgn_unite_folders(<target>): in a unity build, the files of a folder are one unit, with those of its instances/, so that
# they share its names and no others. The library's own kernels, *_kernels.cpp, stay alone: one of them takes as long as a
# folder.
function(dcgn_unite_folders target)
  get_target_property(sources ${target} SOURCES)
  list(FILTER sources EXCLUDE REGEX "_kernels?\\.cpp$")
  foreach(source IN LISTS sources)
    cmake_path(GET source PARENT_PATH folder)
    string(REGEX REPLACE "/instances$" "" folder "${folder}")
    cmake_path(RELATIVE_PATH folder BASE_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR})
    string(MAKE_C_IDENTIFIER "${folder}" group)
    set_source_files_properties(${source} TARGET_DIRECTORY ${target} PROPERTIES UNITY_GROUP ${group})
  endforeach()
  set_target_properties(${target} PROPERTIES UNITY_BUILD_MODE GROUP)
endfunction()

# dcgn_add_library(<target> <name> <source>...): the library dcgn::<name> of the module here, with the public headers that
# are in include/. Sources in folders cuda/ are left out where CUDA is off.
function(dcgn_add_library target name)
  set(sources ${ARGN})
  if(NOT dcgn_has_cuda)
    list(FILTER sources EXCLUDE REGEX "/src/(.*/)?cuda/")
  endif()
  add_library(${target} ${sources})
  if(NOT TARGET dcgn::${name})
    add_library(dcgn::${name} ALIAS ${target})
  endif()
  set_target_properties(${target} PROPERTIES EXPORT_NAME ${name} VERSION ${PROJECT_VERSION}
                                             SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
  dcgn_unite_folders(${target})
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/core/src)
  dcgn_set_warnings(${target})

  file(GLOB_RECURSE headers CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/include/dcgn/*.hpp)
  if(headers)
    # Second halves of other headers, and what is for programs that have mpi.h: these cannot be included alone.
    set(inline_headers ${headers})
    list(FILTER inline_headers INCLUDE REGEX "(_inline|/dcgn/mpi)\\.hpp$")
    list(FILTER headers EXCLUDE REGEX "(_inline|/dcgn/mpi)\\.hpp$")
    target_sources(
      ${target}
      PUBLIC FILE_SET HEADERS BASE_DIRS ${CMAKE_CURRENT_SOURCE_DIR}/include FILES ${headers}
             FILE_SET inline_headers TYPE HEADERS BASE_DIRS ${CMAKE_CURRENT_SOURCE_DIR}/include FILES ${inline_headers})
    # The target all_verify_interface_header_sets compiles every header alone.
    set_target_properties(${target} PROPERTIES VERIFY_INTERFACE_HEADER_SETS ON INTERFACE_HEADER_SETS_TO_VERIFY HEADERS)
  endif()
endfunction()

# dcgn_drive_cuda(<target>): a library that drives CUDA devices where CUDA is on. Its own kernels are in files named
# *_kernel.cpp and *_kernels.cpp; all else is the host's.
function(dcgn_drive_cuda target)
  if(NOT dcgn_has_cuda)
    return()
  endif()
  target_compile_definitions(${target} PRIVATE DCGN_HAS_CUDA)
  target_link_libraries(${target} PRIVATE CUDA::cudart)
  get_target_property(kernels ${target} SOURCES)
  list(FILTER kernels INCLUDE REGEX "_kernels?\\.cpp$")
  if(kernels)
    dcgn_kernel_sources(${target} ${kernels})
  endif()
endfunction()

# dcgn_use_c_library(<target> <NAME> [<source>...]): where dcgn_find_c_library() has found it; DCGN_HAS_<NAME> is defined in
# these sources, or in all of them.
function(dcgn_use_c_library target name)
  string(TOLOWER ${name} lower)
  if(NOT dcgn_has_${lower})
    return()
  endif()
  if(ARGN)
    set_property(SOURCE ${ARGN} APPEND PROPERTY COMPILE_DEFINITIONS DCGN_HAS_${name})
  else()
    target_compile_definitions(${target} PRIVATE DCGN_HAS_${name})
  endif()
  target_include_directories(${target} SYSTEM PRIVATE ${DCGN_${name}_INCLUDE})
  target_link_libraries(${target} PRIVATE ${DCGN_${name}_LIBRARY})
endfunction()

# What every executable and object library of ours has.
function(dcgn_set_up target)
  target_link_libraries(${target} PRIVATE dcgn::dcgn dcgn::device)
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/core/src)
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

# dcgn_add_measurements(<module>): the objects dcgn_<module>_bench of bench/*.cpp here, where measurements are built.
function(dcgn_add_measurements module)
  if(NOT DCGN_BUILD_APPS OR NOT DCGN_BUILD_BENCH)
    return()
  endif()
  file(GLOB sources CONFIGURE_DEPENDS bench/*.cpp)
  dcgn_add_objects(dcgn_${module}_bench ${sources})
  target_link_libraries(dcgn_${module}_bench PRIVATE fmt::fmt nlohmann_json::nlohmann_json)
  set_property(GLOBAL APPEND PROPERTY dcgn_measurements dcgn_${module}_bench)
endfunction()

# dcgn_link_measurements(<target>): all of them, and what they share.
function(dcgn_link_measurements target)
  get_property(measurements GLOBAL PROPERTY dcgn_measurements)
  target_link_libraries(${target} PRIVATE dcgn_bench ${measurements})
endfunction()
