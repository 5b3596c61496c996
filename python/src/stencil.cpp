// Grids, fields, and steppers whose update was compiled from source.
#include "arguments.hpp"
#include "comm.hpp"
#include "dcgn_update_entry.hpp"

#include <dcgn/stencil.hpp>

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <initializer_list>
#include <string>
#include <variant>

namespace dcgn::python {

namespace {

using namespace nb::literals;

// Of the values of an enumeration the one of this name.
template <class Enum>
Enum parse(const std::string& word, std::initializer_list<Enum> all) {
  std::string known;
  for (const Enum one : all) {
    if (to_string(one) == word) return one;
    known += (known.empty() ? "" : ", ") + to_string(one);
  }
  throw Error(Code::configuration, "stepper", "\"" + word + "\", expected one of " + known);
}

// "periodic", "neumann", or the value beyond a side.
Boundary boundary_of(nb::handle side) {
  if (!nb::isinstance<nb::str>(side)) return Boundary::dirichlet(nb::cast<double>(side));
  const auto word = nb::cast<std::string>(side);
  if (word == "periodic") return Boundary::periodic();
  if (word == "neumann") return Boundary::neumann();
  throw Error(Code::configuration, "grid", "the side \"" + word + "\", expected periodic, neumann or a number");
}

Grid make_grid(std::vector<std::int64_t> extents, int ranks, std::vector<double> spacing, const nb::list& sides,
               std::vector<int> parts) {
  GridShape shape{.extents = std::move(extents), .spacing = std::move(spacing), .parts = std::move(parts)};
  for (const nb::handle side : sides) shape.sides.push_back(boundary_of(side));
  return {std::move(shape), ranks};
}

using Cell = std::vector<std::int64_t>;
std::pair<Cell, Cell> bounds(const Box& box, int dims) {
  return {{box.begin.begin(), box.begin.begin() + dims}, {box.end.begin(), box.end.begin() + dims}};
}

class Field {
  using Any = std::variant<dcgn::Field<float>, dcgn::Field<double>, dcgn::Field<complex<float>>,
                           dcgn::Field<complex<double>>, dcgn::Field<int>>;

 public:
  Field(const Grid& grid, const Comm& comm, const std::string& cells, std::optional<int> device)
      : field_(make(grid, *comm.get(), cells, device)) {}

  stencil::AnyField& any() {
    return std::visit([](auto& field) -> stencil::AnyField& { return field; }, field_);
  }
  std::pair<Cell, Cell> part() { return bounds(any().part(), any().grid().dims()); }
  std::string cells() {
    return std::visit([]<class T>(dcgn::Field<T>&) { return to_string(dcgn::detail::element_kind<T>()); }, field_);
  }
  bool is_on_cuda() { return any().device() && any().device()->kind() == DeviceKind::cuda; }
  std::string architecture() { return any().device() ? architecture_of(*any().device()) : ""; }

  void write(nb::handle array) {
    const Buffer from(array, Access::read);
    check_shape(array, any().part());
    std::visit([&]<class T>(dcgn::Field<T>& field) { field.write(Span<const T>(cells_of<T>(from))); }, field_);
  }
  void read(nb::handle array) {
    const Buffer to(array, Access::write);
    check_shape(array, any().part());
    std::visit([&]<class T>(dcgn::Field<T>& field) { field.read(cells_of<T>(to)); }, field_);
  }
  // All of the field, in memory of the root.
  void write_all(const Comm& comm, nb::handle array, int root) {
    std::optional<Buffer> from;
    if (!array.is_none()) {
      from.emplace(array, Access::read);
      check_shape(array, any().grid().all());
    }
    std::visit(
        [&]<class T>(dcgn::Field<T>& field) {
          const Span<const T> cells = from ? cells_of<T>(*from) : Span<T>();
          without_gil(comm, [&](dcgn::Comm& c) { field.write(c, field.grid().all(), cells, root); });
        },
        field_);
  }
  void read_all(const Comm& comm, nb::handle array, int root) {
    std::optional<Buffer> to;
    if (!array.is_none()) {
      to.emplace(array, Access::write);
      check_shape(array, any().grid().all());
    }
    std::visit(
        [&]<class T>(dcgn::Field<T>& field) {
          const Span<T> cells = to ? cells_of<T>(*to) : Span<T>();
          without_gil(comm, [&](dcgn::Comm& c) { field.read(c, field.grid().all(), cells, root); });
        },
        field_);
  }

