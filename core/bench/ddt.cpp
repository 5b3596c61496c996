#include "core/bench/ddt.hpp"

#include "bench/sizes.hpp"
#include "core/bench/ddt_units.hpp"

#include <dcgn/device.hpp>
#include <dcgn/pack.hpp>
#include <dcgn/version.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <string>
#include <vector>

namespace dcgn::bench {

Datatype datatype_of(const DdtShape& shape, std::int64_t bytes) {
  switch (shape.kind) {
    case DdtShape::Kind::contiguous: return Datatype::bytes(bytes);
    case DdtShape::Kind::rows:
      return Datatype::hvector(std::max<std::int64_t>(1, bytes / shape.first), 1, shape.second,
                               Datatype::bytes(shape.first));
    case DdtShape::Kind::transpose: {
      const std::int64_t n = shape.order(bytes);
      const Datatype column = Datatype::hvector(n, 1, n * shape.first, Datatype::bytes(shape.first));
      return Datatype::hvector(n, 1, shape.first, column);
    }
    case DdtShape::Kind::triangle:
    case DdtShape::Kind::stair:
    case DdtShape::Kind::random:
    case DdtShape::Kind::scatter: break;
  }
  DdtBlocks blocks = ddt_blocks(shape, bytes);
  return Datatype::hindexed(std::move(blocks.lengths), std::move(blocks.displacements), Datatype::bytes(1));
}

namespace {

std::string name() { return "dcgn " + std::string(version); }

std::vector<DdtRow> measure_on_device(const DdtWork& work) {
  const Device device(0);
  Stream stream(device);
  const DdtBuffers b(work.shape, work.bytes);
  const DeviceBuffer<std::byte> memory(device, b.memory.size()), packed(device, b.packed.size()),
      made(device, b.packed.size());
  memory.upload(b.memory.data());
  packed.upload(b.packed.data());
  const TypedBuffer typed(memory, datatype_of(work.shape, work.bytes));
  const auto back = [](const DeviceBuffer<std::byte>& buffer) {
    Bytes bytes(buffer.size());
    buffer.download(bytes.data());
    return bytes;
  };
  if (work.unit_bytes) {
    UnitEngine units(device, typed.type(), work.unit_bytes, work.cached);
    return measure(work, b, fmt::format("units of {}{}", size_text(work.unit_bytes), work.cached ? ", cached" : ""),
                   {{},
                    {},
                    [&] { units.pack(memory.data(), made.data()); },
                    [&] { units.unpack(packed.data(), memory.data()); },
                    [] {},
                    [&] { return back(made); },
                    [&] { return back(memory); }});
  }
  if (work.blocks)
    return measure(work, b, fmt::format("{}, {} block{}", name(), work.blocks, work.blocks == 1 ? "" : "s"),
                   {{},
                    {},
                    [&] { pack_by_few(device, stream, work.blocks, typed, made.data()); },
                    [&] { unpack_by_few(device, stream, work.blocks, packed.data(), typed); },
                    [&] { stream.synchronize(); },
                    [&] { return back(made); },
                    [&] { return back(memory); }});
  return measure(work, b, name(),
                 {[&] { launch_nothing(device, stream); },
                  [&] { device.copy(stream, made.data(), packed.data(), b.packed.size()); },
                  [&] { pack(device, stream, typed, made); }, [&] { unpack(device, stream, packed, typed); },
                  [&] { stream.synchronize(); }, [&] { return back(made); }, [&] { return back(memory); }});
}

std::vector<DdtRow> measure_on_host(const DdtWork& work) {
  const DdtBuffers b(work.shape, work.bytes);
  Bytes memory = b.memory, made(b.packed.size());
  const TypedBuffer typed(memory, datatype_of(work.shape, work.bytes));
  return measure(work, b, name(),
                 {{},
                  [&] { std::memcpy(made.data(), b.packed.data(), b.packed.size()); },
                  [&] { pack(typed, made); },
                  [&] { unpack(b.packed, typed); },
                  [] {},
                  [&] { return made; },
                  [&] { return memory; }});
}

}  // namespace

std::vector<DdtRow> measure_ddt(const DdtWork& work) {
  return work.place == "device" ? measure_on_device(work) : measure_on_host(work);
}

}  // namespace dcgn::bench
