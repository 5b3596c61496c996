// Collectives with datatypes.
#include "type_tree.hpp"
#include "typed_job.hpp"

#include <dcgn/dcgn.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace dcgn::test {
namespace {

// Takes part in a split, as the one without a color.
struct StandAside {
  DCGN_HOST_DEVICE void operator()(gpu::Context& ctx, gpu::Comm comm) const {
    static_cast<void>(comm.slot(ctx.block_rank()).split(gpu::this_block(ctx), -1, 0));
  }
};

TEST(TypedCollectives, MoveColumns) {
  constexpr int ranks = 3;
  for (const int where : devices())
    run(
        with_gpus(ranks),
        [&](Comm& me) {
          constexpr std::int64_t rows = 700, columns = 6;
          Comm cpus = me.split(0, 0);
          const auto n = static_cast<std::size_t>(rows * columns);
          const auto at = [](std::int64_t row, std::int64_t c) { return static_cast<std::size_t>(row * columns + c); };
          const auto matrix_of = [&](int rank) {
            std::vector<double> m(n);
            for (std::size_t i = 0; i < n; ++i) m[i] = rank * 1e5 + static_cast<double>(i);
            return m;
          };
          const auto as_bytes = [](const std::vector<double>& m) {
            const auto* const p = reinterpret_cast<const std::byte*>(m.data());
            return Bytes(p, p + m.size() * sizeof(double));
          };
          const std::vector<double> mine = matrix_of(me.rank()), nothing(n, -1);
          Placed in(where, as_bytes(mine)), out(where, as_bytes(nothing));
          const auto from = [&](std::int64_t c, std::int64_t count = 1) {
            return ConstTypedBuffer(in.data() + 8 * c, Datatype::resized(column(rows, columns), 0, 8), count);
          };
          const auto into = [&](std::int64_t c, std::int64_t count = 1) {
            return TypedBuffer(out.data() + 8 * c, Datatype::resized(column(rows, columns), 0, 8), count);
          };
          const auto expect = [&](const char* what, const auto& value) {
            std::vector<double> expected = nothing;
            for (std::int64_t row = 0; row < rows; ++row)
              for (std::int64_t c = 0; c < columns; ++c)
                if (const std::optional<double> v = value(row, c)) expected[at(row, c)] = *v;
            EXPECT_TRUE(out.get() == as_bytes(expected)) << what << " " << where;
            Placed fresh(where, as_bytes(nothing));
            out = std::move(fresh);
          };
          using Value = std::optional<double>;
          const auto of = [&](std::int64_t rank, std::int64_t row, std::int64_t c) {
            return Value(static_cast<double>(rank) * 1e5 + static_cast<double>(at(row, c)));
          };

          if (me.rank() == 1)
            me.wait(cpus.ibroadcast(TypedBuffer(in.data() + 16, column(rows, columns)), 1));
          else
            cpus.broadcast(into(2), 1);
          if (me.rank() != 1) expect("broadcast", [&](auto row, auto c) { return c == 2 ? of(1, row, 2) : Value(); });

          cpus.gather(from(4), into(0, me.rank() == 2 ? ranks : 0), 2);
          if (me.rank() == 2) expect("gather", [&](auto row, auto c) { return c < ranks ? of(c, row, 4) : Value(); });

          cpus.scatter(from(0, me.rank() == 0 ? ranks : 0), into(5), 0);
          expect("scatter", [&](auto row, auto c) { return c == 5 ? of(0, row, me.rank()) : Value(); });

          cpus.wait(cpus.iall_gather(from(1), into(3, ranks)));
          expect("all_gather", [&](auto row, auto c) { return c >= 3 ? of(c - 3, row, 1) : Value(); });

          cpus.all_to_all(from(0, ranks), into(2, ranks));
          expect("all_to_all",
                 [&](auto row, auto c) { return c >= 2 && c < 2 + ranks ? of(c - 2, row, me.rank()) : Value(); });

          std::vector<ConstTypedBuffer> to_each;
          std::vector<TypedBuffer> from_each;
          for (int r = 0; r < ranks; ++r) {  // to rank r: its column of me.rank() rows fewer
            to_each.emplace_back(in.data() + 8 * r, column(rows - me.rank(), columns));
            from_each.emplace_back(out.data() + 8 * r, column(rows - r, columns));
          }
          cpus.all_to_allw(to_each, from_each);
          expect("all_to_allw",
                 [&](auto row, auto c) { return c < ranks && row < rows - c ? of(c, row, me.rank()) : Value(); });

          cpus.all_reduce<double>(from(1), into(0), Sum{});
          expect("all_reduce",
                 [&](auto row, auto c) { return c == 0 ? Value(3e5 + 3 * static_cast<double>(at(row, 1))) : Value(); });
          expect_error(Code::mismatch, "float64", [&] { cpus.all_reduce<float>(from(1), into(0), Sum{}); });
        },
        StandAside{});
}

// Where there is only one rank to send, its type may have a byte twice.
TEST(TypedCollectives, ABroadcastOfTheSameElement) {
  run(with_gpus(2, 60, 0), [](Comm& me) {
    std::vector<double> values(5, me.rank());
    const Datatype same = Datatype::hvector(5, 1, 0, Datatype::of<double>());
    if (me.rank() == 1)
      me.broadcast(TypedBuffer(values, same), 1);
    else
      me.broadcast(TypedBuffer(values, Datatype::of<double>(), 5), 1);
    EXPECT_EQ(values, std::vector<double>(5, 1));
  });
}

}  // namespace
}  // namespace dcgn::test
