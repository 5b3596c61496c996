#include "core/bench/ablation.hpp"

#include "bench/statistics.hpp"

#include <algorithm>

namespace dcgn::bench {

namespace {

// The one with the median time, and the wrong bytes of all.
Row median_of(std::vector<Row> rows) {
  std::uint64_t wrong = 0;
  for (const Row& row : rows) wrong += row.wrong;
  const auto middle = rows.begin() + static_cast<std::ptrdiff_t>((rows.size() - 1) / 2);
  std::nth_element(rows.begin(), middle, rows.end(), [](const Row& a, const Row& b) { return a.p50_us < b.p50_us; });
  middle->wrong = wrong;
  return *middle;
}

}  // namespace

std::vector<Effect> ablate(Measurement measure, const Workload& work, const std::vector<Idea>& ideas, int repetitions) {
  std::vector<Row> with;
  std::vector<std::vector<Row>> without(ideas.size());
  std::vector<std::vector<double>> factors(ideas.size());
  for (int repetition = 0; repetition < repetitions; ++repetition) {
    with.push_back(measure(work));
    for (std::size_t i = 0; i < ideas.size(); ++i) {
      const std::size_t which = repetition % 2 ? ideas.size() - 1 - i : i;
      Workload less = work;
      less.without = ideas[which];
      without[which].push_back(measure(less));
    }
    with.push_back(measure(work));
    const double before = with.end()[-2].p50_us, after = with.end()[-1].p50_us;
    for (std::size_t i = 0; i < ideas.size(); ++i) {
      const std::size_t place = repetition % 2 ? ideas.size() - i : i + 1;
      const double share = static_cast<double>(place) / static_cast<double>(ideas.size() + 1);
      factors[i].push_back(without[i].back().p50_us / (before + share * (after - before)));
    }
  }
  std::vector<Effect> effects;
  for (std::size_t i = 0; i < ideas.size(); ++i)
    effects.push_back({median_of(with), median_of(without[i]), percentile(factors[i], 50), percentile(factors[i], 0),
                       percentile(factors[i], 100)});
  return effects;
}

}  // namespace dcgn::bench
