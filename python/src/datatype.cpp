#include "comm.hpp"

#include <dcgn/datatype.hpp>

#include <nanobind/operators.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <string>

namespace dcgn::python {

namespace {

using namespace nb::literals;

// Of "float64", or of what has that name: numpy.float64, numpy.dtype("f8"), an array's dtype.
Datatype of(nb::handle element) {
  std::string name;
  if (nb::isinstance<nb::str>(element))
    name = nb::cast<std::string>(element);
  else if (nb::hasattr(element, "name"))
    name = nb::cast<std::string>(element.attr("name"));
  else if (nb::hasattr(element, "__name__"))
    name = nb::cast<std::string>(element.attr("__name__"));
  if (name == "bool" || name == "bool_") name = "boolean";
  if (name == "bfloat16") name = "bf16";
  std::string known;
  for (int k = 0; k <= static_cast<int>(ElementKind::complex128); ++k) {
    const auto kind = static_cast<ElementKind>(k);
    const std::string its_name = to_string(kind);
    if (name == its_name) return Datatype::of(kind);
    known += (k ? ", " : "") + its_name;
  }
  const std::string given = name.empty() ? std::string(nb::repr(element).c_str()) : "named \"" + name + '"';
  throw Error(Code::invalid_type, "of", "an element " + given + ", expected one of " + known);
}

Datatype::Order order_of(const std::string& order) {
  if (order == "C") return Datatype::Order::c;
  if (order == "F") return Datatype::Order::fortran;
  throw Error(Code::invalid_type, "subarray", "the order " + order + ", expected C or F");
}

}  // namespace

void bind_datatype(nb::module_& m) {
  using Counts = Datatype::Counts;
  nb::class_<Datatype>(m, "Datatype", "Any layout of memory as one message: MPI's type map.")
      .def_static("of", &of, "element"_a, "One element, by its name or NumPy's type: \"float64\", numpy.float64.")
      .def_static(
          "bytes", [](std::int64_t count) { return Datatype::bytes(count); }, "count"_a, "Bytes without gaps.")
      .def_static("contiguous", &Datatype::contiguous, "count"_a, "type"_a,
                  "So many of a type, each where the extent of the one before ends.")
      .def_static("vector", &Datatype::vector, "count"_a, "length"_a, "stride"_a, "type"_a,
                  "Blocks of `length` of a type each, whose begins are `stride` extents of it apart.")
      .def_static("hvector", &Datatype::hvector, "count"_a, "length"_a, "stride"_a, "type"_a,
                  "The same with the stride in bytes.")
      .def_static(
          "indexed",
          [](const Counts& lengths, const Counts& displacements, const Datatype& type) {
            return Datatype::indexed(lengths, displacements, type);
          },
          "lengths"_a, "displacements"_a, "type"_a,
          "Block i: lengths[i] of a type, from displacements[i] extents of it on.")
      .def_static(
          "hindexed",
          [](const Counts& lengths, const Counts& displacements, const Datatype& type) {
            return Datatype::hindexed(lengths, displacements, type);
          },
          "lengths"_a, "displacements"_a, "type"_a, "The same with displacements in bytes.")
      .def_static(
          "struct",
          [](const Counts& lengths, const Counts& displacements, const std::vector<Datatype>& types) {
            return Datatype::structure(lengths, displacements, types);
          },
          "lengths"_a, "displacements"_a, "types"_a, "Block i: lengths[i] of types[i], from displacements[i] bytes on.")
      .def_static(
          "subarray",
          [](const Counts& sizes, const Counts& subsizes, const Counts& starts, const Datatype& type,
             const std::string& order) { return Datatype::subarray(sizes, subsizes, starts, order_of(order), type); },
          "sizes"_a, "subsizes"_a, "starts"_a, "type"_a, "order"_a = "C",
          "Of an array of these sizes the part of subsizes[i] from starts[i] on in each dimension.")
      .def_static("resized", &Datatype::resized, "type"_a, "lower_bound"_a, "extent"_a,
                  "A type with another lower bound and extent, by which repetitions are laid out.")
      .def_prop_ro("size", &Datatype::size, "Bytes when packed.")
      .def_prop_ro("extent", &Datatype::extent, "Bytes from one repetition to the next.")
      .def_prop_ro("lower_bound", &Datatype::lower_bound, "Where it begins for that, in bytes.")
      .def_prop_ro("true_extent", &Datatype::true_extent, "Bytes from its first to behind its last.")
      .def_prop_ro("true_lower_bound", &Datatype::true_lower_bound, "Where its first byte is.")
      .def_prop_ro("elements", &Datatype::elements, "How many basic elements it has.")
      .def("is_contiguous", &Datatype::is_contiguous, "count"_a = 1, "Whether so many are one run of bytes.")
      .def("overlaps", &Datatype::overlaps, "count"_a = 1,
           "Whether so many name some byte twice: then it can be sent, not received.")
      .def("describe", &describe, "count"_a = 1, "What packing makes of it, in words.")
      .def(nb::self == nb::self)
      .def("__hash__", &Datatype::hash);
}

}  // namespace dcgn::python
