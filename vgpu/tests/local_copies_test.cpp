// Copies that are made by themselves of buffers that launches only read: when, of what, and what each part is given.
#include "vgpu/src/gpu.hpp"
#include "vgpu/src/split_launch.hpp"

#include "corpus.hpp"

#include <dcgn/virtual_gpu.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <memory>
#include <numeric>
#include <optional>
#include <vector>

using namespace dcgn;
using namespace dcgn::virtual_gpu;

namespace {

class LocalCopiesOfEmulated : public testing::Test {
 protected:
  static constexpr int parts = 3;
  static constexpr std::size_t words = 5000;  // of a buffer, in which there are several pages

  void SetUp() override {
    if (Device::count() < 1 || Device(0).kind() != DeviceKind::emulated) GTEST_SKIP() << "GPUs here are real";
    std::vector<Device> devices;
    devices.reserve(parts);
    for (int part = 0; part < parts; ++part) devices.emplace_back(part % Device::count());
    gpu_ = std::make_shared<Gpu>(devices, Options{});
    streams_ = gpu_->machine().make_parts();
    gpu_->enlist(*streams_);
    read_ = make_buffer(7);
    other_ = make_buffer(1000);
  }
  void TearDown() override {
    if (streams_) gpu_->strike(*streams_);
  }

  std::uint32_t* make_buffer(std::uint32_t first) {
    auto* buffer = static_cast<std::uint32_t*>(gpu_->allocate(4 * words, {}));
    fill(buffer, first);
    return buffer;
  }
  void fill(std::uint32_t* buffer, std::uint32_t first) {
    std::vector<std::uint32_t> content(words);
    std::iota(content.begin(), content.end(), first);
    gpu_->copy(gpu_->own_stream(), buffer, content.data(), 4 * words);
    gpu_->own_stream().synchronize();
  }

  // A launch of a kernel with two pointers, of which it uses the first, and the second where it is said how. Returns
  // what each part is given for the first.
  static constexpr ptx::PointerUse gather{0, true, true, 0}, write{0, false, false, 0};
  std::vector<const std::uint32_t*> launch(const std::uint32_t* first, const std::uint32_t* second,
                                           ptx::PointerUse of_first, std::optional<ptx::PointerUse> of_second = {},
                                           bool elsewhere = false) {
    ptx::MemoryUse memory{elsewhere, {of_first}};
    if (of_second) memory.pointers.push_back({8, of_second->only_read, of_second->anywhere, of_second->dimensions});
    const KernelInfo kernel{"k", {{"first", 0, 8, 8}, {"second", 8, 8, 8}}, {}, {}};
    const std::vector<Argument> arguments{argument_of(first), argument_of(second)};
    const auto local = gpu_->look_at_memory(*streams_, {.grid = 30, .block = 32}, kernel, memory, arguments, true);
    streams_->synchronize();
    std::vector<const std::uint32_t*> given;
    for (int part = 0; part < parts; ++part) {
      const PartArguments of_part(*gpu_, arguments, local, part);
      std::memcpy(&given.emplace_back(), of_part.places[0], sizeof(void*));
    }
    return given;
  }
  // Whether each part was given a copy of its own, with this content.
  static bool are_copies(const std::vector<const std::uint32_t*>& given, const std::uint32_t* buffer,
                         std::uint32_t first) {
    for (std::size_t part = 0; part < given.size(); ++part) {
      if (given[part] == buffer || (part > 0 && given[part] == given[part - 1])) return false;
      for (std::size_t w = 0; w < words; ++w)
        if (given[part][w] != first + w) return false;
    }
    return true;
  }
  static bool is_buffer(const std::vector<const std::uint32_t*>& given, const std::uint32_t* buffer) {
    return given == std::vector<const std::uint32_t*>(parts, buffer);
  }

  std::shared_ptr<Gpu> gpu_;
  std::unique_ptr<Parts> streams_;
  std::uint32_t *read_ = nullptr, *other_ = nullptr;
};

}  // namespace

TEST_F(LocalCopiesOfEmulated, are_made_for_the_second_launch_that_reads_a_buffer_everywhere) {
  EXPECT_TRUE(is_buffer(launch(read_, other_, gather), read_));
  EXPECT_EQ(gpu_->statistics.copies, 0u);
  EXPECT_TRUE(are_copies(launch(read_, other_, gather), read_, 7));
  EXPECT_TRUE(are_copies(launch(read_, other_, gather), read_, 7));
  EXPECT_EQ(gpu_->statistics.copies, 1u);
  // Each part has a third of five pages itself, two, one and two, of the last of which 3,616 bytes are the buffer's.
  EXPECT_EQ(gpu_->statistics.copied_bytes, 3 * 4 * words - (2 + 1 + 1) * gpu_->machine().page_bytes() - 3616);
  // A pointer into the buffer leads to the same place of the copy.
  const auto inside = launch(read_ + 100, other_, gather);
  EXPECT_EQ(*inside[1], 107u);
  // What stays with its blocks has no use for copies.
  const ptx::PointerUse local{0, true, false, 1};
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(is_buffer(launch(other_, read_, local), other_));
}

