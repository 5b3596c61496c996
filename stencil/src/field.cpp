#include <dcgn/stencil/field.hpp>

#include "storage.hpp"

#include <dcgn/error.hpp>

#include <string>
#include <vector>

namespace dcgn::stencil {

namespace {

// What passes between a box of the grid in the root's memory and the parts of the ranks.
struct Spread {
  std::vector<TypedBuffer> of_parts, of_box;  // for each rank; the latter at the root

  Spread(Storage& storage, const Comm& comm, const Box& box, void* cells, int root, const Datatype& element) {
    const TypedBuffer nothing(nullptr, Datatype());
    of_parts.assign(static_cast<std::size_t>(comm.size()), nothing);
    of_box = of_parts;
    if (const Box mine = box.intersection(storage.box()); !mine.empty()) {
      Cells at{};
      for (int d = 0; d < most_dims; ++d) {
        at.begin[d] = static_cast<int>(mine.begin[d] - storage.box().begin[d]);
        at.end[d] = static_cast<int>(mine.end[d] - storage.box().begin[d]);
      }
      of_parts[static_cast<std::size_t>(root)] = storage.typed(storage.current(), at);
    }
    if (comm.rank() != root) return;
    for (int r = 0; r < comm.size(); ++r) {
      const Box theirs = box.intersection(storage.grid().part(r));
      if (theirs.empty()) continue;
      Datatype::Counts sizes, subsizes, starts;
      for (int d = most_dims - 1; d >= 0; --d) {
        sizes.push_back(box.extent(d));
        subsizes.push_back(theirs.extent(d));
        starts.push_back(theirs.begin[d] - box.begin[d]);
      }
      of_box[static_cast<std::size_t>(r)] =
          TypedBuffer(cells, Datatype::subarray(sizes, subsizes, starts, Datatype::Order::c, element));
    }
  }
};

std::vector<ConstTypedBuffer> to_send(const std::vector<TypedBuffer>& buffers) {
  return {buffers.begin(), buffers.end()};
}

void check_box(const char* call, const Storage& storage, Comm& comm, const Box& box, std::size_t count, int root) {
  const Grid& grid = storage.grid();
  if (box.empty() || box.intersection(grid.all()) != box)
    throw Error(Code::configuration, call,
                "the box " + to_string(box, grid.dims()) + " is not one of the grid, expected one within " +
                    to_string(grid.all(), grid.dims()));
  std::uint64_t given = count;
  comm.broadcast(given, root);  // so that all know it
  if (static_cast<std::int64_t>(given) != box.cells())
    throw Error(Code::invalid_size, call,
                std::to_string(given) + " cells at rank " + std::to_string(root) + " for a box of " +
                    std::to_string(box.cells()) + " (" + to_string(box, grid.dims()) + ")");
}

}  // namespace

AnyField::AnyField(const Grid& grid, const Comm& comm, std::optional<Device> device, const Datatype& element) {
  if (comm.size() != grid.ranks())
    throw Error(Code::configuration, "Field",
                "a grid of " + std::to_string(grid.ranks()) + " parts for a communicator of " +
                    std::to_string(comm.size()) + " ranks, expected one for each");
  storage_ = std::make_unique<Storage>(grid, comm.rank(), device, element);
}
AnyField::AnyField(AnyField&&) noexcept = default;
AnyField& AnyField::operator=(AnyField&&) noexcept = default;
AnyField::~AnyField() = default;

const Grid& AnyField::grid() const noexcept { return storage_->grid(); }
const Box& AnyField::part() const noexcept { return storage_->box(); }
const std::optional<Device>& AnyField::device() const noexcept { return storage_->device(); }

void AnyField::write_part(const void* cells, std::size_t count) { storage_->write(cells, count); }
void AnyField::read_part(void* cells, std::size_t count) const { storage_->read(cells, count); }

void AnyField::write_box(Comm& comm, const Box& box, const void* cells, std::size_t count, int root) {
  check_box("Field::write", *storage_, comm, box, count, root);
  const Spread spread(*storage_, comm, box, const_cast<void*>(cells), root, storage_->element());
  storage_->halos_are_current = false;
  comm.all_to_allw(to_send(spread.of_box), spread.of_parts);
}

void AnyField::read_box(Comm& comm, const Box& box, void* cells, std::size_t count, int root) const {
  check_box("Field::read", *storage_, comm, box, count, root);
  const Spread spread(*storage_, comm, box, cells, root, storage_->element());
  comm.all_to_allw(to_send(spread.of_parts), spread.of_box);
}

}  // namespace dcgn::stencil
