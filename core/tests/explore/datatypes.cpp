// Datatypes: matrices of which columns, blocks and rows go to the next rank.
#include "trial.hpp"

#include <dcgn/dcgn.hpp>

#include <optional>
#include <string>
#include <vector>

namespace dcgn::test {

void run_datatypes(const Trial& t) {
  constexpr std::int64_t rows = 24, columns = 17;
  Config config = config_of(t);
  const int gpus = draw(t.seed, -1, 10, 2) ? std::min(Device::count(), 2) : 0;
  config.nodes = {{.cpus = t.ranks, .gpus = gpus, .slots = 0}};  // GPUs have memory here, and no ranks
  Job job(config);
  job.cpu([&](Comm& comm) {
    const int to = (comm.rank() + 1) % t.ranks, from = (comm.rank() + t.ranks - 1) % t.ranks;
    const auto cell = [](int round, int rank, std::int64_t i) {
      return 1e6 * round + 1e3 * rank + static_cast<double>(i);
    };
    for (int round = 0; round < t.rounds; ++round) {
      const auto of = [&](int number, std::uint32_t bound) {
        return static_cast<std::int64_t>(draw(t.seed, round, number, bound));
      };
      // A block of a matrix, which is a column, a row or both.
      const std::int64_t height = 1 + of(0, rows), width = 1 + of(1, columns);
      const std::int64_t first = of(2, static_cast<std::uint32_t>(rows - height + 1)) * columns +
                                 of(3, static_cast<std::uint32_t>(columns - width + 1));
      const Datatype block = Datatype::vector(height, width, columns, Datatype::of<double>());
      std::vector<double> out(rows * columns), in(rows * columns, -1);
      for (std::size_t i = 0; i < out.size(); ++i) out[i] = cell(round, comm.rank(), static_cast<std::int64_t>(i));
      std::optional<DeviceBuffer<double>> there;
      const bool on_gpu = gpus && draw(t.seed, round, 10 + comm.rank(), 2);
      if (on_gpu) {
        there.emplace(job.world().device(comm.rank() % gpus), out.size());
        there->upload(out.data());
      }
      const Request sent =
          comm.isend(ConstTypedBuffer((on_gpu ? there->data() : out.data()) + first, block), to, round);
      const bool packed = of(4, 2);
      Status s;
      if (packed)
        s = comm.recv(Span<double>(in.data(), static_cast<std::size_t>(height * width)), from, round);
      else
        s = comm.recv(TypedBuffer(in.data() + first, block), from, round);
      comm.wait(sent);
      for (std::int64_t i = 0; i < rows * columns; ++i) {
        double expected = -1;
        if (packed) {
          if (i < height * width) expected = cell(round, from, first + i / width * columns + i % width);
        } else {
          const std::int64_t y = (i - first) / columns, x = (i - first) % columns;
          if (i >= first && y < height && x < width) expected = cell(round, from, i);
        }
        if (in[static_cast<std::size_t>(i)] != expected)
          throw Wrong("round " + std::to_string(round) + ", rank " + std::to_string(comm.rank()) + ": element " +
                      std::to_string(i) + " is " + std::to_string(in[static_cast<std::size_t>(i)]) + ", expected " +
                      std::to_string(expected));
      }
      if (s.source != from || s.bytes != height * width * 8)
        throw Wrong("round " + std::to_string(round) + ": " + std::to_string(s.bytes) + " bytes from rank " +
                    std::to_string(s.source) + ", expected " + std::to_string(height * width * 8) + " from rank " +
                    std::to_string(from));
    }
  });
  job.run();
}

}  // namespace dcgn::test