TEST_F(LocalCopiesOfEmulated, follow_what_is_written) {
  const auto make = [&](std::uint32_t first) {
    for (int i = 0; i < 64 && !are_copies(launch(read_, other_, gather), read_, first); ++i) {
    }
    return are_copies(launch(read_, other_, gather), read_, first);
  };
  ASSERT_TRUE(make(7));
  // By a copy to it.
  fill(read_, 50);
  EXPECT_TRUE(is_buffer(launch(read_, other_, gather), read_));
  EXPECT_TRUE(make(50));
  // By a launch, also one that is given the same buffer twice; and by one that may write anywhere.
  launch(other_, read_, gather, write);
  EXPECT_TRUE(is_buffer(launch(read_, other_, gather), read_));
  ASSERT_TRUE(make(50));
  for (int i = 0; i < 70; ++i) EXPECT_TRUE(is_buffer(launch(read_, read_, gather, write), read_));
  ASSERT_TRUE(make(50));
  EXPECT_TRUE(is_buffer(launch(read_, other_, gather, {}, true), read_));
  EXPECT_TRUE(is_buffer(launch(read_, other_, gather), read_));
  ASSERT_TRUE(make(50));
  // By filling it.
  gpu_->fill(gpu_->own_stream(), read_, 0, 4 * words);
  EXPECT_TRUE(is_buffer(launch(read_, other_, gather), read_));
}

// Pointers that do not point to what they lead to.
TEST_F(LocalCopiesOfEmulated, are_of_the_buffer_that_an_address_at_its_edge_means) {
  const auto* const end = reinterpret_cast<const std::uint32_t*>(reinterpret_cast<const std::byte*>(read_) +
                                                                 5 * gpu_->machine().page_bytes());
  launch(end, other_, gather);
  const auto given = launch(end, other_, gather);
  EXPECT_NE(given[1], end);
  EXPECT_EQ(*(given[1] - (end - read_)), 7u);
  // Written from one before it, as who counts from 1 may.
  launch(other_, read_ - 1, gather, write);
  EXPECT_TRUE(is_buffer(launch(read_, other_, gather), read_));
  for (int i = 0; i < 3; ++i) launch(read_, other_, gather);
  EXPECT_FALSE(is_buffer(launch(read_, other_, gather), read_));
  launch(other_, end, gather, write);
  EXPECT_TRUE(is_buffer(launch(read_, other_, gather), read_));
}

TEST_F(LocalCopiesOfEmulated, are_of_no_buffer_that_a_packed_struct_points_to) {
  struct Packed {
    char bytes[12];
  } packed{};
  std::memcpy(packed.bytes + 4, &read_, sizeof read_);
  const KernelInfo kernel{"k", {{"packed", 0, 12, 1}, {"pointer", 16, 8, 8}}, {}, {}};
  const ptx::MemoryUse memory{false, {{0, false, false, 0}, {8, false, false, 0}, {16, true, true, 0}}};
  const std::vector<Argument> arguments{argument_of(packed), argument_of(read_)};
  for (int i = 0; i < 5; ++i)
    EXPECT_TRUE(gpu_->look_at_memory(*streams_, {.grid = 3, .block = 32}, kernel, memory, arguments, true).empty());
}

TEST_F(LocalCopiesOfEmulated, are_made_later_where_they_did_not_pay) {
  std::vector<int> needed;
  for (int round = 0; round < 8; ++round) {
    launch(other_, read_, gather, write);
    int launches = 1;
    while (is_buffer(launch(read_, other_, gather), read_)) ++launches;
    needed.push_back(launches);
  }
  EXPECT_EQ(needed, (std::vector<int>{2, 4, 8, 16, 32, 64, 64, 64}));
  // Read often enough, they are made at once again.
  for (int i = 0; i < 10; ++i) launch(read_, other_, gather);
  launch(other_, read_, gather, write);
  launch(read_, other_, gather);
  EXPECT_FALSE(is_buffer(launch(read_, other_, gather), read_));
}

TEST_F(LocalCopiesOfEmulated, stay_within_their_share_and_give_way) {
  gpu_->options.copies = 0;
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(is_buffer(launch(read_, other_, gather), read_));
  // Room for one buffer's, not for two.
  const double pages = 1.5 * 5 * static_cast<double>(gpu_->machine().page_bytes());
  gpu_->options.copies = pages / static_cast<double>(gpu_->device(0).properties().memory_bytes);
  launch(read_, other_, gather);
  EXPECT_TRUE(are_copies(launch(read_, other_, gather), read_, 7));
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(is_buffer(launch(other_, read_, gather), other_));
  // Those of a buffer that is no more take none.
  gpu_->free(read_);
  read_ = make_buffer(9);
  launch(read_, other_, gather);
  EXPECT_TRUE(are_copies(launch(read_, other_, gather), read_, 9));
  // Where its pages lie makes no difference, but that of a replicated buffer there are copies already.
  gpu_->place(read_, Placement::interleaved());
  launch(read_, other_, gather);
  EXPECT_TRUE(are_copies(launch(read_, other_, gather), read_, 9));
  gpu_->place(read_, Placement::replicated());
  EXPECT_EQ(launch(read_, other_, gather)[0], read_);
  gpu_->place(read_, Placement::owner(2));
  gpu_->keep_single(read_);
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(is_buffer(launch(read_, other_, gather), read_));
}
