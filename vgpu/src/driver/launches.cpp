// Launches: split over all GPUs where that can be.
#include "vgpu/src/driver/code.hpp"
#include "vgpu/src/driver/real.hpp"

#include <dcgn/error.hpp>

#include <cstdint>
#include <optional>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace {

using namespace dcgn::virtual_gpu::driver;
using dcgn::virtual_gpu::Argument, dcgn::virtual_gpu::Gpu, dcgn::virtual_gpu::Kernel;
using dcgn::virtual_gpu::KernelInfo, dcgn::virtual_gpu::Stream;

struct Request {
  CUfunction function;
  dcgn::Launch launch;
  CUstream stream;
  void** parameters;
  void** extra;
  std::string whole{};  // why it has to be, by the call itself
};

dcgn::Launch shape(unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned shared) {
  dcgn::Launch launch;
  launch.grid = {gx, gy, gz};
  launch.block = {bx, by, bz};
  launch.shared_bytes = shared;
  return launch;
}

// From where the driver reads them; nothing where that is none of the two ways.
std::optional<std::vector<Argument>> arguments_of(const KernelInfo& kernel, const Request& request) {
  const std::byte* packed = nullptr;
  if (!request.parameters && request.extra)
    for (void** word = request.extra; *word != CU_LAUNCH_PARAM_END; word += 2)
      if (*word == CU_LAUNCH_PARAM_BUFFER_POINTER) packed = static_cast<const std::byte*>(word[1]);
  if (!kernel.parameters.empty() && !request.parameters && !packed) return std::nullopt;
  std::vector<Argument> arguments;
  for (std::size_t i = 0; i < kernel.parameters.size(); ++i)
    arguments.push_back(
        {packed ? packed + kernel.parameters[i].offset : request.parameters[i], kernel.parameters[i].bytes});
  return arguments;
}

// Of a kernel whose module was left; null for another's.
void note_left(Program& program, const ProgramKernel* kernel) {
  if (!kernel || kernel->code->may_allocate()) program.note_alone("memory of malloc in kernels");
}

// The driver refuses such a launch, and is to do so.
bool asks_for_too_much(const ProgramKernel& kernel, std::size_t dynamic_bytes, std::size_t static_bytes) {
  constexpr std::size_t unasked = 48 << 10;
  const auto asked = kernel.attributes.find(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES);
  return asked != kernel.attributes.end() ? dynamic_bytes > static_cast<std::size_t>(asked->second)
                                          : dynamic_bytes != 0 && dynamic_bytes + static_bytes > unasked;
}

// Why a launch stays whole; empty where it may be split.
std::string why_whole(const Request& request, const ProgramKernel& of_program, const std::vector<Argument>& arguments,
                      Program& program) {
  const Kernel& its_kernel = *of_program.kernel;
  const KernelInfo& kernel = its_kernel.info();
  program.note_kernel(kernel);
  if (!kernel.reasons.empty()) return kernel.reasons.front();
  if (!kernel.remarks.empty()) return kernel.remarks.front();
  if (!request.whole.empty()) return request.whole;
  const dcgn::Dim3 grid = request.launch.grid;
  const std::uint64_t blocks = std::uint64_t{grid.x} * grid.y * grid.z;
  if (blocks < program.parts().size()) return "fewer blocks than GPUs";
  if (captures(request.stream)) return "recorded into a CUDA graph";
  const Gpu& gpu = *program.gpu();
  const auto& traits = gpu.traits(its_kernel);
  if (asks_for_too_much(of_program, request.launch.shared_bytes, traits.static_shared))
    return "more shared memory than the program has asked for";
  if (program.alone() && traits.memory.follows_pointers)
    return std::string("follows pointers that lie in memory, where there is ") + program.alone();
  if (program.pinned() && traits.memory.follows_atomics)
    return "atomics by pointers that lie in memory, where there is memory of the host";
  // Memory that the driver does not know may be that of malloc in kernels.
  return gpu.why_whole(its_kernel, request.launch, arguments, [&](std::uintptr_t address, bool known) {
    return known ? !program.is_reached(address) : program.alone() != nullptr;
  });
}

