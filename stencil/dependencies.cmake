# What stencils can do without: HDF5 and FFTW.

dcgn_note_module(stencil DCGN_BUILD_STENCIL "stencils")
if(DCGN_BUILD_STENCIL)
  dcgn_find_c_library(HDF5 hdf5.h hdf5 stencil "checkpoints of stencils")
  dcgn_find_c_library(FFTW fftw3.h fftw3 stencil "structure factors of stencils' fields")
endif()
