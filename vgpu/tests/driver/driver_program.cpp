// A program of the driver's API that knows of one GPU: each step checks its results and prints what they sum to, so
// that runs with and without `dcgn vgpu run` can be held against each other. Arguments: the path of kernels.ptx and
// kernels.fatbin without their ends, then steps; all without.
#include "driver_program.hpp"

#include <fstream>
#include <iterator>
#include <map>

namespace {

std::uint64_t vector_add() {
  const int n = large - 77;
  const Buffer<float> a(large, [](std::size_t i) { return 0.5f * static_cast<float>(value_at(i)); });
  const Buffer<float> b(large, [](std::size_t i) { return static_cast<float>(i % 100); });
  const Buffer<float> c(large);
  CHECK(cuMemsetD8(c.address, 0, large * sizeof(float)));
  launch(code.function("vector_add"), (n + 255) / 256, 1, 256, nullptr, a.address, b.address, c.address, n);
  const std::vector<float> all = c.read();
  for (int i = 0; i < static_cast<int>(large); ++i) {
    const auto at = static_cast<std::size_t>(i);
    expect(all[at] == (i < n ? 0.5f * static_cast<float>(value_at(at)) + static_cast<float>(i % 100) : 0),
           "vector_add");
  }
  return sum(all);
}

// Several times, so that what all blocks read gets copies; then with other data, which they must not hide.
std::uint64_t histogram() {
  constexpr unsigned n = 4 << 20, blocks = 64;
  const Buffer<unsigned char> data(n, [](std::size_t i) { return static_cast<unsigned char>(value_at(i)); });
  const Buffer<unsigned> bins(256);
  const CUdeviceptr seen = code.variable("blocks_seen", 8);
  const unsigned long long zero = 0;
  CHECK(cuMemcpyHtoD(seen, &zero, sizeof zero));
  std::vector<unsigned> expected(256), all;
  std::uint64_t total = 0;
  unsigned long long launches = 0;
  for (unsigned char more = 0; more < 2; ++more) {
    for (int round = 0; round < 4; ++round, ++launches) {
      CHECK(cuMemsetD32(bins.address, 0, 256));
      launch(code.function("histogram"), blocks, 1, 256, nullptr, data.address, n, bins.address);
    }
    all = bins.read();
    expected.assign(256, 0);
    for (std::size_t i = 0; i < n; ++i)
      ++expected[more ? (i < n / 2 ? 9 : static_cast<unsigned char>(value_at(i)))
                      : static_cast<unsigned char>(value_at(i))];
    expect(all == expected, "histogram");
    total += sum(all);
    CHECK(cuMemsetD8(data.address, 9, n / 2));
  }
  unsigned long long blocks_seen = 0;
  CHECK(cuMemcpyDtoH(&blocks_seen, seen, sizeof blocks_seen));
  expect(blocks_seen == launches * blocks, "blocks_seen");
  return total;
}

// First contents, then others: of a constant and a variable.
std::uint64_t variables() {
  const unsigned factors[2][4] = {{3, 5, 7, 11}, {2, 4, 6, 8}}, offsets[2] = {100, 42};
  const CUdeviceptr factor = code.variable("factor", 16), offset = code.variable("offset", 4);
  const Buffer<unsigned> data(large, value_at);
  std::vector<unsigned> expected = data.read();
  for (int round = 0; round < 2; ++round) {
    CHECK(cuMemcpyHtoD(factor, factors[round], 16));
    CHECK(cuMemcpyHtoDAsync(offset, &offsets[round], 4, nullptr));
    CHECK(cuStreamSynchronize(nullptr));
    scale(data, nullptr);
    scale_here(expected, factors[round], offsets[round]);
    expect(data.read() == expected, "variables");
  }
  CHECK(cuMemcpyHtoD(factor, factors[0], 16));
  CHECK(cuMemcpyHtoD(offset, &offsets[0], 4));
  return sum(expected);
}

// Two streams write a piece each of one buffer, and read it: what one of them has copied of the buffer does not hold
// what the other writes later. In between, a stream and memory go while their work is still to be done.
std::uint64_t pieces() {
  constexpr unsigned n = 4 << 20, half = n / 2, blocks = 64;
  void* pinned = nullptr;
  CHECK(cuMemHostAlloc(&pinned, n, 0));
  auto* const host = static_cast<unsigned char*>(pinned);
  const Buffer<unsigned char> data(n, [](std::size_t) { return static_cast<unsigned char>(7); });
  const Buffer<unsigned> bins(2 * 256);
  std::vector<unsigned> expected(2 * 256);
  for (unsigned i = 0; i < n; ++i)
    ++expected[(i < half ? 0 : 256) + (host[i] = static_cast<unsigned char>(value_at(i)))];
  CUstream streams[2];
  for (CUstream& stream : streams) CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  CHECK(cuMemsetD32(bins.address, 0, 2 * 256));
  CHECK(cuCtxSynchronize());
  for (unsigned s = 0; s < 2; ++s) CHECK(cuMemcpyHtoDAsync(data.address + s * half, host + s * half, half, streams[s]));
  for (unsigned s = 0; s < 2; ++s)
    for (int again = 0; again < 2; ++again) {
      CHECK(cuMemsetD32Async(bins.address + s * 1024, 0, 256, streams[s]));
      launch(code.function("histogram"), blocks, 1, 256, streams[s], data.address + s * half, half,
             bins.address + s * 1024);
    }
  CUdeviceptr more = 0;
  CHECK(cuMemAllocAsync(&more, n, streams[1]));
  CHECK(cuMemsetD8Async(more, 1, n, streams[1]));
  CHECK(cuMemFreeAsync(more, streams[1]));
  for (const CUstream stream : streams) CHECK(cuStreamDestroy(stream));
  CHECK(cuCtxSynchronize());
  expect(bins.read() == expected, "pieces of two streams");
  CHECK(cuMemFreeHost(pinned));
  return sum(expected);
}

// Work of two streams that wait for each other by events, and copies in their order.
std::uint64_t streams() {
  const unsigned factor[4] = {3, 5, 7, 11};
  CUstream first = nullptr, second = nullptr;
  CUevent event = nullptr;
  CHECK(cuStreamCreate(&first, CU_STREAM_NON_BLOCKING));
  CHECK(cuStreamCreate(&second, CU_STREAM_NON_BLOCKING));
  CHECK(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
  void* pinned = nullptr;
  CHECK(cuMemHostAlloc(&pinned, large * sizeof(unsigned), 0));
  auto* const host = static_cast<unsigned*>(pinned);
  for (unsigned i = 0; i < large; ++i) host[i] = value_at(i);
  std::vector<unsigned> expected(host, host + large);
  {
    const Buffer<unsigned> data(large), copy(large);
    CHECK(cuMemcpyHtoDAsync(data.address, host, large * sizeof(unsigned), first));
    for (int round = 0; round < 3; ++round) {
      scale(data, first);
      CHECK(cuEventRecord(event, first));
      CHECK(cuStreamWaitEvent(second, event, 0));
      scale(data, second);
      CHECK(cuEventRecord(event, second));
      CHECK(cuStreamWaitEvent(first, event, 0));
      for (int i = 0; i < 2; ++i) scale_here(expected, factor, 100);
    }
    // A copy from one GPU's pages alone.
    CHECK(cuMemcpyDtoHAsync(host, data.address + (large - 1) * sizeof(unsigned), sizeof(unsigned), first));
    CHECK(cuStreamSynchronize(first));
    expect(host[0] == expected.back(), "a copy behind a launch");
    CHECK(cuMemcpyDtoDAsync(copy.address, data.address, large * sizeof(unsigned), first));
    CHECK(cuMemcpyDtoHAsync(host, copy.address, large * sizeof(unsigned), first));
    CHECK(cuStreamSynchronize(first));
    expect(std::vector<unsigned>(host, host + large) == expected, "streams");
  }
  CHECK(cuMemFreeHost(pinned));
  CHECK(cuEventDestroy(event));
  CHECK(cuStreamDestroy(first));
  CHECK(cuStreamDestroy(second));
  return sum(expected);
}

// The legacy default stream waits for another, and that for it.
std::uint64_t default_stream() {
  const unsigned factor[4] = {3, 5, 7, 11};
  CUstream stream = nullptr;
  CHECK(cuStreamCreate(&stream, CU_STREAM_DEFAULT));
  const Buffer<unsigned> data(large, value_at);
  std::vector<unsigned> expected = data.read();
  for (int round = 0; round < 4; ++round) {
    scale(data, round % 2 == 0 ? nullptr : stream);
    scale_here(expected, factor, 100);
  }
  expect(data.read() == expected, "default stream");
  CHECK(cuStreamDestroy(stream));
  return sum(expected);
}

std::uint64_t packed_parameters() {
  const unsigned factor[4] = {3, 5, 7, 11};
  const Buffer<unsigned> data(large, value_at);
  std::vector<unsigned> expected = data.read();
  struct {
    CUdeviceptr data;
    unsigned width;
  } parameters{data.address, width};
  std::size_t bytes = 12;
  void* extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &parameters, CU_LAUNCH_PARAM_BUFFER_SIZE, &bytes,
                   CU_LAUNCH_PARAM_END};
  CHECK(cuLaunchKernel(code.function("scale"), width / 256, height, 1, 256, 1, 1, 0, nullptr, nullptr, extra));
  scale_here(expected, factor, 100);
  expect(data.read() == expected, "packed parameters");
  return sum(expected);
}

std::uint64_t allocated_in_order() {
  CUstream stream = nullptr;
  CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  std::vector<unsigned> all(large);
  for (int round = 0; round < 3; ++round) {
    CUdeviceptr data = 0;
    CHECK(cuMemAllocAsync(&data, large * sizeof(unsigned), stream));
    CHECK(cuMemsetD32Async(data, static_cast<unsigned>(round), large, stream));
    launch(code.function("scale"), width / 256, height, 256, stream, data, width);
    CHECK(cuMemcpyDtoHAsync(all.data(), data, large * sizeof(unsigned), stream));
    CHECK(cuMemFreeAsync(data, stream));
    CHECK(cuStreamSynchronize(stream));
    expect(
        all[0] == 3u * static_cast<unsigned>(round) + 100 && all[large - 1] == 11u * static_cast<unsigned>(round) + 100,
        "allocated in order");
  }
  CHECK(cuStreamDestroy(stream));
  return sum(all);
}

std::uint64_t rows() {
  constexpr std::size_t columns = 1000, lines = 4000;
  CUdeviceptr data = 0;
  std::size_t pitch = 0;
  CHECK(cuMemAllocPitch(&data, &pitch, columns * sizeof(unsigned), lines, 4));
  std::vector<unsigned> from(columns * lines), to(columns * lines);
  for (std::size_t i = 0; i < from.size(); ++i) from[i] = value_at(i);
  CUDA_MEMCPY2D copy{};
  copy.srcMemoryType = CU_MEMORYTYPE_HOST;
  copy.srcHost = from.data();
  copy.srcPitch = copy.WidthInBytes = columns * sizeof(unsigned);
  copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  copy.dstDevice = data;
  copy.dstPitch = pitch;
  copy.Height = lines;
  CHECK(cuMemcpy2D(&copy));
  CUDA_MEMCPY2D back{};
  back.srcMemoryType = CU_MEMORYTYPE_DEVICE;
  back.srcDevice = data;
  back.srcPitch = pitch;
  back.dstMemoryType = CU_MEMORYTYPE_HOST;
  back.dstHost = to.data();
  back.dstPitch = back.WidthInBytes = columns * sizeof(unsigned);
  back.Height = lines;
  CHECK(cuMemcpy2D(&back));
  expect(from == to, "rows");
  CHECK(cuMemFree(data));
  return sum(to);
}

// A grid smaller than there are GPUs, an empty one, and kernels that read and write the host's memory.
std::uint64_t small() {
  const Buffer<float> a(256, [](std::size_t i) { return static_cast<float>(i); }), c(256);
  void* pinned = nullptr;
  CHECK(cuMemHostAlloc(&pinned, 4096 * sizeof(float), 0));
  auto* const host = static_cast<float*>(pinned);
  for (int i = 0; i < 4096; ++i) host[i] = static_cast<float>(i);
  const auto on_host = reinterpret_cast<CUdeviceptr>(pinned);
  launch(code.function("vector_add"), 1, 1, 256, nullptr, a.address, a.address, c.address, 256);
  launch(code.function("vector_add"), 16, 1, 256, nullptr, on_host, on_host, on_host, 4096);
  CHECK(cuCtxSynchronize());
  void* none[] = {&pinned, &pinned, &pinned, &pinned};
  expect(cuLaunchKernel(code.function("vector_add"), 0, 1, 1, 256, 1, 1, 0, nullptr, none, nullptr) ==
             CUDA_ERROR_INVALID_VALUE,
         "an empty grid");
  const std::vector<float> all = c.read();
  for (int i = 0; i < 256; ++i) expect(all[static_cast<std::size_t>(i)] == static_cast<float>(2 * i), "a small grid");
  for (int i = 0; i < 4096; ++i) expect(host[i] == static_cast<float>(2 * i), "the host's memory");
  CHECK(cuMemFreeHost(pinned));
  return sum(all);
}

std::uint64_t addresses() {
  const Buffer<unsigned> data(large);
  CUdeviceptr begin = 0;
  std::size_t bytes = 0;
  CHECK(cuMemGetAddressRange(&begin, &bytes, data.address + 6 * (large / 2)));
  expect(begin == data.address && bytes == large * sizeof(unsigned), "an address's range");
  int device = -1;
  CHECK(cuPointerGetAttribute(&device, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, data.address + 6 * (large / 2)));
  expect(device == 0, "an address's device");
  return bytes;
}

// Set before any memory is taken, and later.
std::uint64_t limits() {
  const auto set = [](CUlimit limit, std::size_t value) {
    std::size_t now = 0;
    CHECK(cuCtxSetLimit(limit, value));
    CHECK(cuCtxGetLimit(&now, limit));
    expect(now >= value, "a limit");
  };
  set(CU_LIMIT_STACK_SIZE, 4096);
  const Buffer<float> data(large, [](std::size_t i) { return static_cast<float>(i % 8); });
  launch(code.function("vector_add"), 64, 1, 256, nullptr, data.address, data.address, data.address, 64 * 256);
  const std::vector<float> all = data.read();
  set(CU_LIMIT_STACK_SIZE, 2048);
  return sum(all);
}

// So many launches that it is found out which way they are faster. Constants change meanwhile, other streams and memory
// come and go; some launches are cooperative. It takes a while, so by name alone.
std::uint64_t many() {
  unsigned factor[4] = {3, 5, 7, 11};
  const CUdeviceptr constant = code.variable("factor", 16);
  const Buffer<unsigned> data(large, value_at), from(large, value_at), through(large), to(large);
  std::vector<unsigned> all = data.read(), expected(all.begin(), all.begin() + large / 8);
  CUstream stream = nullptr;
  CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  const unsigned offset = 100;
  CHECK(cuMemcpyHtoD(code.variable("offset", 4), &offset, 4));
  const Buffer<unsigned> others(large, value_at);
  for (int round = 0; round < 120; ++round) {
    if (round % 50 == 49) {
      factor[0] += 2;
      CHECK(cuStreamSynchronize(stream));
      CHECK(cuMemcpyHtoD(constant, factor, sizeof factor));
    }
    CUdeviceptr more = 0;
    if (round % 7 == 0) {
      CHECK(cuMemAllocAsync(&more, large, stream));
      CHECK(cuMemsetD8Async(more, 1, large, stream));
      CHECK(cuMemFreeAsync(more, stream));
    }
    launch(code.function("scale_by"), width / 256, height / 8, 256, stream, data.address, width, offset);
    scale_here(expected, factor, offset);
    if (round % 4 == 0)  // which uses a variable
      launch(code.function("scale"), width / 256, height / 8, 256, stream, others.address, width);
    if (round % 40 == 5) {
      unsigned count = 4096;
      void* places[] = {const_cast<CUdeviceptr*>(&from.address), const_cast<CUdeviceptr*>(&through.address),
                        const_cast<CUdeviceptr*>(&to.address), &count};
      CHECK(cuLaunchCooperativeKernel(code.function("reverse"), 16, 1, 1, 256, 1, 1, 0, nullptr, places));
    }
    if (round % 3 == 0) CHECK(cuStreamSynchronize(stream));
    if (round % 30 == 0) CHECK(cuCtxSynchronize());
  }
  CHECK(cuStreamSynchronize(stream));
  CHECK(cuStreamDestroy(stream));
  all = data.read();
  for (unsigned i = 0; i < large; ++i) expect(all[i] == (i < large / 8 ? expected[i] : value_at(i)), "many launches");
  const unsigned before[4] = {3, 5, 7, 11};
  CHECK(cuMemcpyHtoD(constant, before, sizeof before));
  return sum(expected);
}

// What the program sees of the machine; not the same over several GPUs, so by name alone.
std::uint64_t machine() {
  int count = 0;
  CHECK(cuDeviceGetCount(&count));
  std::size_t bytes = 0, free = 0, total = 0;
  CHECK(cuDeviceTotalMem(&bytes, 0));
  CHECK(cuMemGetInfo(&free, &total));
  std::printf("%d device of %zu MiB, %zu MiB in all\n", count, bytes >> 20, total >> 20);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  const std::map<std::string, std::uint64_t (*)()> all = {{"vector_add", &vector_add},
                                                          {"histogram", &histogram},
                                                          {"variables", &variables},
                                                          {"streams", &streams},
                                                          {"pieces", &pieces},
                                                          {"default_stream", &default_stream},
                                                          {"library", &library},
                                                          {"options", &options},
                                                          {"failures", &failures},
                                                          {"packed_parameters", &packed_parameters},
                                                          {"allocated_in_order", &allocated_in_order},
                                                          {"rows", &rows},
                                                          {"cooperative", &cooperative},
                                                          {"graph", &graph},
                                                          {"graph_nodes", &graph_nodes},
                                                          {"small", &small},
                                                          {"addresses", &addresses},
                                                          {"limits", &limits},
                                                          {"many", &many},
                                                          {"machine", &machine}};
  const auto read = [&](const char* end) {
    std::ifstream file(std::string(argv[1]) + end, std::ios::binary);
    return std::string{std::istreambuf_iterator<char>(file), {}};
  };
  ptx = read(".ptx");
  fat_binary = read(".fatbin");
  CHECK(cuInit(0));
  CUdevice device = 0;
  CUcontext context = nullptr;
  CHECK(cuDeviceGet(&device, 0));
  CHECK(cuCtxCreate(&context, nullptr, 0, device));
  CHECK(cuModuleLoadData(&code.module, ptx.c_str()));
  std::vector<std::string> steps(argv + 2, argv + argc);
  if (steps.empty())
    for (const auto& [name, step] : all)
      if (name != "machine" && name != "many") steps.push_back(name);
  for (const std::string& step : steps)
    if (step == "exit")
      return 17;
    else
      std::printf("%s %016llx\n", step.c_str(), static_cast<unsigned long long>(all.at(step)()));
  CHECK(cuModuleUnload(code.module));
  CHECK(cuCtxDestroy(context));
  return 0;
}
