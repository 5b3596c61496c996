// Collectives of buffers, with the names and the order of arguments of mpi4py.
#include "operation.hpp"

#include <nanobind/stl/vector.h>

#include <cstring>

namespace dcgn::python {

namespace {

using namespace nb::literals;

// act(c, input, output), as bytes where neither has gaps. A buffer that only the root gives is None elsewhere.
template <class Act>
auto with_buffers(dcgn::Comm& c, const Pending& given, const Act& act) {
  const auto is_plain = [](const std::optional<Buffer>& b) { return !b || b->is_plain(); };
  const auto span = [](const std::optional<Buffer>& b) { return b ? b->span() : Span<std::byte>(); };
  const auto typed = [](const std::optional<Buffer>& b) {
    return b ? b->typed() : TypedBuffer(nullptr, Datatype(), 0);
  };
  if (is_plain(given.out) && is_plain(given.in)) return act(c, Span<const std::byte>(span(given.out)), span(given.in));
  return act(c, ConstTypedBuffer(typed(given.out)), typed(given.in));
}

std::shared_ptr<Pending> take(nb::handle in, nb::handle out) {
  auto given = std::make_shared<Pending>();
  if (!in.is_none()) given->out.emplace(in, Access::read);
  if (!out.is_none()) given->in.emplace(out, Access::write);
  return given;
}

template <class Act>
void move(const Comm& comm, nb::handle in, nb::handle out, const Act& act) {
  const std::shared_ptr<Pending> given = take(in, out);
  without_gil(
      comm, [&](dcgn::Comm& c) { with_buffers(c, *given, act); }, given->out, given->in);
}
// The same with a call that is begun.
template <class Act>
PendingCall begin_move(const Comm& comm, nb::handle in, nb::handle out, const Act& act) {
  const std::shared_ptr<Pending> given = take(in, out);
  return begin(comm, given, [&](dcgn::Comm& c) { return with_buffers(c, *given, act); });
}

void bcast(const Comm& comm, nb::handle buffer, int root) {
  const Buffer b(buffer, comm.get()->rank() == root ? Access::read : Access::write);
  without_gil(
      comm, [&](dcgn::Comm& c) { b.is_plain() ? c.broadcast(b.span(), root) : c.broadcast(b.typed(), root); }, b);
}
PendingCall ibcast(const Comm& comm, nb::handle buffer, int root) {
  const auto given = std::make_shared<Pending>();
  const Buffer& b = given->in.emplace(buffer, comm.get()->rank() == root ? Access::read : Access::write);
  return begin(comm, given, [&](dcgn::Comm& c) {
    return b.is_plain() ? c.ibroadcast(b.span(), root) : c.ibroadcast(b.typed(), root);
  });
}

void gather(const Comm& comm, nb::handle in, nb::handle out, int root) {
  move(comm, in, out, [root](dcgn::Comm& c, const auto& from, const auto& to) { c.gather(from, to, root); });
}
void scatter(const Comm& comm, nb::handle in, nb::handle out, int root) {
  move(comm, in, out, [root](dcgn::Comm& c, const auto& from, const auto& to) { c.scatter(from, to, root); });
}
void all_gather(const Comm& comm, nb::handle in, nb::handle out) {
  move(comm, in, out, [](dcgn::Comm& c, const auto& from, const auto& to) { c.all_gather(from, to); });
}
void all_to_all(const Comm& comm, nb::handle in, nb::handle out) {
  move(comm, in, out, [](dcgn::Comm& c, const auto& from, const auto& to) { c.all_to_all(from, to); });
}
PendingCall igather(const Comm& comm, nb::handle in, nb::handle out, int root) {
  return begin_move(comm, in, out,
                    [root](dcgn::Comm& c, const auto& from, const auto& to) { return c.igather(from, to, root); });
}
PendingCall iscatter(const Comm& comm, nb::handle in, nb::handle out, int root) {
  return begin_move(comm, in, out,
                    [root](dcgn::Comm& c, const auto& from, const auto& to) { return c.iscatter(from, to, root); });
}
PendingCall iall_gather(const Comm& comm, nb::handle in, nb::handle out) {
  return begin_move(comm, in, out,
                    [](dcgn::Comm& c, const auto& from, const auto& to) { return c.iall_gather(from, to); });
}
PendingCall iall_to_all(const Comm& comm, nb::handle in, nb::handle out) {
  return begin_move(comm, in, out,
                    [](dcgn::Comm& c, const auto& from, const auto& to) { return c.iall_to_all(from, to); });
}

// Of pickled objects, whose lengths the ranks have told each other before.
using Counts = std::vector<std::int64_t>;

Counts begins(const Counts& counts) {
  Counts at;
  std::int64_t sum = 0;
  for (const std::int64_t n : counts) at.push_back(std::exchange(sum, sum + n));
  return at;
}

void gatherv(const Comm& comm, nb::handle in, nb::handle out, const Counts& counts, int root) {
  const Buffer from(in, Access::read), to(out, Access::write);
  without_gil(comm, [&](dcgn::Comm& c) {
    c.gatherv(Span<const std::byte>(from.span()), to.span(), counts, begins(counts), root);
  });
}
void scatterv(const Comm& comm, nb::handle in, const Counts& counts, nb::handle out, int root) {
  const Buffer from(in, Access::read), to(out, Access::write);
  without_gil(comm, [&](dcgn::Comm& c) {
    c.scatterv(Span<const std::byte>(from.span()), counts, begins(counts), to.span(), root);
  });
}
void all_gatherv(const Comm& comm, nb::handle in, nb::handle out, const Counts& counts) {
  const Buffer from(in, Access::read), to(out, Access::write);
  without_gil(comm, [&](dcgn::Comm& c) {
    c.all_gatherv(Span<const std::byte>(from.span()), to.span(), counts, begins(counts));
  });
}
void all_to_allv(const Comm& comm, nb::handle in, const Counts& send, nb::handle out, const Counts& receive) {
  const Buffer from(in, Access::read), to(out, Access::write);
  without_gil(comm, [&](dcgn::Comm& c) {
    c.all_to_allv(Span<const std::byte>(from.span()), send, begins(send), to.span(), receive, begins(receive));
  });
}

}  // namespace

void bind_collectives(nb::module_& m, nb::class_<Comm>& comm) {
  bind_operations(m, comm);
  comm.def(
          "Barrier", [](const Comm& self) { without_gil(self, [](dcgn::Comm& c) { c.barrier(); }); },
          "No rank leaves before all have entered.")
      .def(
          "Ibarrier",
          [](const Comm& self) {
            return begin(self, std::make_shared<Pending>(), [](dcgn::Comm& c) { return c.ibarrier(); });
          },
          "Begins a barrier.")
      .def("Bcast", &bcast, "buf"_a, "root"_a = 0, "The root's array to all.")
      .def("Gather", &gather, "sendbuf"_a, "recvbuf"_a.none(), "root"_a = 0,
           "The root's recvbuf gets the array of every rank, one after the other; None elsewhere.")
      .def("Scatter", &scatter, "sendbuf"_a.none(), "recvbuf"_a, "root"_a = 0,
           "Every rank's recvbuf gets its part of the root's sendbuf; None elsewhere.")
      .def("Allgather", &all_gather, "sendbuf"_a, "recvbuf"_a, "As Gather, to every rank.")
      .def("Alltoall", &all_to_all, "sendbuf"_a, "recvbuf"_a,
           "Block r of sendbuf goes to rank r, and what comes from rank r is block r of recvbuf.")
      .def("Ibcast", &ibcast, "buf"_a, "root"_a = 0, "Begins a Bcast.")
      .def("Igather", &igather, "sendbuf"_a, "recvbuf"_a.none(), "root"_a = 0, "Begins a Gather.")
      .def("Iscatter", &iscatter, "sendbuf"_a.none(), "recvbuf"_a, "root"_a = 0, "Begins a Scatter.")
      .def("Iallgather", &iall_gather, "sendbuf"_a, "recvbuf"_a, "Begins an Allgather.")
      .def("Ialltoall", &iall_to_all, "sendbuf"_a, "recvbuf"_a, "Begins an Alltoall.")
      .def("_gatherv", &gatherv)
      .def("_scatterv", &scatterv)
      .def("_allgatherv", &all_gatherv)
      .def("_alltoallv", &all_to_allv);
}

}  // namespace dcgn::python
