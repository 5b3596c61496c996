// Messages of buffers, with the names and the order of arguments of mpi4py.
#include "comm.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

namespace dcgn::python {

namespace {

using namespace nb::literals;

enum class Mode { standard, synchronous, buffered };

void send_as(dcgn::Comm& c, Mode mode, const Buffer& out, int to, int tag) {
  const bool plain = out.is_plain();
  switch (mode) {
    case Mode::standard: return plain ? c.send_bytes(out.memory(), out.bytes(), to, tag) : c.send(out.typed(), to, tag);
    case Mode::synchronous:
      return plain ? c.ssend_bytes(out.memory(), out.bytes(), to, tag) : c.ssend(out.typed(), to, tag);
    case Mode::buffered:
      return plain ? c.bsend_bytes(out.memory(), out.bytes(), to, tag) : c.bsend(out.typed(), to, tag);
  }
}

template <Mode M>
void send(const Comm& comm, nb::handle buffer, int to, int tag) {
  const Buffer out(buffer, Access::read);
  without_gil(
      comm, [&](dcgn::Comm& c) { send_as(c, M, out, to, tag); }, out);
}

Status tell(const Status& status, Status* told) {
  if (told) *told = status;
  return status;
}

Status recv(const Comm& comm, nb::handle buffer, int from, int tag, Status* told) {
  const Buffer in(buffer, Access::write);
  const auto act = [&](dcgn::Comm& c) {
    return in.is_plain() ? c.recv_bytes(in.memory(), in.bytes(), from, tag) : c.recv(in.typed(), from, tag);
  };
  return tell(without_gil(comm, act, in), told);
}

PendingCall isend(const Comm& comm, nb::handle buffer, int to, int tag) {
  auto pending = std::make_shared<Pending>();
  const Buffer& out = pending->out.emplace(buffer, Access::read);
  return begin(comm, pending, [&](dcgn::Comm& c) {
    return out.is_plain() ? c.isend_bytes(out.memory(), out.bytes(), to, tag) : c.isend(out.typed(), to, tag);
  });
}

// An object's parts, which lie anywhere, as one message.
struct Parts {
  Parts(const nb::list& given, std::vector<std::unique_ptr<Buffer>>& kept) {
    for (const nb::handle part : given) kept.push_back(std::make_unique<Buffer>(part, Access::read));
    memory = static_cast<std::byte*>(kept.at(0)->memory());
    for (const std::unique_ptr<Buffer>& part : kept) {
      lengths.push_back(part->bytes());
      displacements.push_back(static_cast<std::byte*>(part->memory()) - memory);
    }
  }
  ConstTypedBuffer typed() const { return {memory, Datatype::hindexed(lengths, displacements, Datatype::bytes(1))}; }

