// Messages in windows around rings of ranks, and from all ranks to one; between CPU ranks and slots of two GPUs.
#include "core/tests/message/port_kernels.hpp"
#include "trial.hpp"

#include <dcgn/device.hpp>
#include <dcgn/gpu/launch.hpp>
#include <dcgn/job.hpp>

#include <string>
#include <vector>

namespace dcgn::test {
namespace {

constexpr int window = 6, most_ranks = 16;
constexpr std::int64_t room = 4096;  // bytes of each message's buffer

struct RankMemory {
  unsigned char out[window][room], in[window * most_ranks][room];
  Request sent[window], received[window];
  int from_each[most_ranks];
  // The first thing that was wrong; no round before.
  int round = -1, message, source, tag;
  std::int64_t bytes, expected_bytes, byte;
  Code code;
};

DCGN_HOST_DEVICE inline unsigned char content(int round, int source, int message, std::int64_t i) {
  return static_cast<unsigned char>((static_cast<std::uint64_t>(i) + 1) * 40503u +
                                    static_cast<std::uint32_t>(round * 7919 + source * 131 + message * 17));
}

DCGN_HOST_DEVICE inline std::int64_t bytes_of(std::uint64_t seed, int round, int message) {
  constexpr std::int64_t edges[] = {0, 1, 8, 9, 12, 13, 64, 72, 84, 85, 700, 1001, 4096};
  return edges[draw(seed, round, 100 + message, 13)];
}

template <class Port>
class Rounds {
 public:
  DCGN_TEST_ON_PORT
  DCGN_HOST_DEVICE Rounds(const Port& me, RankMemory& m, std::uint64_t seed) : me_(me), m_(m), seed_(seed) {}

  DCGN_TEST_ON_PORT
  DCGN_HOST_DEVICE void run(int rounds) {
    for (int round = 0; round < rounds && m_.round < 0; ++round) {
      for (int k = 0; k < window; ++k)
        for (std::int64_t i = 0; i < bytes_of(seed_, round, k); ++i) m_.out[k][i] = content(round, me_.rank(), k, i);
      if (draw(seed_, round, 0, 3))
        around(round);
      else
        to_one(round);
    }
  }

 private:
  DCGN_HOST_DEVICE int draw_of(int round, int number, std::uint32_t bound) const {
    return static_cast<int>(draw(seed_, round, number, bound));
  }

  // Each to the rank so many further, with all sends or all receives begun first, which end in order or the other way.
  DCGN_TEST_ON_PORT
  DCGN_HOST_DEVICE void around(int round) {
    const int far = draw_of(round, 1, static_cast<std::uint32_t>(me_.size()));
    const int to = (me_.rank() + far) % me_.size(), from = (me_.rank() + me_.size() - far) % me_.size();
    const int messages = 1 + draw_of(round, 2, window), wild = draw_of(round, 3, 4);
    const bool sends_first = draw_of(round, 4, 2), backwards = draw_of(round, 5, 2), probes = draw_of(round, 6, 3) == 0;
    // Without a barrier a rank may be rounds ahead: only the round's own tag and source are its.
    const int tag = round;
    for (int half = 0; half < 2; ++half)
      for (int k = 0; k < messages; ++k)
        if ((half == 0) == sends_first)
          m_.sent[k] = me_.isend(m_.out[k], bytes_of(seed_, round, k), to, tag);
        else if (!probes)
          m_.received[k] = me_.irecv(m_.in[k], room, wild == 1 ? any_source : from, tag);
    for (int i = 0; i < messages; ++i) {
      const int k = backwards && !probes ? messages - 1 - i : i;
      if (probes) me_.probe(from, tag);
      const Status s = probes ? me_.recv(m_.in[k], room, from, wild == 2 ? any_tag : tag) : me_.wait(m_.received[k]);
      check(round, k, s, from, k, m_.in[k]);
    }
    for (int k = 0; k < messages; ++k) check(round, k, me_.wait(m_.sent[k]).code);
  }

  // All to one, who takes them from anybody; of a rank they come in order.
  DCGN_TEST_ON_PORT
  DCGN_HOST_DEVICE void to_one(int round) {
    const int root = draw_of(round, 1, static_cast<std::uint32_t>(me_.size())), messages = 1 + draw_of(round, 2, 3);
    const int how = draw_of(round, 3, 3);
    if (me_.rank() != root) {
      for (int k = 0; k < messages; ++k) {
        const std::int64_t bytes = bytes_of(seed_, round, k);
        check(round, k,
              how == 0   ? me_.send(m_.out[k], bytes, root, round)
              : how == 1 ? me_.ssend(m_.out[k], bytes, root, round)
                         : me_.bsend(m_.out[k], bytes, root, round));
      }
      return;
    }
    for (int r = 0; r < me_.size(); ++r) m_.from_each[r] = 0;
    for (int i = 0; i < messages * (me_.size() - 1) && m_.round < 0; ++i) {
      const Status s = me_.recv(m_.in[0], room, any_source, round);
      const bool known = s.source >= 0 && s.source < me_.size();
      const int k = known ? m_.from_each[s.source]++ : 0;
      check(round, k, s, s.source, k, m_.in[0]);
    }
  }

