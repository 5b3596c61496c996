// Collectives of buffers, with the names and the order of arguments of mpi4py.
#include "operation.hpp"

#include <nanobind/stl/vector.h>

#include <cstring>

namespace dcgn::python {

namespace {

using namespace nb::literals;

// A buffer that only the root gives: None elsewhere.
class RootBuffer {
 public:
  RootBuffer(nb::handle given, Access access) {
    if (!given.is_none()) buffer_.emplace(given, access);
  }
  bool is_plain() const { return !buffer_ || buffer_->is_plain(); }
  Span<std::byte> span() const { return buffer_ ? buffer_->span() : Span<std::byte>(); }
  TypedBuffer typed() const { return buffer_ ? buffer_->typed() : TypedBuffer(nullptr, Datatype(), 0); }
  void wait_for_stream() const {
    if (buffer_) buffer_->wait_for_stream();
  }

 private:
  std::optional<Buffer> buffer_;
};

void bcast(const Comm& comm, nb::handle buffer, int root) {
  const Buffer b(buffer, comm.get()->rank() == root ? Access::read : Access::write);
  without_gil(
      comm, [&](dcgn::Comm& c) { b.is_plain() ? c.broadcast(b.span(), root) : c.broadcast(b.typed(), root); }, b);
}

// Makes one of the calls that take an input and an output, as bytes where both have no gaps.
template <class In, class Out, class Act>
void move(const Comm& comm, const In& in, const Out& out, const Act& act) {
  without_gil(
      comm,
      [&](dcgn::Comm& c) {
        if (in.is_plain() && out.is_plain())
          act(c, Span<const std::byte>(in.span()), out.span());
        else
          act(c, ConstTypedBuffer(in.typed()), out.typed());
      },
      in, out);
}

void gather(const Comm& comm, nb::handle in, nb::handle out, int root) {
  move(comm, Buffer(in, Access::read), RootBuffer(out, Access::write),
       [root](dcgn::Comm& c, const auto& from, const auto& to) { c.gather(from, to, root); });
}
void scatter(const Comm& comm, nb::handle in, nb::handle out, int root) {
  move(comm, RootBuffer(in, Access::read), Buffer(out, Access::write),
       [root](dcgn::Comm& c, const auto& from, const auto& to) { c.scatter(from, to, root); });
}
void all_gather(const Comm& comm, nb::handle in, nb::handle out) {
  move(comm, Buffer(in, Access::read), Buffer(out, Access::write),
       [](dcgn::Comm& c, const auto& from, const auto& to) { c.all_gather(from, to); });
}
void all_to_all(const Comm& comm, nb::handle in, nb::handle out) {
  move(comm, Buffer(in, Access::read), Buffer(out, Access::write),
       [](dcgn::Comm& c, const auto& from, const auto& to) { c.all_to_all(from, to); });
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
      .def("Bcast", &bcast, "buf"_a, "root"_a = 0, "The root's array to all.")
      .def("Gather", &gather, "sendbuf"_a, "recvbuf"_a.none(), "root"_a = 0,
           "The root's recvbuf gets the array of every rank, one after the other; None elsewhere.")
      .def("Scatter", &scatter, "sendbuf"_a.none(), "recvbuf"_a, "root"_a = 0,
           "Every rank's recvbuf gets its part of the root's sendbuf; None elsewhere.")
      .def("Allgather", &all_gather, "sendbuf"_a, "recvbuf"_a, "As Gather, to every rank.")
      .def("Alltoall", &all_to_all, "sendbuf"_a, "recvbuf"_a,
           "Block r of sendbuf goes to rank r, and what comes from rank r is block r of recvbuf.")
      .def("_gatherv", &gatherv)
      .def("_scatterv", &scatterv)
      .def("_allgatherv", &all_gatherv)
      .def("_alltoallv", &all_to_allv);
}

}  // namespace dcgn::python
