// Collectives of the world, blocking and begun several at a time, and of communicators within communicators.
#include "trial.hpp"

#include <dcgn/comm.hpp>
#include <dcgn/job.hpp>
#include <dcgn/operation.hpp>

#include <functional>
#include <numeric>
#include <string>
#include <vector>

namespace dcgn::test {
namespace {

using Numbers = std::vector<std::int64_t>;

std::int64_t number(int salt, int rank, std::size_t i) {
  return (salt * 1009 + rank * 31 + 7) * 65537 + static_cast<std::int64_t>(i);
}

// A rank's share in the collectives of one communicator whose ranks are those of the world in `members`.
class Collectives {
 public:
  Collectives(Comm& comm, const std::vector<int>& members, std::uint64_t seed, int round)
      : comm_(comm), members_(members), seed_(seed), round_(round) {}

  // One of all kinds; `salt` tells calls of a round apart.
  void call(int salt) {
    const std::size_t count = counts[draw(seed_, round_, 20 + salt, 6)];
    const int root = static_cast<int>(draw(seed_, round_, 40 + salt, static_cast<std::uint32_t>(comm_.size())));
    const std::size_t ranks = members_.size(), me = static_cast<std::size_t>(comm_.rank());
    const Numbers mine = numbers(salt, comm_.rank(), count);
    Numbers out(count, -1), all(count * ranks, -1);
    switch (draw(seed_, round_, 60 + salt, 7)) {
      case 0: comm_.barrier(); return;
      case 1:
        if (comm_.rank() == root) out = mine;
        comm_.broadcast(out, root);
        return expect(out, numbers(salt, root, count), "broadcast");
      case 2: comm_.all_reduce(mine, out, Sum{}); return expect(out, sum(salt, 0, ranks, count), "all_reduce");
      case 3:
        comm_.reduce(mine, out, Sum{}, root);
        if (comm_.rank() == root) expect(out, sum(salt, 0, ranks, count), "reduce");
        return;
      case 4: comm_.all_gather(mine, all); return expect(all, gathered(salt, count), "all_gather");
      case 5: comm_.scan(mine, out, Sum{}); return expect(out, sum(salt, 0, me + 1, count), "scan");
      case 6: {
        Numbers in(count * ranks);
        for (std::size_t i = 0; i < in.size(); ++i) in[i] = number(salt, members_[me], i);
        comm_.all_to_all(in, all);
        Numbers expected;
        for (std::size_t r = 0; r < ranks; ++r)
          for (std::size_t i = 0; i < count; ++i) expected.push_back(number(salt, members_[r], me * count + i));
        return expect(all, expected, "all_to_all");
      }
    }
  }

  // Several of a kind, begun at once and waited for the last one first.
  void call_beside(int how_many) {
    const std::size_t count = counts[draw(seed_, round_, 20, 6)];
    std::vector<Numbers> in, out(static_cast<std::size_t>(how_many), Numbers(count, -1));
    std::vector<Request> requests;
    for (int i = 0; i < how_many; ++i) in.push_back(numbers(i, comm_.rank(), count));
    for (std::size_t i = 0; i < in.size(); ++i) requests.push_back(comm_.iall_reduce(in[i], out[i], Sum{}));
    for (std::size_t i = in.size(); i-- > 0;) {
      comm_.wait(requests[i]);
      expect(out[i], sum(static_cast<int>(i), 0, members_.size(), count), "iall_reduce");
    }
  }

 private:
  static constexpr std::size_t counts[] = {1, 1, 2, 7, 90, 700};