// A launch both ways, of which the whole one holds.
template <class Real>
CUresult check(Program& program, ProgramKernel& kernel, const Request& request, const std::vector<Argument>& arguments,
               Real&& real) {
  static_cast<void>(DCGN_REAL(cuCtxSynchronize)());
  CUresult result = CUDA_SUCCESS;
  const CUfunction whole = whole_function(program, kernel);
  const auto differences = program.gpu()->check(program.stream(request.stream), *kernel.kernel, request.launch,
                                                arguments, program.others(), [&] {
                                                  result = real(whole);
                                                  static_cast<void>(DCGN_REAL(cuCtxSynchronize)());
                                                });
  program.report().note_split(kernel.name);
  if (!differences) {
    program.report().note_remark("a launch that was not made both ways: there was no memory for what it may write");
    return result;
  }
  program.report().note_check(kernel.name);
  for (const auto& found : *differences) {
    std::ostringstream text;
    text << found.count << " of " << found.bytes << " bytes at " << static_cast<const void*>(found.begin)
         << " differ, the first at " << static_cast<const void*>(found.begin + found.first) << " (byte " << found.first
         << ")";
    program.report().note_difference(kernel.name, text.str());
  }
  return result;
}

// On buffers that are over all GPUs: split where `split` and nothing stands against it, else the program's own launch.
// Whether it was split; why not, where that is not just what was asked for.
template <class Real>
CUresult launch_spread(Program& program, ProgramKernel& kernel, const Request& request, Real&& real, bool& split,
                       std::string& why) {
  Gpu& gpu = *program.gpu();
  Stream& stream = program.stream(request.stream);
  const Kernel* const taken = taken_kernel(program, kernel);
  const auto arguments = taken ? arguments_of(taken->info(), request) : std::nullopt;
  if (!arguments) {
    split = false;
    gpu.note_all_written(stream);
    return real(request.function);
  }
  if (split && !kernel.code->is_ready()) {
    split = false;
    why = kernel.code->why_left();  // where it cannot be loaded
    if (why.empty()) program.measured().want_code();
  }
  if (split) {
    why = why_whole(request, kernel, *arguments, program);
    split = why.empty();
  }
  if (split) {
    try {
      gpu.launch_beside(stream, *taken, request.launch, *arguments);
      return CUDA_SUCCESS;
    } catch (const dcgn::Error& error) {
      if (error.code() != dcgn::Code::unsupported) throw;
      why = error.what();
      split = false;
    }
  }
  gpu.prepare_whole(stream, *taken, request.launch, *arguments);
  return real(request.function);
}

// As its times speak for. While all buffers are on the first GPU, it is what the program has made itself.
template <class Real>
CUresult launch_measured(Call& call, ProgramKernel& kernel, const Request& request, Real&& real) {
  using Form = dcgn::virtual_gpu::SplitPolicy::Form;
  Program& program = call.program();
  Measured& measured = program.measured();
  if (!measured.policy().is_watched()) measured.busy().note_launch();
  if (request.stream == CU_STREAM_PER_THREAD) measured.note_thread_stream();
  const dcgn::Dim3 grid = request.launch.grid, block = request.launch.block;
  const std::uint64_t blocks = std::uint64_t{grid.x} * grid.y * grid.z;
  const bool may_be_split = request.whole.empty() && blocks >= program.parts().size();
  Measured::Entry& entry = measured.entry(kernel, blocks, std::uint64_t{block.x} * block.y * block.z, may_be_split);
  if (entry.why.empty() && !may_be_split) entry.why = request.whole.empty() ? "fewer blocks than GPUs" : request.whole;
  if (measured.wants_to_move(program)) {
    call.enter();
    measured.move(program);
  }
  if (measured.timer().waits() && dcgn::virtual_gpu::SplitPolicy::may_be_timed(*entry.kind)) {
    call.enter();
    measured.collect();
  }
  const auto [asked_to_split, asked_to_time] = measured.next(program, kernel, entry, blocks);
  const bool is_local = measured.local();
  if (!is_local || asked_to_time) {
    call.enter();
    measured.collect();
  }
  const bool timed = asked_to_time && !captures(request.stream) && measured.timer().begin(request.stream);
  bool split = asked_to_split && !is_local;
  std::string why;
  CUresult result = CUDA_SUCCESS;
  try {
    result = is_local ? real(request.function) : launch_spread(program, kernel, request, real, split, why);
  } catch (const dcgn::Error&) {
    if (timed) measured.timer().cancel();
    throw;
  }
  if (result != CUDA_SUCCESS) {
    if (timed) measured.timer().cancel();
    return result;
  }
  if (!why.empty() && !captures(request.stream)) measured.note_whole(entry, why);
  const Form form = is_local ? Form::local : split ? Form::split : Form::spread;
  if (timed) measured.timer().end(request.stream, *entry.kind, form, static_cast<double>(blocks));
  ++(split ? entry.split : entry.whole);
  measured.note_launched(program);
  return result;
}

