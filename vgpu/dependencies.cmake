# The virtual GPU needs nothing that the core does not. What `dcgn vgpu run` needs: tool/dependencies.cmake.

dcgn_note_module(vgpu DCGN_BUILD_VGPU "virtual GPUs")