 private:
  static Any make(const Grid& grid, const dcgn::Comm& comm, const std::string& cells, std::optional<int> device) {
    const auto of = [&]<class T>(T) {
      return Any(device ? dcgn::Field<T>(grid, comm, Device(*device)) : dcgn::Field<T>(grid, comm));
    };
    if (cells == "float32") return of(float());
    if (cells == "float64") return of(double());
    if (cells == "complex64") return of(complex<float>());
    if (cells == "complex128") return of(complex<double>());
    if (cells == "int32") return of(int());
    throw Error(Code::configuration, "field",
                "cells of " + cells + ", expected float32, float64, complex64, complex128 or int32");
  }
  // An array that has dimensions has those of the cells; how many it holds is looked at elsewhere.
  void check_shape(nb::handle array, const Box& box) {
    Cell shape, expected;
    if (!nb::hasattr(array, "shape") || !nb::try_cast(array.attr("shape"), shape) || shape.size() < 2) return;
    for (int d = any().grid().dims(); d-- > 0;) expected.push_back(box.end[d] - box.begin[d]);
    if (shape == expected) return;
    const auto text = [](const Cell& sizes) {
      std::string all;
      for (const std::int64_t n : sizes) all += (all.empty() ? "" : ", ") + std::to_string(n);
      return "(" + all + ")";
    };
    throw Error(Code::invalid_size, "field",
                "an array of shape " + text(shape) + ", expected " + text(expected) + ": x is the last index");
  }
  template <class T>
  static Span<T> cells_of(const Buffer& buffer) {
    constexpr ElementKind kind = dcgn::detail::element_kind<T>();
    if (!buffer.is_plain() || buffer.kind() != kind)
      throw Error(
          Code::invalid_type, "field",
          "an array with gaps or of " + to_string(buffer.kind()) + ", expected " + to_string(kind) + " without gaps");
    return {static_cast<T*>(buffer.memory()), static_cast<std::size_t>(buffer.bytes()) / sizeof(T)};
  }

  Any field_;
};

class Stepper {
 public:
  Stepper(const Comm& comm, const std::string& library, const std::vector<std::shared_ptr<Field>>& fields,
          const nb::tuple& arguments, const std::string& scheme, double dt, const std::string& mode,
          const std::string& exchange, std::int64_t check_every)
      : comm_(comm) {
    const StepperOptions options{
        .scheme = parse(scheme, {Scheme::euler, Scheme::midpoint, Scheme::rk4, Scheme::next}),
        .dt = dt,
        .mode = parse(mode, {Mode::automatic, Mode::borders_first, Mode::shift, Mode::graph, Mode::persistent}),
        .exchange = parse(exchange, {Exchange::each_stage, Exchange::each_step}),
        .check_every = check_every};
    const auto owned = std::make_shared<Owned>();
    owned->fields = fields;
    std::vector<stencil::AnyField*> all;
    all.reserve(fields.size());
    for (const std::shared_ptr<Field>& field : fields) all.push_back(&field->any());
    stencil::UpdateCode code{};
    auto* const make = reinterpret_cast<MakeUpdate*>(function_of(library, update_entry));
    make(arguments_of(arguments, fields.at(0)->is_on_cuda(), owned->kept), code);
    without_gil(comm_, [&](dcgn::Comm& c) { owned->stepper.emplace(c, std::move(code), options, std::move(all)); });
    comm_.rank()->steppers.push_back(owned);
    owned_ = owned;
  }

