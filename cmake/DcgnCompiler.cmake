# Warnings, sanitizers, ccache. C++20 itself comes with the target dcgn, for C++ and for CUDA.

set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)

if(PROJECT_IS_TOP_LEVEL)
  if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
    set(CMAKE_BUILD_TYPE RelWithDebInfo CACHE STRING "Build type" FORCE)
  endif()
  # Line tables are enough for backtraces and sanitizers; all debug information takes g++ half as long again. Debug has it.
  string(REGEX REPLACE "-g( |$)" "-g1\\1" CMAKE_CXX_FLAGS_RELWITHDEBINFO "${CMAKE_CXX_FLAGS_RELWITHDEBINFO}")
  set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
  set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin)
  find_program(DCGN_CCACHE ccache)
  mark_as_advanced(DCGN_CCACHE)
  if(DCGN_CCACHE)
    # By paths relative to the sources: another clone, in another folder, finds what this one has compiled.
    set(launcher ${CMAKE_COMMAND} -E env CCACHE_BASEDIR=${PROJECT_SOURCE_DIR} CCACHE_NOHASHDIR=1 ${DCGN_CCACHE})
    set(CMAKE_CXX_COMPILER_LAUNCHER ${launcher})
    set(CMAKE_CUDA_COMPILER_LAUNCHER ${launcher})
  endif()
endif()

if(DCGN_SANITIZE)
  # For the host's code; a GPU's code has compute-sanitizer.
  set(sanitize -fsanitize=${DCGN_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  add_compile_options("$<$<COMPILE_LANGUAGE:CXX>:${sanitize}>")
  add_compile_definitions(DCGN_SANITIZED)
  add_link_options(${sanitize})
endif()

# Warnings for a target of ours. nvcc's generated host code is not pedantic ISO C++, hence no -Wpedantic there.
function(dcgn_set_warnings target)
  set(warnings -Wall -Wextra)
  if(NOT CMAKE_UNITY_BUILD) # there the names of one file are over those of the next; `make tidy` looks at each alone
    list(APPEND warnings -Wshadow)
  endif()
  if(DCGN_SANITIZE AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU") # the checks hide from it what has been initialized
    list(APPEND warnings -Wno-maybe-uninitialized)
  elseif(CMAKE_CXX_COMPILER_ID MATCHES "Clang") # `a & b` of conditions, where a GPU had better not branch
    list(APPEND warnings -Wno-bitwise-instead-of-logical)
  endif()
  if(DCGN_WERROR)
    list(APPEND warnings -Werror)
  endif()
  # Of relocatable code nvcc gives what is in unnamed namespaces a visibility that g++ wonders at.
  list(JOIN warnings "," warnings_for_nvcc)
  string(APPEND warnings_for_nvcc ",-Wno-attributes")
  target_compile_options(${target} PRIVATE "$<$<COMPILE_LANGUAGE:CXX>:-Wpedantic;${warnings}>"
                                           "$<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=${warnings_for_nvcc}>")
endfunction()
