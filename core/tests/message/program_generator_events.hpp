// First half of the generator: shapes, settings, and which message goes when. Included by program_generator.hpp alone.
#pragma once

namespace dcgn::test {

inline void ProgramGenerator::choose_shape() {
  int total = 0;
  std::vector<NodeShape> nodes;
  const int wanted_gpus = random_.percent(15) ? 0 : random_.between(1, std::max(1, most_gpus_));
  const int gpus = std::min(wanted_gpus, most_gpus_);
  const bool split = gpus >= 2 && random_.percent(25);  // two nodes in one process
  const auto node = [&](int node_gpus) {
    NodeShape s;
    s.gpus = node_gpus;
    s.slots = random_.between(1, 4);
    s.cpus = random_.between(node_gpus ? 0 : 2, node_gpus ? 3 : 6);
    nodes.push_back(s);
    total += s.cpus + s.gpus * s.slots;
  };
  do {
    nodes.clear();
    total = 0;
    if (processes_ > 1) {
      for (int i = 0; i < processes_; ++i) {
        node(random_.percent(50) ? std::min(1, most_gpus_) : 0);
        nodes.back().cpus = std::min(nodes.back().cpus, 2);
        nodes.back().slots = std::min(nodes.back().slots, 2);
      }
      total = 0;
      for (const NodeShape& s : nodes) total += s.cpus + s.gpus * s.slots;
    } else if (split) {
      node(1);
      node(gpus - 1);
    } else {
      node(gpus);
    }
  } while (total < 2 || total > 12);
  p_.config.nodes = nodes;
  for (const NodeShape& s : nodes) {
    for (int c = 0; c < s.cpus; ++c) {
      cpu_.push_back(true);
      gpu_of_.push_back(-1);
    }
    for (int g = 0; g < s.gpus; ++g) {
      const int gpu = static_cast<int>(p_.block.size());
      p_.block.push_back(random_.pick({1u, 32u, 33u, 64u, 128u}));
      p_.blocks.push_back(random_.pick({1u, 2u, 2u, 3u}));
      for (int i = 0; i < s.slots; ++i) {
        cpu_.push_back(false);
        gpu_of_.push_back(gpu);
      }
    }
  }
  p_.ranks.resize(cpu_.size());
  for (RankProgram& r : p_.ranks)
    r.scope = random_.pick({ScopeKind::thread, ScopeKind::warp, ScopeKind::block, ScopeKind::blocks});
}

inline void ProgramGenerator::choose_config() {
  Config& c = p_.config;
  c.eager_bytes = random_.pick<std::uint64_t>({0, 12, 64, 100, 1000, 4096, 4096, 65536});
  c.lane_bytes = random_.pick<std::uint64_t>({256, 256, 512, 1024, 4096, 16384, 0});
  c.direct = random_.percent(50);
  Random own(p_.seed ^ 0x5eed);  // of these, so that the rest of a seed's program stays what it was
  c.p2p = own.percent(75);
  c.copy_engine_bytes = own.pick<std::optional<std::uint64_t>>({{}, Config::never_copied, 0, 0, 700, 20000});
  c.place_threads = own.pick({0u, 1u, 33u, 64u});
  c.seed.reset();
  const std::uint64_t fifo =
      c.lane_bytes ? c.lane_bytes
                   : std::min<std::uint64_t>(16384, (4u << 20) / static_cast<unsigned>(ranks()) / 16 * 16);
  std::uint64_t packets = 1;
  while (2 * packets <= fifo / 16) packets *= 2;
  piece_ = static_cast<std::int64_t>(packets / 2 - 1) * 12;
  eager_limit_ = std::min(piece_, static_cast<std::int64_t>(*c.eager_bytes));
  // FIFOs from and to slots are longer where their length is the library's choice.
  const auto of_slots = static_cast<std::int64_t>((4u << 20) / static_cast<unsigned>(ranks()) / 16 * 6);
  longest_eager_ = std::min(c.lane_bytes ? piece_ : of_slots, static_cast<std::int64_t>(*c.eager_bytes));
  // Staged messages go through the FIFO a piece at a time, so with small FIFOs they may not be large.
  largest_ = random_.percent(12) ? 4 << 20 : random_.percent(50) ? 64 << 10 : 5000;
  if (!c.direct || most_gpus_ > 0) largest_ = std::min(largest_, piece_ * (c.direct && c.p2p ? 2000 : 500));
  budget_ = random_.percent(20) ? 24 << 20 : 3 << 20;
}

inline std::int64_t ProgramGenerator::random_bytes() {
  std::int64_t bytes = 0;
  const auto e = static_cast<std::int64_t>(*p_.config.eager_bytes);
  switch (random_.below(8)) {
    case 0:
    case 1: bytes = random_.pick<std::int64_t>({0, 1, 7, 8, 9, 11, 12, 13, 24, 25}); break;
    case 2: bytes = std::max<std::int64_t>(0, random_.pick({e, eager_limit_}) + random_.between(-1, 1)); break;
    case 3:
      bytes = std::max<std::int64_t>(0, random_.pick({piece_, 2 * piece_, 2 * piece_ + 24}) + random_.between(-1, 1));
      break;
    case 4:
    case 5: bytes = random_.below(std::int64_t{65}); break;
    case 6: bytes = random_.below(std::int64_t{4097}); break;
    case 7: bytes = largest_ - (random_.percent(20) ? 0 : random_.below(largest_)); break;
  }
  bytes = std::min(bytes, largest_);
  if (bytes > budget_) bytes = random_.below(std::int64_t{65});
  budget_ -= bytes;
  return bytes;
}

inline int ProgramGenerator::make_message(int event, int src, int dst, int tag, int group) {
  Message m{.src = src, .dst = dst, .tag = tag, .bytes = random_bytes(), .group = group};
  m.sequence = sequences_[{src, dst}]++;
  m.event = m.send_at = m.receive_at = event;
  const int id = static_cast<int>(p_.messages.size());
  p_.messages.push_back(m);
  if (group >= 0) {
    p_.groups[static_cast<std::size_t>(group)].push_back(id);
    group_end_[static_cast<std::size_t>(group)] = event;
  }
  Plan plan;
  plan.message = id;
  plan.capacity = m.bytes;
  plans_.push_back(plan);
  return static_cast<int>(plans_.size()) - 1;
}

inline void ProgramGenerator::make_ring(int event, const std::vector<int>& tags) {
  std::vector<int> members(static_cast<std::size_t>(ranks()));
  for (int r = 0; r < ranks(); ++r) members[static_cast<std::size_t>(r)] = r;
  random_.shuffle(members);
  members.resize(static_cast<std::size_t>(random_.between(1, std::min(4, ranks()))));
  Ring ring;
  ring.event = event;
  for (std::size_t i = 0; i < members.size(); ++i) {
    const int plan = make_message(event, members[i], members[(i + 1) % members.size()], random_.pick(tags), -1);
    plans_[static_cast<std::size_t>(plan)].ring = static_cast<int>(rings_.size());
    ring.plans.push_back(plan);
    ring.modes.push_back(random_.below(4));
  }
  rings_.push_back(ring);
}

inline void ProgramGenerator::make_phase(int event) {
  Phase phase;
  phase.first = event;
  const std::size_t first_plan = plans_.size();
  std::vector<int> tags = {0, 1, 2, 7, 65535, 65536, 70000, max_tag};
  random_.shuffle(tags);
  tags.resize(3);
  // Who receives with any_source and any_tag, by group; -1: nobody.
  std::vector<int> open(static_cast<std::size_t>(ranks()), -1);
  const auto new_group = [&] {
    p_.groups.emplace_back();
    group_end_.push_back(event);
    return static_cast<int>(p_.groups.size()) - 1;
  };
  const bool has_open = random_.percent(20);
  if (has_open)
    for (int& group : open)
      if (random_.percent(40)) group = new_group();
  phase.ends_with_barrier = has_open;
  // Groups with a tag of their own: by receiver, group and tag.
  std::vector<std::tuple<int, int, int>> wild;
  for (int i = random_.below(3); i > 0; --i) {
    const int group = new_group();
    wild.emplace_back(random_.below(ranks()), group, (random_.percent(50) ? 1000 : 100000) + group);
  }
  std::vector<bool> any_tag(static_cast<std::size_t>(ranks() * ranks()));
  for (auto&& flag : any_tag) flag = random_.percent(15);

  for (int i = random_.percent(30) ? random_.between(30, 60) : random_.between(3, 16); i > 0; --i, ++event) {
    if (!has_open && random_.percent(10)) {
      make_ring(event, tags);
    } else if (random_.percent(7)) {
      Collective c;
      c.event = event;
      if (random_.percent(60)) {
        c.broadcast = static_cast<int>(p_.broadcasts.size());
        p_.broadcasts.push_back({random_.below(ranks()), random_bytes(), {}});
      }
      collectives_.push_back(c);
    } else {
      const int src = random_.below(ranks());
      int dst = random_.percent(8) ? src : random_.below(ranks());
      int group = -1;
      int tag = random_.pick(tags);
      if (!wild.empty() && random_.percent(50)) std::tie(dst, group, tag) = random_.pick(wild);
      const bool one_source = any_tag[static_cast<std::size_t>(src * ranks() + dst)];
      if (open[static_cast<std::size_t>(dst)] >= 0) {
        group = open[static_cast<std::size_t>(dst)];
      } else if (one_source && group >= 0) {
        group = -1;
        tag = random_.pick(tags);
      }
      const int plan = make_message(event, src, dst, tag, group);
      plans_[static_cast<std::size_t>(plan)].any_tag =
          open[static_cast<std::size_t>(dst)] >= 0 || (group < 0 && one_source && random_.percent(70));
    }
  }
  phase.last = event - 1;
  if (has_open) {
    collectives_.push_back({event, -1});
    phase.last = event;
  }
  for (std::size_t i = first_plan; i < plans_.size(); ++i)
    if (plans_[i].ring < 0) choose_sides(plans_[i], phase);
  phases_.push_back(phase);
}

// How each side goes about a message: see the top of program_generator.hpp for what is allowed.
inline void ProgramGenerator::choose_sides(Plan& plan, const Phase& phase) {
  Message& m = message_of(plan);
  const int last = phase.ends_with_barrier ? phase.last - 1 : phase.last;
  const auto later = [&](int event) {
    const int limit = std::max(event, last);
    return random_.percent(40) ? limit : random_.percent(40) ? event : random_.between(event, limit);
  };
  const auto earlier = [&](int event) { return random_.percent(40) ? random_.between(phase.first, event) : event; };
  const bool grouped = m.group >= 0;

  const int r = random_.below(100);
  plan.receive = r < 40 ? Side::request : r < 80 ? Side::blocking : r < 90 ? Side::probing : Side::iprobing;
  if (!grouped && m.bytes > 0 && random_.percent(8)) {
    plan.capacity = random_.below(m.bytes);
    plan.receive = plan.receive == Side::request ? Side::request : Side::blocking;
  } else if (random_.percent(20)) {
    plan.capacity += random_.below(100);
  }
  if (plan.receive == Side::request) {
    if (!grouped) m.receive_at = earlier(m.event);
    plan.receive_done = later(m.event);
  }

  const int end = grouped ? group_end_[static_cast<std::size_t>(m.group)] : m.event;
  const bool may_block =
      (!grouped || m.event == end) && (m.src != m.dst || (!grouped && plan.receive == Side::request));
  const int s = random_.below(100);
  if (s < 15 && m.bytes <= most_buffered) {
    plan.send = Side::buffered;
  } else if (may_block && s < 60) {
    plan.send = Side::blocking;
    plan.synchronous = random_.percent(25);
  } else {
    plan.send = Side::request;
    m.send_at = earlier(m.event);
    plan.send_done = later(end);
  }
}

// Room for any message of its group, whichever a receive gets.
inline void ProgramGenerator::finish_groups() {
  for (Plan& plan : plans_) {
    const Message& m = message_of(plan);
    if (m.group < 0) continue;
    for (const int other : p_.groups[static_cast<std::size_t>(m.group)])
      plan.capacity = std::max(plan.capacity, p_.messages[static_cast<std::size_t>(other)].bytes);
  }
}

inline Program ProgramGenerator::generate() {
  choose_shape();
  choose_config();
  const int phases = random_.between(1, 4);
  for (int i = 0; i < phases; ++i) make_phase(phases_.empty() ? 0 : phases_.back().last + 1);
  finish_groups();
  for (std::size_t gpu = 0; gpu < p_.block.size(); ++gpu)
    cut_after_.push_back(phases > 1 && random_.percent(40) ? random_.below(phases - 1) : -1);
  const Random at_start = random_;
  do {
    random_ = at_start;
    emit();
  } while (!matching_is_as_meant());
  finish_config();
  count_coverage();
  return std::move(p_);
}

}  // namespace dcgn::test