// `real(function)` is the call that the program has made, of a function that may be another.
template <class Real>
CUresult launch(const Request& request, Real&& real) {
  Program::get().measured().hold_back(Program::get());
  Call call(Call::Lightly{});
  Program& program = call.program();
  ProgramKernel* const kernel = CodeTable::get().kernel(request.function);
  if (program.measured().on() && kernel && program.on_first_device())
    return launch_measured(call, *kernel, request, std::forward<Real>(real));
  call.enter();
  const auto left = [&](const std::string& name, const std::string& why) {
    // What it writes is not known, nor what it allocates.
    const bool local = program.measured().local();
    Gpu* const gpu = program.on_first_device() ? program.gpu_if_made() : nullptr;
    if (gpu && !local) gpu->note_all_written(program.stream(request.stream));
    if (gpu || local) note_left(program, kernel);
    const CUresult result = real(request.function);
    if (result == CUDA_SUCCESS) program.report().note_whole(name, why);
    return result;
  };
  if (program.parts().size() == 1) return left(kernel ? kernel->name : "another's", "there is one GPU alone");
  if (!program.on_first_device()) {
    if (program.on_other_device()) program.measured().stop();
    if (program.gpu_if_made()) program.note_other_device();
    return left(kernel ? kernel->name : "another's", "the program runs it on a GPU that it has chosen itself");
  }
  if (!kernel) return left("another's", "its code came by other ways than those that are known");
  if (!taken_kernel(program, *kernel)) return left(kernel->name, kernel->code->why_left());

  Gpu& gpu = *program.gpu();
  Stream& stream = program.stream(request.stream);
  const auto arguments = arguments_of(kernel->kernel->info(), request);
  if (!arguments) return real(request.function);  // which the driver refuses
  std::string why = why_whole(request, *kernel, *arguments, program);
  if (why.empty()) {
    try {
      if (program.checks_next() && !program.any_captures()) return check(program, *kernel, request, *arguments, real);
      gpu.launch_beside(stream, *kernel->kernel, request.launch, *arguments);
      program.report().note_split(kernel->name);
      return CUDA_SUCCESS;
    } catch (const dcgn::Error& error) {
      if (error.code() != dcgn::Code::unsupported) throw;
      why = error.what();
    }
  }
  gpu.prepare_whole(stream, *kernel->kernel, request.launch, *arguments);
  const CUresult result = real(whole_function(program, *kernel));
  if (result == CUDA_SUCCESS) program.report().note_whole(kernel->name, why);
  return result;
}

// Attributes that let a launch be more than its blocks; others are about speed.
std::string why_whole(const CUlaunchConfig& config) {
  for (unsigned i = 0; i < config.numAttrs; ++i) {
    const CUlaunchAttribute& attribute = config.attrs[i];
    switch (attribute.id) {
      case CU_LAUNCH_ATTRIBUTE_COOPERATIVE:
        if (attribute.value.cooperative) return "a cooperative launch";
        break;
      case CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION: {
        const auto& cluster = attribute.value.clusterDim;
        if (cluster.x * cluster.y * cluster.z > 1) return "a launch in clusters";
        break;
      }
      case CU_LAUNCH_ATTRIBUTE_PREFERRED_CLUSTER_DIMENSION: return "a launch in clusters";
      case CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT:
      case CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT: return "a launch with an event of its own";
      case CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE: return "a launch that kernels may change";
      case CU_LAUNCH_ATTRIBUTE_IGNORE:
      case CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW:
      case CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY:
      case CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
      case CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION:  // a kernel that makes use of it cannot be split
      case CU_LAUNCH_ATTRIBUTE_PRIORITY:
      case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP:
      case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN:
      case CU_LAUNCH_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT: break;
      default: return "launch attribute " + std::to_string(attribute.id) + ", which is not known";  // of newer drivers
    }
  }
  return {};
}

