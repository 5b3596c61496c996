# The virtual GPU needs nothing that the core does not. Its driver needs CUDA: CMakeLists.txt.

dcgn_note_module(vgpu DCGN_BUILD_VGPU "virtual GPUs")
