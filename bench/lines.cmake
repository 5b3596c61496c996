# Counts the lines of code of the applications' parallel parts, each form in the same way: from `// lines: begin` to
# `// lines: end`, what is neither empty nor a comment alone; with a word after `begin`,
# for the form of that name alone. In both are: memory, how the work is divided, kernels and
# their launches, the loop over steps, what is exchanged. In neither: what a body, a pixel or a tile is computed by,
# options, pictures, checks, and what only one form can do (CPU ranks that compute too, energies, other exchanges).
#   cmake -DSOURCE=<project> -DOUTPUT=<header> -P lines.cmake

cmake_policy(VERSION 3.25)

function(count_lines app whose form)
  set(count 0)
  foreach(name IN LISTS ARGN)
    if(NOT EXISTS ${SOURCE}/${name})
      continue()
    endif()
    file(READ ${SOURCE}/${name} text)
    string(REGEX REPLACE "[][;\\]" "x" text "${text}") # CMake's own signs
    string(REPLACE "\n" ";" text "${text}")
    set(counted OFF)
    foreach(line IN LISTS text)
      if(line MATCHES "^ *// lines: begin *(.*)$")
        if("${CMAKE_MATCH_1}" MATCHES "^(${form})?$")
          set(counted ON)
        endif()
      elseif(line MATCHES "^ *// lines: end")
        set(counted OFF)
      elseif(counted AND NOT line MATCHES "^ *(//.*)?$")
        math(EXPR count "${count} + 1")
      endif()
    endforeach()
  endforeach()
  string(APPEND forms "    {\"${app}\", \"${whose}\", ${count}},\n")
  set(forms "${forms}" PARENT_SCOPE)
endfunction()

set(forms "")
count_lines(nbody dcgn dcgn apps/nbody/rank_kernel.hpp apps/nbody/nbody.cpp)
count_lines(nbody mpi mpi bench/peers/mpi_nbody.cpp bench/peers/nbody_kernel.hpp)
count_lines(nbody nccl nccl bench/peers/nccl_nbody.cpp bench/peers/nbody_kernel.hpp)
count_lines(cannon dcgn dcgn apps/cannon/rank_kernel.hpp apps/cannon/cannon.cpp)
count_lines(cannon mpi mpi bench/peers/mpi_cannon.cpp bench/peers/cannon_kernel.hpp)
count_lines(cannon nccl nccl bench/peers/nccl_cannon.cpp bench/peers/cannon_kernel.hpp)
count_lines(mandelbrot dcgn dcgn apps/mandelbrot/mandelbrot.cpp apps/mandelbrot/worker_kernel.hpp)
count_lines(mandelbrot mpi mpi bench/peers/mpi_mandelbrot.cpp bench/peers/mandelbrot_kernel.hpp)

set(header "// Made by bench/lines.cmake.
#pragma once

namespace dcgn::bench {
struct CountedLines {
  const char *app, *whose;
  int lines;
};
inline constexpr CountedLines counted_lines[] = {
${forms}};
}  // namespace dcgn::bench
")
set(before "")
if(EXISTS ${OUTPUT})
  file(READ ${OUTPUT} before)
endif()
if(NOT before STREQUAL header)
  file(WRITE ${OUTPUT} "${header}")
endif()