  void run(std::int64_t steps) {
    const auto owned = get();
    without_gil(comm_, [&](dcgn::Comm&) { owned->stepper->run(steps); });
  }
  std::int64_t steps() const { return get()->stepper->steps(); }
  double time() const { return get()->stepper->time(); }
  std::string mode() const { return to_string(get()->stepper->mode()); }
  std::string chosen() const { return get()->stepper->chosen(); }

 private:
  // Freed with the GIL, which the stepper's end does without.
  struct Owned {
    std::vector<std::shared_ptr<Field>> fields;
    Kept kept;
    std::optional<stencil::AnyStepper> stepper;
    ~Owned() {
      const nb::gil_scoped_release released;
      stepper.reset();
    }
  };

  std::shared_ptr<Owned> get() const {
    if (auto owned = owned_.lock()) return owned;
    throw Error(Code::not_attached, "stepper", "its rank's kernel has ended; expected one that lasts");
  }

  Comm comm_;
  std::weak_ptr<Owned> owned_;  // the rank's
};

}  // namespace

void bind_stencil(nb::module_& m) {
  nb::class_<Grid>(m, "Grid")
      .def(
          "__init__",
          [](Grid* self, std::vector<std::int64_t> extents, int ranks, std::vector<double> spacing,
             const nb::list& sides, std::vector<int> parts) {
            new (self) Grid(make_grid(std::move(extents), ranks, std::move(spacing), sides, std::move(parts)));
          },
          "extents"_a, "ranks"_a, "spacing"_a, "sides"_a, "parts"_a)
      .def_prop_ro("dims", &Grid::dims, "How many dimensions.")
      .def_prop_ro(
          "extents", [](const Grid& g) { return bounds(g.all(), g.dims()).second; }, "Cells along each, x first.")
      .def(
          "part", [](const Grid& g, int rank) { return bounds(g.part(rank), g.dims()); }, "rank"_a,
          "The first cell of a rank's part, and the one behind its last.");

  nb::class_<Field>(
      m, "Field",
      "One number in each cell of a grid, spread over the grid's ranks: this one's part. cells is float32, float64, "
      "complex64, complex128 or int32; it is in the host's memory, or in that of a GPU. Arrays have x as their last "
      "index.")
      .def(nb::init<const Grid&, const Comm&, const std::string&, std::optional<int>>(), "grid"_a, "comm"_a,
           "cells"_a = "float64", "gpu"_a = nb::none())
      .def_prop_ro("part", &Field::part, "The first cell of this rank's part, and the one behind its last, x first.")
      .def_prop_ro("cells", &Field::cells, "What a cell holds, by NumPy's name.")
      .def("write", &Field::write, "array"_a, "Sets this rank's part.")
      .def("read", &Field::read, "array"_a, "Fills an array with this rank's part.")
      .def("write_all", &Field::write_all, "comm"_a, "array"_a.none(), "root"_a = 0,
           "By all ranks: sets the whole field from the root's array; None elsewhere.")
      .def("read_all", &Field::read_all, "comm"_a, "array"_a.none(), "root"_a = 0,
           "By all ranks: fills the root's array with the whole field; None elsewhere.")
      .def("_architecture", &Field::architecture);

  nb::class_<Stepper>(m, "Stepper")
      .def(nb::init<const Comm&, const std::string&, const std::vector<std::shared_ptr<Field>>&, const nb::tuple&,
                    const std::string&, double, const std::string&, const std::string&, std::int64_t>(),
           "comm"_a, "library"_a, "fields"_a, "arguments"_a, "scheme"_a, "dt"_a, "mode"_a, "exchange"_a,
           "check_every"_a)
      .def("run", &Stepper::run, "steps"_a,
           "By all ranks: does so many steps. Throws Error(unstable) where a field is not finite any more.")
      .def_prop_ro("steps", &Stepper::steps, "Steps done so far.")
      .def_prop_ro("time", &Stepper::time, "steps times dt.")
      .def_prop_ro("mode", &Stepper::mode, "What runs; \"automatic\" until it has measured.")
      .def_prop_ro("chosen", &Stepper::chosen, "The mode in a line, and what each candidate took.");
}

}  // namespace dcgn::python