CUstream per_thread(CUstream stream) { return stream ? stream : CU_STREAM_PER_THREAD; }

CUresult launch_kernel(CUfunction function, const dcgn::Launch& its_launch, CUstream stream, void** parameters,
                       void** extra) {
  const dcgn::Dim3 grid = its_launch.grid, block = its_launch.block;
  return guarded("cuLaunchKernel", [&] {
    return launch({function, its_launch, stream, parameters, extra}, [&](CUfunction chosen) {
      return DCGN_REAL(cuLaunchKernel)(chosen, grid.x, grid.y, grid.z, block.x, block.y, block.z,
                                       static_cast<unsigned>(its_launch.shared_bytes), stream, parameters, extra);
    });
  });
}

CUresult launch_cooperative(CUfunction function, const dcgn::Launch& its_launch, CUstream stream, void** parameters) {
  const dcgn::Dim3 grid = its_launch.grid, block = its_launch.block;
  return guarded("cuLaunchCooperativeKernel", [&] {
    return launch({function, its_launch, stream, parameters, nullptr, "a cooperative launch"}, [&](CUfunction chosen) {
      return DCGN_REAL(cuLaunchCooperativeKernel)(chosen, grid.x, grid.y, grid.z, block.x, block.y, block.z,
                                                  static_cast<unsigned>(its_launch.shared_bytes), stream, parameters);
    });
  });
}

CUresult launch_config(const CUlaunchConfig& config, CUfunction function, void** parameters, void** extra) {
  return guarded("cuLaunchKernelEx", [&] {
    const dcgn::Launch its_launch = shape(config.gridDimX, config.gridDimY, config.gridDimZ, config.blockDimX,
                                          config.blockDimY, config.blockDimZ, config.sharedMemBytes);
    return launch({function, its_launch, config.hStream, parameters, extra, why_whole(config)},
                  [&](CUfunction chosen) { return DCGN_REAL(cuLaunchKernelEx)(&config, chosen, parameters, extra); });
  });
}

// Nodes of graphs run whole, as what is recorded into a graph does.
template <class Parameters>
void use_taken(Parameters& parameters) {
  void* const handle = parameters.func ? static_cast<void*>(parameters.func) : static_cast<void*>(parameters.kern);
  static_cast<void>(guarded("graph node", [&] {
    Call call;
    ProgramKernel* const kernel = CodeTable::get().kernel(handle);
    if (!kernel || !call.program().on_first_device()) return CUDA_SUCCESS;
    if (call.program().measured().on())  // it stays the program's own
      call.program().measured().use_code(call.program(), kernel->code);
    else if (const Kernel* const taken = taken_kernel(call.program(), *kernel)) {
      call.program().note_kernel(taken->info());
      parameters.func = whole_function(call.program(), *kernel);
      parameters.kern = nullptr;
      parameters.ctx = nullptr;
    } else {
      note_left(call.program(), kernel);
    }
    call.program().report().note_whole(kernel->name, "a node of a CUDA graph");
    return CUDA_SUCCESS;
  }));
}

template <class Real>
CUresult with_taken(const CUDA_KERNEL_NODE_PARAMS_v1* parameters, const Real& real) {
  if (!parameters) return CUDA_ERROR_INVALID_VALUE;
  CUDA_KERNEL_NODE_PARAMS its{};
  its.func = parameters->func;
  use_taken(its);
  CUDA_KERNEL_NODE_PARAMS_v1 meant = *parameters;
  meant.func = its.func;
  return real(&meant);
}

void note_memory_node(const CUgraphNodeParams* parameters) {
  if (!parameters || parameters->type != CU_GRAPH_NODE_TYPE_MEM_ALLOC) return;
  Call call;
  call.program().note_alone("memory that a graph allocates");
}