  Numbers numbers(int salt, int rank, std::size_t count) const {
    Numbers all(count);
    for (std::size_t i = 0; i < count; ++i) all[i] = number(salt, members_[static_cast<std::size_t>(rank)], i);
    return all;
  }
  Numbers sum(int salt, std::size_t first, std::size_t end, std::size_t count) const {
    Numbers all(count, 0);
    for (std::size_t r = first; r < end; ++r)
      for (std::size_t i = 0; i < count; ++i) all[i] += number(salt, members_[r], i);
    return all;
  }
  Numbers gathered(int salt, std::size_t count) const {
    Numbers all;
    for (const int member : members_)
      for (std::size_t i = 0; i < count; ++i) all.push_back(number(salt, member, i));
    return all;
  }
  void expect(const Numbers& found, const Numbers& expected, const char* call) const {
    for (std::size_t i = 0; i < expected.size(); ++i)
      if (found[i] != expected[i])
        throw Wrong("round " + std::to_string(round_) + ", " + call + " of " + std::to_string(members_.size()) +
                    " ranks: element " + std::to_string(i) + " of " + std::to_string(expected.size()) + " is " +
                    std::to_string(found[i]) + ", expected " + std::to_string(expected[i]));
  }

  Comm& comm_;
  const std::vector<int>& members_;
  const std::uint64_t seed_;
  const int round_;
};

// body(comm, round) by each rank.
void run_rounds(const Trial& t, const std::function<void(Comm&, int)>& body) {
  Config config = config_of(t);
  config.nodes = {{.cpus = t.ranks}};
  Job job(config);
  job.cpu([&](Comm& comm) {
    for (int round = 0; round < t.rounds; ++round) body(comm, round);
  });
  job.run();
}

std::vector<int> world_of(int ranks) {
  std::vector<int> all(static_cast<std::size_t>(ranks));
  std::iota(all.begin(), all.end(), 0);
  return all;
}

}  // namespace

void run_collectives(const Trial& t) {
  const std::vector<int> members = world_of(t.ranks);
  run_rounds(t, [&](Comm& comm, int round) {
    Collectives here(comm, members, t.seed, round);
    if (draw(t.seed, round, 0, 3) == 0)
      here.call_beside(1 + static_cast<int>(draw(t.seed, round, 1, 4)));
    else
      for (int salt = 0; salt < 4; ++salt) here.call(salt);
  });
}

void run_communicators(const Trial& t) {
  const std::vector<int> world = world_of(t.ranks);
  run_rounds(t, [&](Comm& comm, int round) {
    // Colors by chance, ranks backwards; then half of each, while messages of the world are on their way.
    const auto color_of = [&](int r) { return static_cast<int>(draw(t.seed, round, 200 + r, 2)); };
    std::vector<int> members, half;
    for (int r = t.ranks; r-- > 0;)
      if (color_of(r) == color_of(comm.rank())) members.push_back(r);
    Comm part = comm.split(color_of(comm.rank()), -comm.rank());
    const std::int64_t sent = number(round, comm.rank(), 0);
    std::int64_t got = 0;
    const int to = (comm.rank() + 1) % t.ranks, from = (comm.rank() + t.ranks - 1) % t.ranks;
    const Request receive = comm.irecv(got, from, any_tag), send = comm.isend(sent, to, round);
    Collectives(part, members, t.seed, round).call(0);
    for (std::size_t r = static_cast<std::size_t>(part.rank()) % 2; r < members.size(); r += 2)
      half.push_back(members[r]);
    {
      Comm quarter = part.split(part.rank() % 2, part.rank());
      Collectives(quarter, half, t.seed, round).call(1);
      Collectives(part, members, t.seed, round).call(2);
      Collectives(quarter, half, t.seed, round).call_beside(2);
    }
    const Status s = comm.wait(receive);
    comm.wait(send);
    if (s.source != from || s.tag != round || got != number(round, from, 0))
      throw Wrong("round " + std::to_string(round) + ": rank " + std::to_string(comm.rank()) + " got " +
                  std::to_string(got) + " of tag " + std::to_string(s.tag) + " from rank " + std::to_string(s.source) +
                  ", expected " + std::to_string(number(round, from, 0)) + " of tag " + std::to_string(round) +
                  " from rank " + std::to_string(from));
    Collectives(comm, world, t.seed, round).call(3);
  });
}

}  // namespace dcgn::test