  DCGN_TEST_ON_PORT
  DCGN_HOST_DEVICE void check(int round, int message, Code code) {
    if (code == Code::ok || m_.round >= 0) return;
    m_.round = round;
    m_.message = message;
    m_.code = code;
    m_.source = me_.rank();
    m_.tag = round;
    m_.bytes = m_.expected_bytes = m_.byte = -1;
  }
  DCGN_HOST_DEVICE void check(int round, int message, const Status& s, int from, int number, const unsigned char* in) {
    const std::int64_t bytes = bytes_of(seed_, round, number);
    std::int64_t byte = 0;
    while (byte < bytes && in[byte] == content(round, from, number, byte)) ++byte;
    if (m_.round >= 0 ||
        (s.code == Code::ok && s.source == from && s.tag == round && s.bytes == bytes && byte == bytes))
      return;
    m_.round = round;
    m_.message = message;
    m_.source = s.source;
    m_.tag = s.tag;
    m_.bytes = s.bytes;
    m_.expected_bytes = bytes;
    m_.byte = byte;
    m_.code = s.code;
  }

  const Port& me_;
  RankMemory& m_;
  const std::uint64_t seed_;
};

struct RunSlots {
  DCGN_HOST_DEVICE void operator()(gpu::Context& context, gpu::Comm comm, RankMemory* memories, std::uint64_t seed,
                                   int rounds) const {
    if (context.thread_rank()) return;
    const gpu::Slot slot = comm.slot(context.block_rank());
    const gpu::ThreadScope thread = gpu::this_thread();
    const SlotPort<gpu::ThreadScope> port(slot, thread);
    Rounds<SlotPort<gpu::ThreadScope>>(port, memories[context.block_rank()], seed).run(rounds);
    slot.finish(thread);  // other slots of this kernel may wait for what is buffered
  }
};

}  // namespace

void run_messages(const Trial& t) {
  Config config = config_of(t);
  // A slot where there are three ranks and more, and a GPU each where there are four.
  const int slots = t.ranks < 3 || draw(t.seed, -1, 10, 3) == 0 ? 0 : t.ranks / 2;
  const int gpus = slots == 0 ? 0 : slots % 2 == 0 && Device::count() > 1 ? 2 : 1;
  config.nodes = {{.cpus = t.ranks - slots, .gpus = gpus, .slots = gpus ? slots / gpus : 1}};
  Job job(config);
  std::vector<RankMemory> memories(static_cast<std::size_t>(t.ranks));
  std::vector<DeviceBuffer<RankMemory>> on_gpus;
  job.cpu([&](Comm& comm) {
    const CpuPort port(comm);
    Rounds<CpuPort>(port, memories[static_cast<std::size_t>(comm.rank())], t.seed).run(t.rounds);
  });
  const int each = gpus ? slots / gpus : 0;
  const auto of_gpu = [&](int g) { return memories.data() + (t.ranks - slots + g * each); };
  for (int g = 0; g < gpus; ++g) {
    on_gpus.emplace_back(job.world().device(g), static_cast<std::size_t>(each));
    on_gpus.back().upload(of_gpu(g));
    job.gpu_on(g, {.grid = one_block_per_slot, .block = 32}, RunSlots{}, on_gpus.back().data(), t.seed, t.rounds);
  }
  std::string ended;
  try {
    job.run();
  } catch (const Error& error) {
    ended = error.what();
  }
  for (int g = 0; g < gpus; ++g) on_gpus[static_cast<std::size_t>(g)].download(of_gpu(g));
  for (std::size_t r = 0; r < memories.size(); ++r) {
    const RankMemory& m = memories[r];
    if (m.round < 0 || m.code == Code::aborted || (!ended.empty() && m.code != Code::ok)) continue;
    throw Wrong("rank " + std::to_string(r) + ", round " + std::to_string(m.round) + ", message " +
                std::to_string(m.message) + ": source " + std::to_string(m.source) + ", tag " + std::to_string(m.tag) +
                ", bytes " + std::to_string(m.bytes) + ", " + std::string(to_string(m.code)) + "; expected " +
                std::to_string(m.expected_bytes) + " bytes, of which " + std::to_string(m.byte) + " are right");
  }
  if (!ended.empty()) throw Wrong(ended);
}

}  // namespace dcgn::test
