# The memory-network simulator needs nothing that the core does not.

dcgn_note_module(memnet DCGN_BUILD_MEMNET "the memory-network simulator")
