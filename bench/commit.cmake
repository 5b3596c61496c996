# Writes OUTPUT, a header that names the commit of the tree in SOURCE, if it is not the same already. The environment's
# GPU_COMMIT names it where the tree was copied from elsewhere, without its repository or with an older one (scripts/gpu).
if(DEFINED ENV{GPU_COMMIT})
  set(commit $ENV{GPU_COMMIT})
else()
  execute_process(COMMAND git -C ${SOURCE} describe --always --dirty --tags OUTPUT_VARIABLE commit ERROR_QUIET
                  OUTPUT_STRIP_TRAILING_WHITESPACE RESULT_VARIABLE status)
  if(NOT status EQUAL 0 OR NOT commit)
    set(commit unknown)
  endif()
endif()
file(CONFIGURE OUTPUT ${OUTPUT} CONTENT [[
// Written by the build.
#pragma once

inline constexpr const char* bench_commit = "@commit@";
inline constexpr const char* bench_compiler = "@COMPILER@";
]] @ONLY)
