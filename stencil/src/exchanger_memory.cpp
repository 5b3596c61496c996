#include "exchanger_memory.hpp"

#include <dcgn/error.hpp>
#include <dcgn/stencil/exchange_sweep.hpp>

#include <algorithm>
#include <cstring>
#include <string>

namespace dcgn::stencil {

namespace {

constexpr int no_device = -1;

// What the others must know of a rank.
struct Address {
  int node, device;
  int own[most_dims];
  std::int64_t stride[most_dims];
  std::byte* array[most_arrays][most_fields];
  Exchanger* exchanger;
};

Address address_of(const Comm& comm, const Plan& plan, const std::vector<Storage*>& fields, Exchanger* exchanger) {
  Address mine{};
  const auto& device = fields.front()->device();
  mine.node = comm.place().node;
  mine.device = device ? device->index() : no_device;
  const Part& part = fields.front()->part();
  for (int d = 0; d < most_dims; ++d) {
    mine.own[d] = part.own[d];
    mine.stride[d] = part.stride[d];
  }
  for (int a = 0; a < plan.rules.arrays; ++a)
    for (std::size_t f = 0; f < fields.size(); ++f) mine.array[a][f] = static_cast<std::byte*>(fields[f]->cell_0(a));
  mine.exchanger = exchanger;
  return mine;
}

// Why a rank's kernels cannot store into another's memory; empty where they can.
std::string obstacle(const Address& mine, const Address& other) {
  if (mine.node != other.node) return "are in two processes";
  if (mine.device == other.device) return {};
  if (mine.device == no_device || other.device == no_device) return "are one on the host and one on a device";
  if (!Device(mine.device).can_reach(Device(other.device)))
    return "are on devices " + std::to_string(mine.device) + " and " + std::to_string(other.device) +
           ", which do not reach each other";
  return {};
}

// Where a neighbour has the cells that a transfer sends: its array, for places as they are counted here.
Peer peer_of(const Transfer& t, const Part& part, const Address& there, std::int64_t element_bytes) {
  Peer peer{};
  peer.cells = t.cells;
  std::int64_t shift = 0;
  int direction = t.direction;
  for (int d = 0; d < most_dims; ++d, direction /= 3) {
    peer.stride[d] = there.stride[d];
    // Its cells are counted from its own first one: below here it lies `own` of its cells back, above ours.
    const int step = direction % 3 - 1;
    shift += (step < 0 ? there.own[d] : step > 0 ? -part.own[d] : 0) * there.stride[d];
  }
  for (int a = 0; a < most_arrays; ++a)
    for (int f = 0; f < most_fields; ++f)
      if (there.array[a][f]) peer.array[a][f] = there.array[a][f] + shift * element_bytes;
  peer.flag = &there.exchanger->flag[opposite(t.direction)];
  return peer;
}

}  // namespace

ExchangerMemory::ExchangerMemory(Comm& comm, const Plan& plan, const std::vector<Storage*>& fields,
                                 const std::vector<Stage>& stages)
    : device_(fields.front()->device()), memory_(device_, sizeof(Exchanger)) {
  const Address mine = address_of(comm, plan, fields, get());
  std::vector<Address> all(static_cast<std::size_t>(comm.size()));
  comm.all_gather(mine, all);

  std::string why;
  int lowest = comm.size();  // of the ranks that do not reach a neighbour
  for (const Transfer& t : plan.sends)
    if (std::string found = obstacle(mine, all[static_cast<std::size_t>(t.rank)]); !found.empty() && why.empty()) {
      why = "ranks " + std::to_string(comm.rank()) + " and " + std::to_string(t.rank) + " " + found;
      lowest = comm.rank();
    }
  comm.all_reduce(lowest, Min{});
  if (lowest < comm.size())
    throw Error(Code::unsupported, "Stepper",
                (why.empty() ? "rank " + std::to_string(lowest) + " does not reach a neighbour's memory" : why) +
                    ", so halos cannot be stored from kernels");
  ranks_of_device_ = static_cast<int>(
      std::count_if(all.begin(), all.end(), [&](const Address& a) { return a.device == mine.device; }));

  work_.part = fields.front()->part();
  std::copy(stages.begin(), stages.end(), work_.stage);
  work_.stages = static_cast<int>(stages.size());
  work_.boxes[0] = plan.stages.front().border;
  work_.boxes[1] = plan.stages.front().bulk;
  Exchanger x{};
  const std::int64_t bytes = fields.front()->element().size();
  for (const Transfer& t : plan.sends)
    x.peer[x.peers++] = peer_of(t, work_.part, all[static_cast<std::size_t>(t.rank)], bytes);
  for (const Transfer& t : plan.receives) x.flag_of[x.flags++] = t.direction;
  x.deadline_ns = comm.deadline_ns();
  if (device_)
    device_->copy(memory_.data(), &x, sizeof x);
  else
    std::memcpy(memory_.data(), &x, sizeof x);
  comm.barrier();  // what neighbours write comes after this
}

bool ExchangerMemory::has_failed() const {
  std::uint32_t failed = 0;
  if (!device_) return load_relaxed(get()->failed) != 0;
  device_->copy(&failed, &get()->failed, sizeof failed);
  return failed != 0;
}

namespace {

// A transfer's cells, row by row, from an array of this part to the neighbour's.
void store(const Part& part, const Peer& peer, const Stage& stage, int fields, std::int64_t element_bytes) {
  const Cells& c = peer.cells;
  const auto row_bytes = static_cast<std::size_t>((c.end[0] - c.begin[0]) * element_bytes);
  for (int f = 0; f < fields; ++f)
    for (int w = c.begin[3]; w < c.end[3]; ++w)
      for (int z = c.begin[2]; z < c.end[2]; ++z)
        for (int y = c.begin[1]; y < c.end[1]; ++y) {
          const auto offset = [&](const std::int64_t(&stride)[most_dims]) {
            return (c.begin[0] + y * stride[1] + z * stride[2] + w * stride[3]) * element_bytes;
          };
          std::memcpy(static_cast<std::byte*>(peer.array[stage.out_array][f]) + offset(peer.stride),
                      static_cast<const std::byte*>(stage.out[f]) + offset(part.stride), row_bytes);
        }
}

}  // namespace

void exchange_on_host(const ExchangeWork& work, Exchanger& x, std::int64_t stages, const UpdateCode& code,
                      std::int64_t element_bytes) {
  for (std::int64_t s = 0; s < stages; ++s) {
    const Stage& stage = work.stage[x.epoch % static_cast<std::uint32_t>(work.stages)];
    const auto& [border, bulk] = work.boxes;
    for (int f = 0; f < x.flags; ++f)
      if (!wait_for_neighbour(x, x.flag_of[f], x.epoch)) return;
    for (int b = 0; b < border.count; ++b) code.on_host(work.part, stage, border.box[b]);
    for (int p = 0; p < x.peers; ++p) store(work.part, x.peer[p], stage, code.fields, element_bytes);
    ++x.epoch;
    for (int p = 0; p < x.peers; ++p) tell_epoch(x.peer[p], x.epoch);
    for (int b = 0; b < bulk.count; ++b) code.on_host(work.part, stage, bulk.box[b]);
  }
}

}  // namespace dcgn::stencil