CUresult launch_graph(CUgraphExec graph, CUstream stream, decltype(cuGraphLaunch)* real) {
  return guarded("cuGraphLaunch", [&] {
    Call call;
    const CUresult result = real(graph, stream);
    if (stream == CU_STREAM_PER_THREAD) call.program().measured().note_thread_stream();
    Gpu* const gpu = call.program().measured().local() ? nullptr : call.program().gpu_if_made();
    if (result != CUDA_SUCCESS || !gpu || !call.program().on_first_device()) return result;
    gpu->note_all_written(call.program().stream(stream));  // what it writes is not known
    if (!captures(stream)) call.program().repeat_all_constants(stream);
    return result;
  });
}

}  // namespace

// NOLINTBEGIN(readability-identifier-naming): the driver's names
extern "C" {

CUresult cuLaunchKernel(CUfunction function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                        unsigned bz, unsigned shared, CUstream stream, void** parameters, void** extra) {
  return launch_kernel(function, shape(gx, gy, gz, bx, by, bz, shared), stream, parameters, extra);
}
CUresult cuLaunchKernel_ptsz(CUfunction function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                             unsigned bz, unsigned shared, CUstream stream, void** parameters, void** extra) {
  return launch_kernel(function, shape(gx, gy, gz, bx, by, bz, shared), per_thread(stream), parameters, extra);
}

CUresult cuLaunchCooperativeKernel(CUfunction function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                                   unsigned bz, unsigned shared, CUstream stream, void** parameters) {
  return launch_cooperative(function, shape(gx, gy, gz, bx, by, bz, shared), stream, parameters);
}
CUresult cuLaunchCooperativeKernel_ptsz(CUfunction function, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
                                        unsigned by, unsigned bz, unsigned shared, CUstream stream, void** parameters) {
  return launch_cooperative(function, shape(gx, gy, gz, bx, by, bz, shared), per_thread(stream), parameters);
}

CUresult cuLaunchKernelEx(const CUlaunchConfig* config, CUfunction function, void** parameters, void** extra) {
  if (!config) return CUDA_ERROR_INVALID_VALUE;
  return launch_config(*config, function, parameters, extra);
}
CUresult cuLaunchKernelEx_ptsz(const CUlaunchConfig* config, CUfunction function, void** parameters, void** extra) {
  if (!config) return CUDA_ERROR_INVALID_VALUE;
  CUlaunchConfig meant = *config;
  meant.hStream = per_thread(config->hStream);
  return launch_config(meant, function, parameters, extra);
}

CUresult cuGraphAddKernelNode_v2(CUgraphNode* node, CUgraph graph, const CUgraphNode* before, size_t count,
                                 const CUDA_KERNEL_NODE_PARAMS* parameters) {
  if (!parameters) return CUDA_ERROR_INVALID_VALUE;
  CUDA_KERNEL_NODE_PARAMS meant = *parameters;
  use_taken(meant);
  return DCGN_REAL(cuGraphAddKernelNode_v2)(node, graph, before, count, &meant);
}

CUresult cuGraphKernelNodeSetParams_v2(CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS* parameters) {
  if (!parameters) return CUDA_ERROR_INVALID_VALUE;
  CUDA_KERNEL_NODE_PARAMS meant = *parameters;
  use_taken(meant);
  return DCGN_REAL(cuGraphKernelNodeSetParams_v2)(node, &meant);
}

CUresult cuGraphExecKernelNodeSetParams_v2(CUgraphExec graph, CUgraphNode node,
                                           const CUDA_KERNEL_NODE_PARAMS* parameters) {
  if (!parameters) return CUDA_ERROR_INVALID_VALUE;
  CUDA_KERNEL_NODE_PARAMS meant = *parameters;
  use_taken(meant);
  return DCGN_REAL(cuGraphExecKernelNodeSetParams_v2)(graph, node, &meant);
}

#undef cuGraphAddKernelNode  // the forms before CUDA 12
#undef cuGraphKernelNodeSetParams
#undef cuGraphExecKernelNodeSetParams
CUresult cuGraphAddKernelNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* before, size_t count,
                              const CUDA_KERNEL_NODE_PARAMS_v1* parameters) {
  using Add = CUresult(CUgraphNode*, CUgraph, const CUgraphNode*, size_t, const CUDA_KERNEL_NODE_PARAMS_v1*);
  return with_taken(parameters, [&](const CUDA_KERNEL_NODE_PARAMS_v1* meant) {
    return DCGN_REAL_AS(Add, "cuGraphAddKernelNode")(node, graph, before, count, meant);
  });
}
CUresult cuGraphKernelNodeSetParams(CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS_v1* parameters) {
  using Set = CUresult(CUgraphNode, const CUDA_KERNEL_NODE_PARAMS_v1*);
  return with_taken(parameters, [&](const CUDA_KERNEL_NODE_PARAMS_v1* meant) {
    return DCGN_REAL_AS(Set, "cuGraphKernelNodeSetParams")(node, meant);
  });
}
CUresult cuGraphExecKernelNodeSetParams(CUgraphExec graph, CUgraphNode node,
                                        const CUDA_KERNEL_NODE_PARAMS_v1* parameters) {
  using Set = CUresult(CUgraphExec, CUgraphNode, const CUDA_KERNEL_NODE_PARAMS_v1*);
  return with_taken(parameters, [&](const CUDA_KERNEL_NODE_PARAMS_v1* meant) {
    return DCGN_REAL_AS(Set, "cuGraphExecKernelNodeSetParams")(graph, node, meant);
  });
}

