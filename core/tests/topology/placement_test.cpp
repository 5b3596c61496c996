// Rank numbering: Stuart and Owens 2009, section 3.2.3.
#include <dcgn/error.hpp>
#include <dcgn/placement.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdio>
#include <ctime>
#include <limits>
#include <string>
#include <vector>

namespace {

using dcgn::NodeShape;
using dcgn::Place;
using dcgn::Placement;

// The paper's words, counted out: consecutive within a node, nodes in order, CPU kernels first, then GPU by GPU.
std::vector<Place> count_out(const std::vector<NodeShape>& nodes) {
  std::vector<Place> places;
  int node = 0;
  for (const NodeShape& s : nodes)
    for (int i = 0; i < s.count; ++i, ++node) {
      for (int c = 0; c < s.cpus; ++c) places.push_back({.node = node, .cpu = c});
      for (int g = 0; g < s.gpus; ++g)
        for (int k = 0; k < s.slots; ++k) places.push_back({.node = node, .device = g, .slot = k});
    }
  return places;
}

void expect_counted_out(const std::vector<NodeShape>& nodes) {
  const Placement placement(nodes);
  const std::vector<Place> places = count_out(nodes);
  ASSERT_EQ(placement.size(), static_cast<int>(places.size()));
  for (int r = 0; r < placement.size(); ++r) {
    const Place got = placement.place(r);
    const Place& want = places[static_cast<std::size_t>(r)];
    ASSERT_EQ(got.node, want.node) << "rank " << r;
    ASSERT_EQ(got.cpu, want.cpu) << "rank " << r;
    ASSERT_EQ(got.device, want.device) << "rank " << r;
    ASSERT_EQ(got.slot, want.slot) << "rank " << r;
    ASSERT_EQ(placement.rank(want), r);
  }
}

TEST(Placement, OfThePapersClusterOfFourNodes) {
  expect_counted_out({{.cpus = 2, .gpus = 2, .slots = 1, .count = 4}});
  const Placement placement({{.cpus = 2, .gpus = 2, .slots = 1, .count = 4}});
  EXPECT_EQ(placement.size(), 16);
  EXPECT_EQ(to_string(placement.place(5)), "CPU 1, node 1");
  EXPECT_EQ(to_string(placement.place(7)), "slot 0 of GPU 1, node 1");
}

TEST(Placement, OfNodesThatDiffer) {
  expect_counted_out(
      {{.cpus = 1}, {.gpus = 2, .slots = 3}, {.cpus = 3, .gpus = 1, .slots = 2, .count = 2}, {.cpus = 2}});
}

TEST(Placement, OfTenMillionRanksIsArithmetic) {
  const Placement placement({{.cpus = 32, .gpus = 8, .slots = 128, .count = 4000},
                             {.cpus = 0, .gpus = 8, .slots = 132, .count = 4000},
                             {.cpus = 1056, .count = 2000}});
  EXPECT_EQ(placement.size(), 10'000 * 1056);
  for (std::int64_t r = 0; r < placement.size(); r += 104'729) {
    const Place place = placement.place(static_cast<int>(r));
    EXPECT_EQ(placement.rank(place), r);
    EXPECT_EQ(place.node, r / 1056);
  }
}

// Three shapes in turn, so that no two neighbours are alike: the worst there can be.
std::vector<NodeShape> ten_thousand_nodes(bool in_turn) {
  const NodeShape shapes[] = {
      {.cpus = 32, .gpus = 8, .slots = 128}, {.cpus = 0, .gpus = 8, .slots = 132}, {.cpus = 1056, .gpus = 0}};
  std::vector<NodeShape> nodes;
  nodes.reserve(10'000);
  for (int n = 0; n < 10'000; ++n) nodes.push_back(shapes[in_turn ? n % 3 : n / 3334]);
  return nodes;
}

TEST(Placement, OfTenThousandNodesTakesLessThanAMegabyte) {
  const Placement in_turn(ten_thousand_nodes(true)), in_rows(ten_thousand_nodes(false));
  for (const Placement* p : {&in_turn, &in_rows}) {
    ASSERT_EQ(p->size(), 10'000 * 1056);
    for (int node = 0; node < 10'000; node += 37) EXPECT_EQ(p->first_rank(node), node * 1056);
    for (std::int64_t r = 0; r < p->size(); r += 104'729) {
      EXPECT_EQ(p->place(static_cast<int>(r)).node, r / 1056);
      EXPECT_EQ(p->rank(p->place(static_cast<int>(r))), r);
    }
  }
  EXPECT_LT(in_turn.bytes(), 1u << 20);
  EXPECT_LT(in_rows.bytes(), 1u << 10);
}

// What it takes is printed, in time of the processor; that it is not a search through all is tested.
TEST(Placement, OfTenThousandNodesIsLookedUpFast) {
  const Placement p(ten_thousand_nodes(true));
  constexpr std::size_t count = 1 << 16;
  std::vector<int> ranks;
  std::vector<Place> places(count);
  for (std::size_t i = 0; i < count; ++i)
    ranks.push_back(static_cast<int>(static_cast<std::int64_t>(i) * 7'368'787 % p.size()));
  const auto ns_each = [&](const auto& look_up) {
    const std::clock_t since = std::clock();
    for (std::size_t i = 0; i < count; ++i) look_up(i);
    return static_cast<double>(std::clock() - since) / CLOCKS_PER_SEC * 1e9 / count;
  };
  int wrong = 0;
  const double to_place = ns_each([&](std::size_t i) { places[i] = p.place(ranks[i]); });
  const double to_rank = ns_each([&](std::size_t i) { wrong += p.rank(places[i]) != ranks[i]; });
  std::printf("%zu bytes; rank to place %.0f ns, place to rank %.0f ns\n", p.bytes(), to_place, to_rank);
  EXPECT_EQ(wrong, 0);
  EXPECT_LT(to_place + to_rank, 20'000);
}

std::string refusal(const std::vector<NodeShape>& nodes) {
  try {
    const Placement placement(nodes);
    return "no error";
  } catch (const dcgn::Error& e) {
    EXPECT_EQ(e.code(), dcgn::Code::configuration);
    return e.what();
  }
}

TEST(Placement, RefusesShapesThatMakeNoSense) {
  EXPECT_NE(refusal({}).find("no nodes"), std::string::npos);
  EXPECT_NE(refusal({{.cpus = 0, .gpus = 0}}).find("has no rank"), std::string::npos);
  EXPECT_NE(refusal({{.cpus = -3}}).find("-3 CPU kernels"), std::string::npos);
  EXPECT_NE(refusal({{.gpus = 1, .slots = 0}}).find("0 slots a GPU has no rank"), std::string::npos);
  EXPECT_NE(refusal({{.cpus = 1, .slots = -1}}).find("-1 slots a GPU"), std::string::npos);
  EXPECT_NE(refusal({{.cpus = 1, .count = 0}}).find("0 nodes"), std::string::npos);
  EXPECT_NE(refusal({{.cpus = 1 << 20, .count = 1 << 20}}).find("more than 2147483647 ranks"), std::string::npos);
  EXPECT_NE(refusal({{.cpus = 0, .gpus = std::numeric_limits<int>::max(), .slots = 9}}).find("more than"),
            std::string::npos);
}

TEST(Placement, GpusMayHaveNoSlots) {
  const Placement placement({{.cpus = 2, .gpus = 3, .slots = 0}, {.cpus = 1, .gpus = 1, .slots = 2}});
  ASSERT_EQ(placement.size(), 5);
  EXPECT_EQ(to_string(placement.place(1)), "CPU 1, node 0");
  EXPECT_EQ(to_string(placement.place(2)), "CPU 0, node 1");
  EXPECT_EQ(to_string(placement.place(4)), "slot 1 of GPU 0, node 1");
  EXPECT_THROW(placement.rank({.node = 0, .device = 0, .slot = 0}), dcgn::Error);
  for (int r = 0; r < placement.size(); ++r) EXPECT_EQ(placement.rank(placement.place(r)), r);
}

TEST(Placement, NamesARankOrPlaceThatIsNotThere) {
  const Placement placement({{.cpus = 1, .gpus = 1, .slots = 2}});
  for (const int rank : {-1, 3}) try {
      placement.place(rank);
      FAIL();
    } catch (const dcgn::Error& e) {
      EXPECT_EQ(e.code(), dcgn::Code::invalid_rank);
      EXPECT_NE(std::string(e.what()).find("rank " + std::to_string(rank) + " is out of range, expected 0..2"),
                std::string::npos);
    }
  EXPECT_THROW(placement.rank({.node = 0, .device = 0, .slot = 2}), dcgn::Error);
  EXPECT_THROW(placement.rank({.node = 1, .cpu = 0}), dcgn::Error);
}

}  // namespace
