// What a process is told where its MPI is not to be had.
#include "tests/expect.hpp"

#include "transport/mpi_library.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

namespace dcgn::transport::test {
namespace {

using dcgn::test::contains;
using dcgn::test::error_of;

TEST(MpiLibrary, OneThatIsNotThereIsNamedInOneLineWithWhatMakesIt) {
  const Error e = error_of([] { static_cast<void>(load_mpi("nonesuch")); });
  EXPECT_EQ(e.code(), Code::unsupported);
  const std::string what = e.what();
  EXPECT_TRUE(contains(what, "MPI: libdcgn_mpi_nonesuch.so, which speaks to nonesuch, is neither in /"));
  EXPECT_TRUE(contains(what, "the build's target dcgn_mpi_nonesuch makes it"));
  EXPECT_EQ(std::count(what.begin(), what.end(), '\n'), 0) << what;
}

}  // namespace
}  // namespace dcgn::transport::test