CUresult cuGraphAddNode_v2(CUgraphNode* node, CUgraph graph, const CUgraphNode* before, const CUgraphEdgeData* edges,
                           size_t count, CUgraphNodeParams* parameters) {
  note_memory_node(parameters);
  if (!parameters || parameters->type != CU_GRAPH_NODE_TYPE_KERNEL)
    return DCGN_REAL(cuGraphAddNode_v2)(node, graph, before, edges, count, parameters);
  CUgraphNodeParams meant = *parameters;
  use_taken(meant.kernel);
  return DCGN_REAL(cuGraphAddNode_v2)(node, graph, before, edges, count, &meant);
}

#undef cuGraphAddNode  // the form without edges
CUresult cuGraphAddNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* before, size_t count,
                        CUgraphNodeParams* parameters) {
  using Add = CUresult(CUgraphNode*, CUgraph, const CUgraphNode*, size_t, CUgraphNodeParams*);
  const auto real = DCGN_REAL_AS(Add, "cuGraphAddNode");
  note_memory_node(parameters);
  if (!parameters || parameters->type != CU_GRAPH_NODE_TYPE_KERNEL) return real(node, graph, before, count, parameters);
  CUgraphNodeParams meant = *parameters;
  use_taken(meant.kernel);
  return real(node, graph, before, count, &meant);
}

CUresult cuGraphNodeSetParams(CUgraphNode node, CUgraphNodeParams* parameters) {
  const auto real = DCGN_REAL(cuGraphNodeSetParams);
  if (!parameters || parameters->type != CU_GRAPH_NODE_TYPE_KERNEL) return real(node, parameters);
  CUgraphNodeParams meant = *parameters;
  use_taken(meant.kernel);
  return real(node, &meant);
}

CUresult cuGraphExecNodeSetParams(CUgraphExec graph, CUgraphNode node, CUgraphNodeParams* parameters) {
  const auto real = DCGN_REAL(cuGraphExecNodeSetParams);
  if (!parameters || parameters->type != CU_GRAPH_NODE_TYPE_KERNEL) return real(graph, node, parameters);
  CUgraphNodeParams meant = *parameters;
  use_taken(meant.kernel);
  return real(graph, node, &meant);
}

CUresult cuGraphLaunch(CUgraphExec graph, CUstream stream) {
  return launch_graph(graph, stream, DCGN_REAL(cuGraphLaunch));
}
CUresult cuGraphLaunch_ptsz(CUgraphExec graph, CUstream stream) {
  return launch_graph(graph, per_thread(stream), DCGN_REAL(cuGraphLaunch));
}

}  // extern "C"
// NOLINTEND(readability-identifier-naming)
