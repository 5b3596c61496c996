// Payloads between a FIFO and a GPU's memory, by a thread of the host: through memory of the host.
#include <dcgn/arch/scope.hpp>
#include <dcgn/message/copy_queue.hpp>
#include <dcgn/message/endpoint.hpp>
#include "message/engine/transfer.hpp"

#include <cstddef>
#include <memory>

namespace dcgn::message {

void execute_staged(Endpoint& me, const Transfer& w) {
  constexpr gpu::ThreadScope scope{};
  HostCopier& copier = *me.copies.host;
  const auto stage = [&] { return std::make_unique_for_overwrite<unsigned char[]>(static_cast<std::size_t>(w.bytes)); };
  switch (w.action) {
    case Action::nothing: return;
    case Action::copy: {
      if (!w.process) return copier.copy(w.to, w.from, w.bytes);
      const auto staged = stage();
      copy_from_process(w.process, staged.get(), w.from, w.bytes);
      copier.copy(w.to, staged.get(), w.bytes);
      return;
    }
    case Action::push: {
      const auto staged = stage();
      copier.copy(staged.get(), w.from, w.bytes);
      push_packets(scope, Payload(w.ring, w.position, w.packets, w.bytes), staged.get());
      return;
    }
    case Action::take: {
      const auto staged = stage();
      if (take_packets(scope, *me.phase, Payload(w.ring, w.position, w.packets, w.bytes), staged.get()))
        copier.copy(w.to, staged.get(), w.bytes);
      return;
    }
  }
}

}  // namespace dcgn::message
