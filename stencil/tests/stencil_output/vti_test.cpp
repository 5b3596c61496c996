// VTI files, taken apart by hand.
#include "stencil/src/output/vti.hpp"
#include "base/output_file.hpp"
#include "support.hpp"
#include "tests/expect.hpp"

#include <cstring>
#include <map>
#include <regex>

using namespace dcgn::stencil;
using dcgn::base::OutputFile, dcgn::test::bytes_in, dcgn::test::contains, dcgn::test::error_of,
    dcgn::test::random_cells;

namespace {

class Vti : public dcgn::test::FolderTest {};

std::string attribute(const std::string& tag, const std::string& name) {
  std::smatch found;
  return std::regex_search(tag, found, std::regex("[ ]" + name + "=\"([^\"]*)\"")) ? found[1].str() : "none";
}

// What is said of each appended array, and its bytes.
struct Array {
  std::string type, components, bytes;
};

std::map<std::string, Array> arrays_in(const std::string& file) {
  const std::size_t data =
      file.find("<AppendedData encoding=\"raw\">\n_") + std::strlen("<AppendedData encoding=\"raw\">\n_");
  const std::string head = file.substr(0, data);
  std::map<std::string, Array> arrays;
  const std::regex tag("<DataArray[^>]*format=\"appended\"[^>]*>");
  for (auto it = std::sregex_iterator(head.begin(), head.end(), tag); it != std::sregex_iterator(); ++it) {
    const std::string text = it->str();
    const std::size_t at = data + std::stoul(attribute(text, "offset"));
    std::uint64_t bytes = 0;
    std::memcpy(&bytes, file.data() + at, sizeof bytes);
    arrays[attribute(text, "Name")] = {attribute(text, "type"), attribute(text, "NumberOfComponents"),
                                       file.substr(at + sizeof bytes, bytes)};
  }
  return arrays;
}

template <class T>
std::string bytes_of_cells(const std::vector<T>& cells) {
  return {reinterpret_cast<const char*>(cells.data()), cells.size() * sizeof(T)};
}

TEST_F(Vti, HasEveryFieldInItsOwnPrecision) {
  const auto u = random_cells<float>(5 * 4 * 3, 1);
  const auto v = random_cells<double>(5 * 4 * 3, 2);
  const auto psi = random_cells<dcgn::complex<double>>(5 * 4 * 3, 3);
  const std::vector<std::int64_t> extents{5, 4, 3};
  OutputFile output(in_folder("fields.vti"));
  write_vti(output,
            std::vector{source_of("u", u, extents, 0.5), source_of("v", v, extents, 0.5),
                        source_of("psi", psi, extents, 0.5)},
            1.25);
  const std::string file = bytes_in(output.path());
  for (const char* part : {"WholeExtent=\"0 4 0 3 0 2\"", "Spacing=\"0.5 0.5 0.5\"", "Name=\"TimeValue\"", ">1.25<",
                           "byte_order=\"LittleEndian\"", "header_type=\"UInt64\"", "Scalars=\"u\""})
    EXPECT_TRUE(contains(file, part));
  const auto arrays = arrays_in(file);
  ASSERT_EQ(arrays.size(), 3u);
  EXPECT_EQ(arrays.at("u").type, "Float32");
  EXPECT_EQ(arrays.at("u").bytes, bytes_of_cells(u));
  EXPECT_EQ(arrays.at("v").type, "Float64");
  EXPECT_EQ(arrays.at("v").bytes, bytes_of_cells(v));
  EXPECT_EQ(arrays.at("psi").components, "2");
  EXPECT_EQ(arrays.at("psi").bytes, bytes_of_cells(psi));
  EXPECT_TRUE(file.ends_with("\n</AppendedData>\n</VTKFile>\n"));
}

TEST_F(Vti, OfFewerDimensionsIsFlatInTheOthers) {
  const auto u = random_cells<float>(7, 1);
  OutputFile line(in_folder("line.vti")), plane(in_folder("plane.vti"));
  write_vti(line, std::vector{source_of("u", u, {7})}, 0);
  write_vti(plane, std::vector{source_of("u", u, {1, 7})}, 0);
  EXPECT_TRUE(contains(bytes_in(line.path()), "WholeExtent=\"0 6 0 0 0 0\""));
  EXPECT_TRUE(contains(bytes_in(plane.path()), "WholeExtent=\"0 0 0 6 0 0\""));
}

TEST_F(Vti, IsReadSlabBySlabInOrder) {
  // Rows of 8 MiB, two of which make a slab.
  std::vector<std::int64_t> firsts;
  const auto read = [&](std::int64_t first, std::int64_t count, void* cells) {
    firsts.push_back(first);
    auto* values = static_cast<double*>(cells);
    for (std::int64_t k = 0; k < count; ++k) std::fill_n(values + (k << 20), 1 << 20, static_cast<double>(first + k));
  };
  OutputFile output(in_folder("slabs.vti"));
  write_vti(output, std::vector{FieldSource{"u", {{1 << 20, 5}, CellType::float64, {1, 1}}, read}}, 0);
  EXPECT_EQ(firsts, (std::vector<std::int64_t>{0, 2, 4}));
  const std::string bytes = arrays_in(bytes_in(output.path())).at("u").bytes;
  ASSERT_EQ(bytes.size(), std::size_t{5} << 23);
  for (std::size_t row = 0; row < 5; ++row) {
    double value = -1;
    std::memcpy(&value, bytes.data() + (row << 23) + 4096, sizeof value);
    EXPECT_EQ(value, static_cast<double>(row));
  }
}

TEST_F(Vti, RefusesWhatIsNoImage) {
  const std::vector<float> u(16);
  const auto of = [&](std::vector<std::int64_t> extents) { return source_of("u", u, std::move(extents)); };
  OutputFile output(in_folder("no.vti"));
  const auto error = error_of([&] { write_vti(output, std::vector{of({2, 2, 2, 2})}, 0); });
  EXPECT_EQ(error.code(), dcgn::Code::configuration);
  EXPECT_TRUE(contains(error.what(), "no.vti: a field of 4 dimensions: expected 1 to 3"));
  const auto other = error_of([&] { write_vti(output, std::vector{of({4, 4}), of({8, 2})}, 0); });
  EXPECT_TRUE(contains(other.what(), "field 'u' is 8x2 float32: expected the grid of 'u', 4x4 float32"));
  OutputFile full("/dev/full");
  EXPECT_TRUE(contains(error_of([&] {
                         write_vti(full, std::vector{of({4, 4})}, 0);
                       }).what(),
                       "/dev/full: not written"));
  EXPECT_TRUE(contains(error_of([&] { of({5, 4}); }).what(), "64 bytes, expected the 80 of 5x4 float32"));
  EXPECT_FALSE(std::filesystem::exists(in_folder("no.vti")));
}

}  // namespace
