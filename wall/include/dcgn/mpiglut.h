/* A GLUT program for a wall of screens, by one line: this header in place of GL/glut.h (Lawlor, cudaMPI and glMPI, 2009:
 * MPIglut). For C and C++.
 *
 * Where the environment names a layout, DCGN_WALL_LAYOUT=wall.toml ./program, glutInit starts the program anew as
 * `dcgn wall run --layout wall.toml -- ./program ...`, once a screen, by the dcgn of PATH or of DCGN_WALL_COMMAND; it does
 * not return then. Otherwise it is GLUT's. Programs that cannot be compiled anew are run by that command as they are.
 *
 * Errors: one line on stderr and exit code 3 where there is no such command; what else is wrong, the command says.
 */
#ifndef DCGN_MPIGLUT_H
#define DCGN_MPIGLUT_H

#include <GL/glut.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static inline void dcgn_wall_glut_init(int* argc, char** argv) {
  const char* const layout = getenv("DCGN_WALL_LAYOUT");
  if (layout && *layout) {
    const char* const named = getenv("DCGN_WALL_COMMAND");
    const char* const command = named ? named : "dcgn";
    const char* const first[] = {command, "wall", "run", "--layout", layout, "--", argv[0]};
    const size_t most = sizeof first / sizeof *first;
    char** const words = (char**)calloc(most + (size_t)*argc, sizeof *words); /* the last is null */
    size_t i = 0;
    for (; words && i < most; ++i) words[i] = (char*)first[i];
    for (; words && i < most + (size_t)*argc - 1; ++i) words[i] = argv[i - most + 1];
    unsetenv("DCGN_WALL_LAYOUT"); /* those that the command starts are on the wall */
    if (words) execvp(command, words);
    fprintf(stderr, "dcgn: wall: %s could not be run: expected it in PATH, or DCGN_WALL_COMMAND\n", command);
    exit(3);
  }
  glutInit(argc, argv);
}

#define glutInit dcgn_wall_glut_init

#endif
