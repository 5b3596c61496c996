#include "apps/meeting/meeting.hpp"

namespace dcgn::apps {

namespace {

// A report that can be sent.
struct Figures {
  int rank;
  Place place;
  std::uint64_t sent_messages, sent_bytes, received_messages, received_bytes;
  double wait_s;
  std::uint64_t open_receives;
};

// How many processes a job has, by its nodes: those of one process are all here.
int processes_of(Job& job) {
  const Placement& placement = job.placement();
  const bool all_here = job.world().is_here(0) && job.world().is_here(placement.size() - 1);
  return all_here ? 1 : placement.nodes();
}

// There is one job at a time.
int end(Job&& job) {
  Job ended = std::move(job);
  return processes_of(ended);
}

}  // namespace

Meeting::Meeting(int processes) {
  if (processes == 1) return;
  Config config;
  config.nodes = {{.cpus = 1}};
  config.trace.clear();  // of the job that this is about
  here_.emplace(world_.emplace(config).attach());
}

Meeting::Meeting(Job&& ended) : Meeting(end(std::move(ended))) {}

std::vector<RankReport> Meeting::all_reports(const std::vector<RankReport>& mine) {
  if (!here_) return mine;
  std::vector<Figures> figures;
  figures.reserve(mine.size());
  for (const RankReport& r : mine)
    figures.push_back({r.rank, r.place, r.sent_messages, r.sent_bytes, r.received_messages, r.received_bytes, r.wait_s,
                       r.open_receives});
  std::vector<RankReport> all;
  for (const Figures& f : all_gather(std::move(figures)))
    all.push_back({f.rank,
                   f.place,
                   f.sent_messages,
                   f.sent_bytes,
                   f.received_messages,
                   f.received_bytes,
                   f.wait_s,
                   f.open_receives,
                   {},
                   {}});
  return all;
}

}  // namespace dcgn::apps
