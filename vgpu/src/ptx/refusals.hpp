// What cannot be split over several GPUs, by name.
#pragma once

#include "vgpu/src/ptx/module.hpp"

#include <optional>
#include <string>

namespace dcgn::virtual_gpu::ptx {

// Why a kernel that runs `instruction` is not split; nothing where it may be.
//   grid synchronisation   reads of %envreg, by which the driver hands out the grid's workspace; griddepcontrol;
//   %gridid clusters               barrier.cluster, %cluster_*, mapa, getctarank, .cluster, .shared::cluster,
//   .multicast::cluster,
//                          clusterlaunchcontrol, .cta_group::2. Two forms that have no other spelling are those of a
//                          lone block too, and pass: cp.async.bulk from global memory to .shared::cluster, and
//                          fence.mbarrier_init.release.cluster
//   dynamic parallelism    calls of the device runtime: cudaLaunchDevice, cudaGetParameterBuffer, cnp… and their kin
//   textures, surfaces     an object is known to the GPU on which it was made
//   multimem               addresses of a group of GPUs that the program chose itself
//   cp.reduce.async.bulk   to global memory: atomic within one GPU, and there is no wider scope; red.async likewise
//   %total_smem_size       counts what is added to a block's shared memory
//   others                 an instruction that is not known, of a later version of PTX
// Spin-waits are in spin_wait.hpp.
std::optional<std::string> refusal(const Module& module, const Instruction& instruction);

// The same for what stands in a kernel's head: cluster directives.
std::optional<std::string> refusal(const Directive& directive);

// What is not refused but deserves a word: %smid and %nsmid, which are not unique any more; the heap of malloc and
// free, of which each GPU has its own.
std::optional<std::string> remark(const Instruction& instruction);

}  // namespace dcgn::virtual_gpu::ptx
