// Calls of ImageComm beside Comm's: begun sends and receives, all-rank calls, memory on the other end, several
// processes.
#include "pixels/tests/support.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <optional>
#include <thread>

namespace dcgn::test::messages {
namespace {

using pixels::ImageRequest, pixels::Moved, pixels::Options, pixels::Path;

constexpr int width = 19, height = 12;

class PixelMessages : public PixelTest {};

std::vector<Options> all_options() {
  return {{.path = Path::copy}, {.path = Path::pinned}, {.path = Path::pinned, .tile_bytes = 200}};
}

TEST_F(PixelMessages, BegunSendsKeepTheirOrderAndWhatTheImageHeldThen) {
  for (const Options& options : all_options())
    in_ranks(2, [&](Comm& comm) {
      ImageComm images(comm, options);
      constexpr std::uint32_t frames = 5;
      std::vector<ImageRequest> requests;
      std::vector<std::unique_ptr<Texture>> textures;
      for (std::uint32_t f = 0; f < frames; ++f) {
        textures.push_back(std::make_unique<Texture>(rgba8(), width, height, f + (comm.rank() == 0 ? 1 : 100)));
        requests.push_back(comm.rank() == 0 ? images.isend(textures[f]->pixels(), 1)
                                            : images.irecv(textures[f]->pixels(), 0));
        if (comm.rank() == 0) {  // drawn over at once
          const PlainLayout layout;
          const Bytes other = random_bytes(rgba8(), width * height, 77);
          glBindTexture(GL_TEXTURE_2D, textures[f]->name());
          glTexSubImage2D(GL_TEXTURE_2D, 0, 0, 0, width, height, GL_RGBA, GL_UNSIGNED_BYTE, other.data());
        }
      }
      // The last one first, the first one by test().
      images.wait(requests.back());
      std::optional<Moved> moved;
      while (!(moved = images.test(requests.front()))) std::this_thread::yield();
      EXPECT_EQ(moved->bytes, width * height * 4);
      for (const ImageRequest& request : requests) images.wait(request);
      EXPECT_EQ(images.wait(requests[2]).bytes, 0);  // has been waited for
      if (comm.rank() == 0) return;
      for (std::uint32_t f = 0; f < frames; ++f)
        EXPECT_TRUE(textures[f]->read() == Texture(rgba8(), width, height, f + 1).read()) << f;
    });
}

// Both begin, then receive: a send that was begun leaves when its rank waits for something else.
TEST_F(PixelMessages, BothWaysAtOnce) {
  in_ranks(2, [&](Comm& comm) {
    ImageComm images(comm, {.path = Path::pinned});
    const auto peer = static_cast<std::uint32_t>(1 - comm.rank());
    const Texture out(rgba8(), 300, 300, 1 + peer), in(rgba8(), 300, 300, 9), expected(rgba8(), 300, 300, 2 - peer);
    const ImageRequest sent = images.isend(out.pixels(), static_cast<int>(peer), 3);
    EXPECT_EQ(images.recv(in.pixels(), any_source, any_tag).tag, 3);
    images.wait(sent);
    EXPECT_TRUE(in.read() == expected.read());
  });
}

// Of any source: the first tile says which one, though another's come between.
TEST_F(PixelMessages, TilesOfAMessageAreOfOneSource) {
  in_ranks(3, [&](Comm& comm) {
    ImageComm images(comm, {.tile_bytes = width * 4});  // a row
    const Texture texture(rgba8(), width, height, static_cast<std::uint32_t>(comm.rank() + 1));
    int go = 0;
    if (comm.rank() == 1) {
      comm.recv(go, 2);
      images.send(texture.pixels(), 0);
      comm.send(go, 2);
    } else if (comm.rank() == 2) {
      const Bytes rows = texture.read();
      const auto row = [&](int y) {
        return Span<const unsigned char>(rows.data() + static_cast<std::ptrdiff_t>(y) * width * 4, width * 4);
      };
      comm.ssend(row(0), 0);
      comm.send(go, 1);
      comm.recv(go, 1);
      for (int y = 1; y < height; ++y) comm.send(row(y), 0);
    } else {
      for (const int source : {2, 1}) {
        EXPECT_EQ(images.recv(texture.pixels(), any_source, any_tag).source, source);
        EXPECT_TRUE(texture.read() == Texture(rgba8(), width, height, static_cast<std::uint32_t>(source + 1)).read());
      }
    }
  });
}

// The other end is a rectangle of an image in memory, with canaries around it.
TEST_F(PixelMessages, MemoryWithADatatypeOnTheOtherEnd) {
  for (const Options& options : all_options()) {
    if (options.tile_bytes) continue;
    in_ranks(2, [&](Comm& comm) {
      ImageComm images(comm, options);
      const Rectangle r{2, 3, 9, 5};
      const Datatype rows = Datatype::subarray({20, 30 * 4}, {r.height, r.width * 4}, {6, 8 * 4}, Datatype::Order::c,
                                               Datatype::of<std::uint8_t>());
      const Texture from(rgba8(), width, height, 1), into(rgba8(), width, height, 2);
      const Bytes pixels = cut(from.read(), width, 4, r);
      if (comm.rank() == 0) {
        images.send(from.pixels(r), 1);
        const Bytes before = into.read();
        images.recv(into.pixels(r), 1);
        EXPECT_TRUE(into.read() == pasted(before, width, 4, r, pixels));
        return;
      }
      Bytes memory(20 * 30 * 4, 0xcd);
      comm.recv(TypedBuffer(memory, rows), 0);
      EXPECT_TRUE(memory == pasted(Bytes(memory.size(), 0xcd), 30, 4, {8, 6, r.width, r.height}, pixels));
      comm.send(ConstTypedBuffer(memory, rows), 0);
    });
  }
}

// Floats come as floats: whoever wants other elements is told.
TEST_F(PixelMessages, ElementsAreChecked) {
  Job job({.nodes = {{.cpus = 2}}});
  job.cpu([&](Comm& comm) {
    const pixels::Context context;
    ImageComm images(comm);
    const Texture texture(r32f(), width, height, 1);
    if (comm.rank() == 0) return static_cast<void>(images.send(texture.pixels(), 1));
    std::vector<int> memory(width * height * 2);
    comm.recv(TypedBuffer(memory, Datatype::vector(width * height, 1, 2, Datatype::of<int>())), 0);
  });
  try {
    job.run();
    FAIL() << "ints were received where floats were sent";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::mismatch) << error.what();
  }
}

TEST_F(PixelMessages, Broadcast) {
  for (const Options& options : all_options())
    in_ranks(3, [&](Comm& comm) {
      ImageComm images(comm, options);
      const Texture texture(rgba8(), width, height, static_cast<std::uint32_t>(comm.rank() + 1));
      const Bytes before = texture.read();
      const Rectangle r{1 + comm.rank(), 2, 10, 7};  // each has its own
      EXPECT_EQ(images.broadcast(texture.pixels(r), 1), options.path);
      const Bytes came = cut(Texture(rgba8(), width, height, 2).read(), width, 4, {2, 2, 10, 7});
      EXPECT_TRUE(texture.read() == pasted(before, width, 4, r, came));
    });
}

// Parts of a picture, each of its own size, become one.
TEST_F(PixelMessages, GatherPutsEachRanksPixelsWhereTheRootWantsThem) {
  for (const Options& options : all_options())
    in_ranks(3, [&](Comm& comm) {
      ImageComm images(comm, options);
      const auto mine = [](int rank) { return Rectangle{rank, 1, 3 + rank, 5 - rank}; };
      const auto place = [&](int rank) { return Rectangle{rank * 6, 7 - rank, mine(rank).width, mine(rank).height}; };
      const Texture texture(rgba8(), width, height, static_cast<std::uint32_t>(comm.rank() + 1));
      const Texture picture(rgba8(), width, height, 50);
      Bytes expected = picture.read();
      std::vector<Pixels> into;
      for (int r = 0; r < 3; ++r) {
        if (comm.rank() == 2) into.push_back(picture.pixels(place(r)));
        const Texture of_rank(rgba8(), width, height, static_cast<std::uint32_t>(r + 1));
        expected = pasted(expected, width, 4, place(r), cut(of_rank.read(), width, 4, mine(r)));
      }
      images.gather(texture.pixels(mine(comm.rank())), into, 2);
      if (comm.rank() == 2) {
        EXPECT_TRUE(picture.read() == expected);
      }
    });
}

template <class T>
std::vector<T> values_of(const Bytes& bytes) {
  std::vector<T> values(bytes.size() / sizeof(T));
  std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

template <class T, class Op>
void expect_reduced(const Kind& kind, const Op& op) {
  in_ranks(3, [&](Comm& comm) {
    ImageComm images(comm);
    std::vector<std::vector<T>> all;
    for (std::uint32_t rank = 0; rank < 3; ++rank)
      all.push_back(values_of<T>(Texture(kind, width, height, rank + 1).read()));
    std::vector<T> expected = all[0];
    for (std::size_t i = 0; i < expected.size(); ++i) expected[i] = op(op(all[0][i], all[1][i]), all[2][i]);
    const Texture texture(kind, width, height, static_cast<std::uint32_t>(comm.rank() + 1));
    const Texture result(kind, width, height, 40);
    const Bytes before = result.read();
    images.reduce(texture.pixels(), result.pixels(), op, 1);
    EXPECT_TRUE(comm.rank() == 1 ? values_of<T>(result.read()) == expected : result.read() == before) << kind.name;
    images.all_reduce(texture.pixels(), op);
    EXPECT_TRUE(values_of<T>(texture.read()) == expected) << kind.name;
  });
}

TEST_F(PixelMessages, ReductionsCombineComponents) {
  expect_reduced<std::uint8_t>(rgba8(), Sum{});  // wraps around
  expect_reduced<std::uint8_t>(rgba8(), Max{});
  expect_reduced<std::uint8_t>(rgba8(), BitXor{});
  expect_reduced<float>({"R32F", GL_R32F, GL_RED, GL_FLOAT, 4, 4, 0x3f7fffff}, Min{});
  expect_reduced<float>({"R32F of small numbers", GL_R32F, GL_RED, GL_FLOAT, 4, 4, 0x3f700000}, Max{});
  expect_reduced<std::int16_t>({"RGBA16I", GL_RGBA16I, GL_RGBA_INTEGER, GL_SHORT, 8}, Min{});
  expect_reduced<std::uint32_t>({"R32UI", GL_R32UI, GL_RED_INTEGER, GL_UNSIGNED_INT, 4}, Sum{});
}

TEST_F(PixelMessages, CompositeKeepsWhatIsNearest) {
  in_ranks(3, [&](Comm& comm) {
    ImageComm images(comm);
    const Kind depth_kind{"DEPTH32F", GL_DEPTH_COMPONENT32F, GL_DEPTH_COMPONENT, GL_FLOAT, 4, 4, 0x3f700000};
    std::vector<std::uint32_t> colors;
    std::vector<float> depths;
    for (std::uint32_t rank = 0; rank < 3; ++rank) {
      const auto color = values_of<std::uint32_t>(Texture(rgba8(), width, height, rank + 1).read());
      const auto depth = values_of<float>(Texture(depth_kind, width, height, rank + 1).read());
      if (rank == 0) {
        colors = color;
        depths = depth;
      }
      for (std::size_t i = 0; i < colors.size(); ++i)
        if (depth[i] < depths[i]) {
          depths[i] = depth[i];
          colors[i] = color[i];
        }
    }
    const auto seed = static_cast<std::uint32_t>(comm.rank() + 1);
    const Texture color(rgba8(), width, height, seed), depth(depth_kind, width, height, seed);
    images.composite(color.image(), depth.image(), {0, 0, width, height}, 2);
    if (comm.rank() != 2) return;
    EXPECT_TRUE(values_of<std::uint32_t>(color.read()) == colors);
    EXPECT_TRUE(values_of<float>(depth.read()) == depths);
  });
}

// Run by a launcher, too: the ranks are spread over its processes then.
TEST_F(PixelMessages, AroundARingOverProcesses) {
  for (const Options& options : all_options())
    for (const int side : {5, 700})
      in_ranks(2 * processes(), [&](Comm& comm) {
        ImageComm images(comm, options);
        int here = 0;
        for (int r = 0; r < comm.size(); ++r) here += comm.is_here(r);
        EXPECT_EQ(here, 2);
        const int next = (comm.rank() + 1) % comm.size(), before = (comm.rank() + comm.size() - 1) % comm.size();
        if (options.tile_bytes && side > 5) return;  // so many messages say nothing new
        const Texture out(rgba8(), side, side, static_cast<std::uint32_t>(comm.rank() + 1)),
            in(rgba8(), side, side, 99);
        const ImageRequest sent = images.isend(out.pixels(), next);
        images.recv(in.pixels(), before);
        images.wait(sent);
        EXPECT_TRUE(in.read() == Texture(rgba8(), side, side, static_cast<std::uint32_t>(before + 1)).read());
        images.broadcast(out.pixels(), 0);
        EXPECT_TRUE(out.read() == Texture(rgba8(), side, side, 1).read());
      });
}

}  // namespace
}  // namespace dcgn::test::messages
