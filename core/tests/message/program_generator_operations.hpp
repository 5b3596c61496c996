// Second half of the generator: from messages to the operations of each rank. Included by program_generator.hpp alone.
#pragma once

namespace dcgn::test {

// Regions have odd distances, so that most are misaligned and all have bytes between them that must not change.
inline std::int64_t ProgramGenerator::take_memory(int rank, std::int64_t bytes) {
  RankProgram& r = rank_of(rank);
  const std::int64_t offset = random_.percent(30) ? (r.memory + 31) / 16 * 16 : r.memory + random_.between(1, 20);
  r.memory = offset + bytes;
  return offset;
}

inline int ProgramGenerator::new_request(int rank, int result, int begun, int done, bool in_wait_any) {
  std::vector<std::int32_t>& all = rank_of(rank).request_results;
  all.push_back(result);
  const int request = static_cast<int>(all.size()) - 1;
  pending_[static_cast<std::size_t>(rank)].push_back({request, begun, done, in_wait_any});
  return request;
}

inline int ProgramGenerator::new_result(const Plan& plan, std::int64_t offset, std::int64_t capacity) {
  const Message& m = message_of(plan);
  std::vector<Receive>& all = rank_of(m.dst).receives;
  all.push_back({m.group < 0 ? plan.message : -1, m.group, offset, capacity});
  return static_cast<int>(all.size()) - 1;
}

inline void ProgramGenerator::emit_send(const Plan& plan) {
  const Message& m = message_of(plan);
  Op op{.peer = m.dst, .tag = m.tag, .offset = take_memory(m.src, m.bytes), .bytes = m.bytes};
  p_.sent_from[static_cast<std::size_t>(plan.message)] = op.offset;
  if (plan.send == Side::blocking) {
    op.kind = plan.synchronous ? OpKind::ssend : OpKind::send;
  } else if (plan.send == Side::buffered) {
    op.kind = OpKind::bsend;
  } else {
    op.kind = OpKind::isend;
    op.request = new_request(m.src, -1, m.send_at, plan.send_done, true);
  }
  add(m.src, m.send_at, plan.send == Side::blocking ? 1 : 0, op, plan.message);
}

inline void ProgramGenerator::emit_receive(const Plan& plan) {
  const Message& m = message_of(plan);
  const bool open = m.group >= 0;
  Op op{.peer = open ? any_source : m.src,
        .tag = plan.any_tag ? any_tag : m.tag,
        .offset = take_memory(m.dst, plan.capacity),
        .bytes = plan.capacity};
  op.result = new_result(plan, op.offset, op.bytes);
  if (plan.receive == Side::request) {
    op.kind = OpKind::irecv;
    // On the CPU wait_any throws what a truncated receive says, and does not tell which one it was.
    const bool truncated = !open && m.bytes > plan.capacity;
    op.request = new_request(m.dst, op.result, m.receive_at, plan.receive_done, !(truncated && is_cpu(m.dst)));
  } else {
    op.kind = plan.receive == Side::blocking  ? OpKind::recv
              : plan.receive == Side::probing ? OpKind::probe_recv
                                              : OpKind::iprobe_recv;
  }
  add(m.dst, m.receive_at, plan.receive == Side::request ? 0 : 1, op, -1, plan.message);
}

inline void ProgramGenerator::emit_ring(const Ring& ring) {
  const std::size_t n = ring.plans.size();
  for (std::size_t i = 0; i < n; ++i) {
    const Plan& out = plans_[static_cast<std::size_t>(ring.plans[i])];
    const Plan& in = plans_[static_cast<std::size_t>(ring.plans[(i + n - 1) % n])];
    const Message& sent = message_of(out);
    const Message& received = message_of(in);
    const int rank = sent.src;
    const bool replaces =
        ring.modes[i] == 1 && sent.bytes <= most_buffered && (received.bytes <= sent.bytes || random_.percent(30));
    Op op{.kind = replaces ? OpKind::sendrecv_replace : OpKind::sendrecv, .peer = sent.dst, .tag = sent.tag};
    op.offset = take_memory(rank, sent.bytes);
    op.bytes = sent.bytes;
    p_.sent_from[static_cast<std::size_t>(out.message)] = op.offset;
    op.from = received.src;
    op.recv_tag = in.any_tag ? any_tag : received.tag;
    op.recv_offset = replaces ? op.offset : take_memory(rank, in.capacity);
    op.recv_bytes = replaces ? op.bytes : in.capacity;
    op.result = new_result(in, op.recv_offset, op.recv_bytes);
    if (ring.modes[i] < 2) {
      add(rank, ring.event, 1, op, out.message, in.message);
      continue;
    }
    // The same by three operations: the receive or the send begins, the other one blocks.
    const Op send{.kind = ring.modes[i] == 2 ? OpKind::send : OpKind::isend,
                  .peer = op.peer,
                  .tag = op.tag,
                  .offset = op.offset,
                  .bytes = op.bytes};
    const Op receive{.kind = ring.modes[i] == 2 ? OpKind::irecv : OpKind::recv,
                     .peer = op.from,
                     .tag = op.recv_tag,
                     .offset = op.recv_offset,
                     .bytes = op.recv_bytes,
                     .result = op.result};
    std::vector<std::int32_t>& requests = rank_of(rank).request_results;
    Op first = ring.modes[i] == 2 ? receive : send;
    first.request = static_cast<int>(requests.size());
    requests.push_back(ring.modes[i] == 2 ? op.result : -1);
    add(rank, ring.event, 1, first, ring.modes[i] == 2 ? -1 : out.message, ring.modes[i] == 2 ? in.message : -1);
    add(rank, ring.event, 1, ring.modes[i] == 2 ? send : receive, ring.modes[i] == 2 ? out.message : -1,
        ring.modes[i] == 2 ? -1 : in.message);
    add(rank, ring.event, 1, {.kind = OpKind::wait, .request = first.request});
  }
}

// What waits for the requests of a rank, each at the event that its plan says.
inline void ProgramGenerator::emit_completions(int rank) {
  std::vector<Pending>& pending = pending_[static_cast<std::size_t>(rank)];
  std::map<int, std::vector<Pending>> by_event;
  for (const Pending& p : pending) by_event[p.done].push_back(p);
  std::vector<std::int32_t>& lists = rank_of(rank).lists;
  for (auto& [event, due] : by_event) {
    random_.shuffle(due);
    const bool any = std::all_of(due.begin(), due.end(), [](const Pending& p) { return p.in_wait_any; });
    const int way = random_.below(any ? 5 : 3);
    Op op;
    op.list = static_cast<int>(lists.size());
    if (way < 2) {
      for (const Pending& p : due)
        add(rank, event, 2, {.kind = way == 0 ? OpKind::wait : OpKind::test, .request = p.request});
      continue;
    }
    for (const Pending& p : due) lists.push_back(p.request);
    op.kind = way == 2 ? OpKind::wait_all : OpKind::wait_any;
    op.count = static_cast<int>(due.size());
    if (way < 4) {
      add(rank, event, 2, op);
      continue;
    }
    // Others that are under way may come first.
    for (const Pending& p : pending)
      if (p.begun <= event && p.done > event && p.in_wait_any) lists.push_back(p.request);
    op.count = static_cast<int>(lists.size()) - op.list;
    op.kind = OpKind::wait_any_until;
    for (const Pending& p : due) {
      op.request = p.request;
      add(rank, event, 2, op);
    }
  }
}

inline void ProgramGenerator::emit() {
  timed_.assign(p_.ranks.size(), {});
  pending_.assign(p_.ranks.size(), {});
  p_.sent_from.assign(p_.messages.size(), 0);
  for (RankProgram& r : p_.ranks) r = {.scope = r.scope, .ops = {}, .lists = {}, .request_results = {}, .receives = {}};
  for (const Plan& plan : plans_) {
    if (plan.ring >= 0) continue;
    emit_send(plan);
    emit_receive(plan);
  }
  for (const Ring& ring : rings_) emit_ring(ring);
  for (const Collective& c : collectives_)
    for (int r = 0; r < ranks(); ++r) {
      Op op{.kind = c.broadcast < 0 ? OpKind::barrier : OpKind::broadcast};
      if (c.broadcast >= 0) {
        Broadcast& b = p_.broadcasts[static_cast<std::size_t>(c.broadcast)];
        b.offsets.resize(p_.ranks.size());
        op.peer = b.root;
        op.bytes = b.bytes;
        op.offset = b.offsets[static_cast<std::size_t>(r)] = take_memory(r, b.bytes);
      }
      add(r, c.event, 1, op);
    }
  const int end = phases_.back().last;
  p_.group_receives.assign(p_.groups.size(), {});
  std::vector<int> position(p_.messages.size());  // among all sends of its source
  for (int r = 0; r < ranks(); ++r) {
    emit_completions(r);
    const int gpu = gpu_of_[static_cast<std::size_t>(r)];
    const int cut = gpu < 0 ? -1 : cut_after_[static_cast<std::size_t>(gpu)];
    if (gpu >= 0) add(r, end, 3, {.kind = OpKind::finish});
    const int cut_event = cut < 0 ? -1 : phases_[static_cast<std::size_t>(cut)].last;
    if (cut >= 0) add(r, cut_event, 3, {.kind = OpKind::finish});
    std::vector<Timed>& all = timed_[static_cast<std::size_t>(r)];
    std::stable_sort(all.begin(), all.end(), [](const Timed& a, const Timed& b) {
      return std::pair(a.event, a.order) < std::pair(b.event, b.order);
    });
    RankProgram& rank = rank_of(r);
    for (const Timed& t : all) {
      if (t.sends >= 0) position[static_cast<std::size_t>(t.sends)] = static_cast<int>(rank.ops.size());
      if (t.receives >= 0) {
        const int group = p_.messages[static_cast<std::size_t>(t.receives)].group;
        if (group >= 0) p_.group_receives[static_cast<std::size_t>(group)].push_back(t.op.result);
      }
      if (t.event <= cut_event) rank.cut = static_cast<int>(rank.ops.size()) + 1;
      rank.ops.push_back(t.op);
    }
    rank.memory += 64;
  }
  for (std::vector<int>& group : p_.groups)
    std::stable_sort(group.begin(), group.end(), [&](int a, int b) {
      return position[static_cast<std::size_t>(a)] < position[static_cast<std::size_t>(b)];
    });
}

// Whether each receive with one source gets the message that it was made for. Where not, its two ranks begin nothing
// early any more. Both sides take the earliest first, so it does not matter when anything happens: the first message
// meets the first receive that it matches, and so on.
inline bool ProgramGenerator::matching_is_as_meant() {
  struct Posted {
    int tag;
    int message;
  };
  std::map<std::pair<int, int>, std::vector<Posted>> posted;
  std::map<std::pair<int, int>, std::vector<int>> sent;
  for (int r = 0; r < ranks(); ++r)
    for (const Timed& t : timed_[static_cast<std::size_t>(r)]) {
      if (t.sends >= 0) {
        const Message& m = p_.messages[static_cast<std::size_t>(t.sends)];
        if (m.group < 0) sent[{m.src, m.dst}].push_back(t.sends);
      }
      if (t.receives >= 0) {
        const Message& m = p_.messages[static_cast<std::size_t>(t.receives)];
        const bool both = t.op.kind == OpKind::sendrecv || t.op.kind == OpKind::sendrecv_replace;
        if (m.group < 0) posted[{m.src, m.dst}].push_back({both ? t.op.recv_tag : t.op.tag, t.receives});
      }
    }
  bool good = true;
  for (auto& [pair, messages] : sent) {
    std::vector<Posted>& receives = posted[pair];
    bool pair_good = true;
    for (const int message : messages) {
      const int tag = p_.messages[static_cast<std::size_t>(message)].tag;
      const auto first = std::find_if(receives.begin(), receives.end(),
                                      [&](const Posted& p) { return p.tag == any_tag || p.tag == tag; });
      if (first == receives.end() || first->message != message) {
        pair_good = false;
        break;
      }
      receives.erase(first);
    }
    if (pair_good) continue;
    good = false;
    for (const Plan& plan : plans_) {
      Message& m = message_of(plan);
      if (m.src == pair.first && m.dst == pair.second && m.group < 0) m.send_at = m.receive_at = m.event;
    }
  }
  return good;
}

// Space for all that could pile up at once, and no more.
inline void ProgramGenerator::finish_config() {
  std::vector<std::uint64_t> unexpected(p_.ranks.size(), 4096), buffered(p_.ranks.size(), 64),
      requests(p_.ranks.size(), 64);
  for (const Message& m : p_.messages) {
    ++requests[static_cast<std::size_t>(m.src)];
    requests[static_cast<std::size_t>(m.dst)] += 2;
    if (m.bytes <= longest_eager_)
      unexpected[static_cast<std::size_t>(m.dst)] += static_cast<std::uint64_t>(m.bytes) + 48;
  }
  for (std::size_t r = 0; r < p_.ranks.size(); ++r) {
    for (const Broadcast& b : p_.broadcasts) unexpected[r] += static_cast<std::uint64_t>(b.bytes) + 48;
    requests[r] += 8 * collectives_.size();
    for (const Op& op : p_.ranks[r].ops)
      if (op.kind == OpKind::bsend || op.kind == OpKind::sendrecv_replace)
        buffered[r] += static_cast<std::uint64_t>(op.bytes) + 48;
  }
  p_.config.unexpected_bytes = *std::max_element(unexpected.begin(), unexpected.end());
  p_.config.buffered_bytes = *std::max_element(buffered.begin(), buffered.end());
  p_.config.requests = *std::max_element(requests.begin(), requests.end());
}

inline void ProgramGenerator::count_coverage() {
  Coverage& c = p_.coverage;
  c.programs = 1;
  std::map<std::pair<int, int>, std::int64_t> through;
  for (const Message& m : p_.messages) {
    ++c.messages;
    c.bytes += static_cast<std::uint64_t>(m.bytes);
    c.zero_bytes += m.bytes == 0;
    c.large += m.bytes >= 1 << 20;
    c.large_tags += m.tag > 65535;
    c.to_self += m.src == m.dst;
    const bool announced = m.bytes > eager_limit_;
    ++(!announced ? m.bytes <= 8 && m.tag < 65536 ? c.small : c.eager : p_.config.direct ? c.pull : c.offer);
    const auto engine = p_.config.copy_engine_bytes;
    c.copied +=
        announced && p_.config.direct && engine && static_cast<std::uint64_t>(m.bytes) >= *engine && m.bytes > 0;
    through[{m.src, m.dst}] += !announced || !p_.config.direct ? m.bytes / 12 + 1 : 3;
  }
  for (const auto& [pair, packets] : through) c.wraps += packets > 2 * (piece_ / 12 + 1);
  p_.config.errors_fatal = true;
  for (int r = 0; r < ranks(); ++r) {
    const RankProgram& rank = rank_of(r);
    if (!is_cpu(r)) ++c.scopes[static_cast<int>(rank.scope)];
    if (rank.cut) ++c.two_kernels;
    for (const Receive& x : rank.receives)
      if (x.message >= 0 && p_.messages[static_cast<std::size_t>(x.message)].bytes > x.capacity) {
        ++c.truncated;
        p_.config.errors_fatal = false;
      }
    for (const Op& op : rank.ops) {
      ++c.operations;
      const bool receives = op.result >= 0 && op.kind != OpKind::sendrecv && op.kind != OpKind::sendrecv_replace;
      c.wild_source += receives && op.peer == any_source && op.tag != any_tag;
      c.wild_both += receives && op.peer == any_source && op.tag == any_tag;
      c.any_tag += receives && op.peer != any_source && op.tag == any_tag;
      c.probes += op.kind == OpKind::probe_recv || op.kind == OpKind::iprobe_recv;
      c.tests += op.kind == OpKind::test;
      c.wait_alls += op.kind == OpKind::wait_all;
      c.wait_anys += op.kind == OpKind::wait_any || op.kind == OpKind::wait_any_until;
      c.ssends += op.kind == OpKind::ssend;
      c.bsends += op.kind == OpKind::bsend;
      c.exchanges += op.kind == OpKind::sendrecv;
      c.replaces += op.kind == OpKind::sendrecv_replace;
      c.barriers += op.kind == OpKind::barrier;
      c.broadcasts += op.kind == OpKind::broadcast;
    }
  }
  for (const Message& m : p_.messages) c.early += m.send_at < m.event || m.receive_at < m.event;
}

}  // namespace dcgn::test