  std::byte* memory;  // of the first
  Datatype::Counts lengths, displacements;
};

void send_parts(const Comm& comm, const nb::list& given, int to, int tag, bool synchronous) {
  std::vector<std::unique_ptr<Buffer>> kept;
  const Parts parts(given, kept);
  without_gil(comm, [&](dcgn::Comm& c) {
    return synchronous ? c.ssend(parts.typed(), to, tag) : c.send(parts.typed(), to, tag);
  });
}
PendingCall isend_parts(const Comm& comm, const nb::list& given, int to, int tag) {
  const auto pending = std::make_shared<Pending>();
  const Parts parts(given, pending->parts);
  return begin(comm, pending, [&](dcgn::Comm& c) { return c.isend(parts.typed(), to, tag); });
}

PendingCall irecv(const Comm& comm, nb::handle buffer, int from, int tag) {
  auto pending = std::make_shared<Pending>();
  const Buffer& in = pending->in.emplace(buffer, Access::write);
  return begin(comm, pending, [&](dcgn::Comm& c) {
    return in.is_plain() ? c.irecv_bytes(in.memory(), in.bytes(), from, tag) : c.irecv(in.typed(), from, tag);
  });
}

Status sendrecv(const Comm& comm, nb::handle send_buffer, int to, int send_tag, nb::handle recv_buffer, int from,
                int recv_tag, Status* told) {
  const Buffer out(send_buffer, Access::read), in(recv_buffer, Access::write);
  const auto act = [&](dcgn::Comm& c) {
    if (!out.is_plain() || !in.is_plain()) return c.sendrecv(out.typed(), to, send_tag, in.typed(), from, recv_tag);
    return c.sendrecv_bytes(out.memory(), out.bytes(), to, send_tag, in.memory(), in.bytes(), from, recv_tag);
  };
  return tell(without_gil(comm, act, out, in), told);
}

Status sendrecv_replace(const Comm& comm, nb::handle buffer, int to, int send_tag, int from, int recv_tag,
                        Status* told) {
  const Buffer both(buffer, Access::write);
  const auto act = [&](dcgn::Comm& c) {
    if (!both.is_plain()) return c.sendrecv_replace(both.typed(), to, send_tag, from, recv_tag);
    return c.sendrecv_replace_bytes(both.memory(), both.bytes(), to, send_tag, from, recv_tag);
  };
  return tell(without_gil(comm, act, both), told);
}

}  // namespace

void bind_requests(nb::module_& m) {
  m.attr("ANY_SOURCE") = any_source;
  m.attr("ANY_TAG") = any_tag;

  nb::class_<Status>(m, "Status", "What a receive, a probe or a wait says of a message.")
      .def(nb::init<>(), "One that says nothing yet, for a call to fill.")
      .def_ro("source", &Status::source, "The rank that sent the message.")
      .def_ro("tag", &Status::tag, "The tag that it was sent with.")
      .def_ro("count", &Status::bytes, "Its bytes, as it was sent.")
      .def("__repr__", [](const Status& s) {
        return "Status(source=" + std::to_string(s.source) + ", tag=" + std::to_string(s.tag) +
               ", count=" + std::to_string(s.bytes) + ")";
      });

  nb::class_<PendingCall>(m, "Request",
                          "A send or a receive that was begun; its buffer belongs to it until it has been waited for.")
      .def("wait", &PendingCall::wait, "status"_a = nb::none(),
           "Waits for it, and gives the object that came, of a receive of one; else None.")
      .def("test", &PendingCall::test, "status"_a = nb::none(),
           "Whether it is complete, and what wait() would give then.")
      .def_static("waitall", &PendingCall::wait_all, "requests"_a,
                  "Waits for all of them, and gives what wait() of each would. They are of one rank.")
      .def("_decode_by", &PendingCall::set_decode, "decode"_a);
}

void bind_messages(nb::class_<Comm>& comm) {
  comm.def_prop_ro(
          "rank", [](const Comm& c) { return c.get()->rank(); }, "The calling rank's number.")
      .def_prop_ro(
          "size", [](const Comm& c) { return c.get()->size(); }, "How many ranks the communicator has.")
      .def(
          "in_world", [](const Comm& c, int rank) { return c.get()->in_world(rank); }, "rank"_a,
          "The rank of the world that a rank is.")
      .def(
          "is_here", [](const Comm& c, int rank) { return c.get()->is_here(rank); }, "rank"_a,
          "Whether a rank is of this process.")
      .def_prop_ro(
          "place", [](const Comm& c) { return to_string(c.get()->place()); },
          "Where the calling rank is: 'CPU 1, node 0'.")
      .def("Send", &send<Mode::standard>, "buf"_a, "dest"_a, "tag"_a = 0,
           "Sends an array; returns when it may be changed again.")
      .def("Ssend", &send<Mode::synchronous>, "buf"_a, "dest"_a, "tag"_a = 0,
           "The same; returns once the matching receive has begun, too.")
      .def("Bsend", &send<Mode::buffered>, "buf"_a, "dest"_a, "tag"_a = 0,
           "The same; copies the array, and never waits for the receiver.")
      .def("Recv", &recv, "buf"_a, "source"_a = any_source, "tag"_a = any_tag, "status"_a = nb::none(),
           "Receives into an array the earliest message that matches. A longer one is an error.")
      .def("Isend", &isend, "buf"_a, "dest"_a, "tag"_a = 0, "Begins a send.")
      .def("Irecv", &irecv, "buf"_a, "source"_a = any_source, "tag"_a = any_tag, "Begins a receive.")
      .def("_send_parts", &send_parts, "parts"_a, "dest"_a, "tag"_a, "synchronous"_a)
      .def("_isend_parts", &isend_parts, "parts"_a, "dest"_a, "tag"_a)
      .def("Sendrecv", &sendrecv, "sendbuf"_a, "dest"_a, "sendtag"_a = 0, "recvbuf"_a = nb::none(),
           "source"_a = any_source, "recvtag"_a = any_tag, "status"_a = nb::none(),
           "A send and a receive at once, of arrays that do not overlap.")
      .def("Sendrecv_replace", &sendrecv_replace, "buf"_a, "dest"_a, "sendtag"_a = 0, "source"_a = any_source,
           "recvtag"_a = any_tag, "status"_a = nb::none(), "The same in one array.")
      .def(
          "Probe",
          [](const Comm& self, int from, int tag, Status* told) {
            return tell(without_gil(self, [&](dcgn::Comm& c) { return c.probe(from, tag); }), told);
          },
          "source"_a = any_source, "tag"_a = any_tag, "status"_a = nb::none(),
          "Waits until a message could be received, and tells of it; it stays.")
      .def(
          "Iprobe",
          [](const Comm& self, int from, int tag) {
            return without_gil(self, [&](dcgn::Comm& c) { return c.iprobe(from, tag); });
          },
          "source"_a = any_source, "tag"_a = any_tag, "The same without waiting: None where there is none.")
      .def(
          "Split",
          [](const Comm& self, int color, int key) {
            return self.add(without_gil(self, [&](dcgn::Comm& c) { return c.split(color, key); }));
          },
          "color"_a = 0, "key"_a = 0,
          "By all ranks: those of one color become a communicator, in order of key. A negative color is in none.")
      .def(
          "Dup", [](const Comm& self) { return self.add(without_gil(self, [](dcgn::Comm& c) { return c.dup(); })); },
          "By all ranks: a communicator of the same ranks, whose messages meet its own receives alone.")
      .def("Free", &Comm::free, "Ends a communicator that Split or Dup made; the kernel's end does it, too.");
}

}  // namespace dcgn::python
