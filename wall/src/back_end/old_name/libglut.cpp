// libglut.so.3, as freeglut's library was called: it has nothing of its own but that it needs freeglut's.
