// Where the processes of an application come together, each of them a rank: what ranks leave in the memory of several
// processes gets to process 0.
#pragma once

#include <dcgn/job.hpp>

#include <cstdint>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

namespace dcgn::apps {

// All processes make the same calls in the same order, while they have no other job. Where there is one process alone,
// it has all already, and no world is opened. Throws what World and its calls do.
class Meeting {
 public:
  explicit Meeting(int processes);
  // Of the processes of a job, which is over.
  explicit Meeting(Job&& ended);

  // What all processes have, one after the other, at process 0; nothing at the others.
  template <class T>
  std::vector<T> gather(std::vector<T> mine) {
    if (!here_) return mine;
    const auto processes = static_cast<std::size_t>(here_->size());
    std::vector<std::int64_t> counts(processes), displacements(processes);
    here_->all_gather(static_cast<std::int64_t>(mine.size()), counts);
    std::exclusive_scan(counts.begin(), counts.end(), displacements.begin(), std::int64_t{0});
    std::vector<T> all;
    if (here_->rank() == 0) all.resize(static_cast<std::size_t>(displacements.back() + counts.back()));
    here_->gatherv(mine, all, Span<const std::int64_t>(counts), Span<const std::int64_t>(displacements), 0);
    return all;
  }
  // What process 0 has, at all processes.
  template <class T>
  void broadcast(std::vector<T>& values) {
    if (!here_) return;
    auto count = static_cast<std::int64_t>(values.size());
    here_->broadcast(count, 0);
    values.resize(static_cast<std::size_t>(count));
    here_->broadcast(values, 0);
  }
  template <class T>
  std::vector<T> all_gather(std::vector<T> mine) {
    std::vector<T> all = gather(std::move(mine));
    broadcast(all);
    return all;
  }
  // Reports of all ranks, without RankReport::failure and slow, at all processes; `mine` are those of this one.
  std::vector<RankReport> all_reports(const std::vector<RankReport>& mine);

 private:
  std::optional<World> world_;
  std::optional<Comm> here_;
};

}  // namespace dcgn::apps
