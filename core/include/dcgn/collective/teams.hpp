// Teams: two levels for many ranks. The ranks of one device talk to a leader, and the leaders talk to each other.
//
// A team is the ranks of a communicator that share a device, or the CPU ranks of a process. The first one is the
// leader. Teams are used in communicators whose ranks are evenly spaced in the world: there the ranks of a team are
// neighbours, so operands stay in order. Each level is a round. Hosts are a third level: see hosts.hpp.
#pragma once

#include <dcgn/collective/channel.hpp>
#include <dcgn/collective/thresholds.hpp>
#include <dcgn/collective/turn.hpp>
#include <dcgn/host_device.hpp>
#include <dcgn/message/device_barrier.hpp>
#include <dcgn/message/endpoint.hpp>
#include <dcgn/message/rounds.hpp>

#include <cstdint>

namespace dcgn::collective {

struct Teams {
  int count = 0;           // 0: the call uses no teams
  int mine = 0;            // this rank's team
  int members = 0;         // ranks in it
  int largest = 0;         // ranks of the largest one, and no fewer than there are teams
  message::Peers leaders;  // by team
  message::Peers team;     // this one, the leader first

  Teams() = default;
  template <class Scope>
  DCGN_HOST_DEVICE explicit Teams(const Channel<Scope>& c) : Teams(c.port(), c.group()) {}
  DCGN_HOST_DEVICE Teams(const message::Port& port, const Group& g) {
    const message::CollectiveSpace& space = port.me->collectives;
    if ((port.me->without & (message::without_rounds | message::without_teams)) || g.table || g.stride < 1 ||
        !is_near(port, g))
      return;
    if (is_whole_world(port, g)) {
      const message::TeamOfWorld its = space.team;
      mine = its.number;
      members = its.members;
      largest = its.largest;
      leaders = {0, 1, space.teams, mine};
      team = {its.first, 1, nullptr, g.rank - its.first};
      if (2 * space.team_count <= g.size) count = space.team_count;
      return;
    }
    const std::int32_t first = g.first, last = g.in_world(g.size - 1), me = g.in_world(g.rank);
    int from = 0, to = 0;
    for (int t = 0; t < space.team_count; ++t) {
      const std::int32_t start = space.teams[t];
      from += start <= first;
      to += start <= last;
      mine += start <= me;
    }
    mine -= from--;
    const int teams = to - from;
    leaders = {first, g.stride, space.teams + from, mine};
    const auto begin = [&](int t) {
      const std::int32_t above = t == teams ? 0 : leaders[t] - first;
      return t == teams ? g.size : g.stride == 1 ? above : above / g.stride;
    };
    team = {leaders[mine], g.stride, nullptr, g.rank - begin(mine)};
    members = begin(mine + 1) - begin(mine);
    largest = teams;
    bool each_has_one = true;
    for (int t = 0; t < teams; ++t) {
      const int ranks = begin(t + 1) - begin(t);
      each_has_one = each_has_one && ranks > 0;
      if (ranks > largest) largest = ranks;
    }
    if (each_has_one && 2 * teams <= g.size) count = teams;
  }

  DCGN_HOST_DEVICE bool leads() const { return team.self == 0; }

  // The barrier in the memory of the team's GPU, or null: then members send messages. All members get the same answer.
  DCGN_HOST_DEVICE message::DeviceBarrier* device_barrier(const Endpoint& me, int pair) const {
    const message::CollectiveSpace& space = me.collectives;
    if (!space.device_barriers || pair >= message::most_device_barriers || members - 1 > message::DeviceBarrier::most)
      return nullptr;
    return space.device_barriers + (team[0] - space.device_barriers_first) * message::most_device_barriers + pair;
  }

  // Rounds: members to the leader, leaders to each other, one member to the others.
  DCGN_HOST_DEVICE message::Round up(const message::Spread<const unsigned char>& out = {},
                                     const message::Spread<unsigned char>& in = {}) const {
    if (leads()) return {.peers = team, .from = {0, members}, .in = in};
    return {.peers = team, .to = {0, 1}, .out = out};
  }
  DCGN_HOST_DEVICE message::Round across(const message::Spread<const unsigned char>& out = {},
                                         const message::Spread<unsigned char>& in = {}) const {
    return {.peers = leaders, .to = {0, count}, .from = {0, count}, .out = out, .in = in};
  }
  DCGN_HOST_DEVICE message::Round down(unsigned char* data = nullptr, std::int64_t bytes = 0, int source = 0) const {
    const unsigned char* const from = data;
    if (team.self == source) return {.peers = team, .to = {0, members}, .out = message::whole(from, bytes)};
    return {.peers = team, .from = {source, source + 1}, .in = message::whole(data, bytes)};
  }
};

// A barrier of `size` peers in a turn. `begins`: it is the whole call, not the end of one.
template <class Scope>
[[gnu::noinline]] DCGN_HOST_DEVICE static Code meet_by_steps(dcgn::detail::Kept<Scope> scope, const message::Port port,
                                                             const Group group, const message::Peers peers,
                                                             const TurnPlan plan, int size, bool has_begun) {
  return Turn<Scope>(scope, port, group, peers, size)
      .run(
          plan, [](int) { return std::uint64_t{0}; }, [] {},
          [](int, std::uint64_t, const message::Flight&) { return true; }, [](bool) { return true; }, has_begun);
}
DCGN_HOST_DEVICE inline TurnPlan plan_to_meet(const Group& group, const message::Peers& peers, int size, bool begins) {
  const std::uint32_t others = ((1u << size) - 1) & ~(1u << peers.self);
  return {Call::barrier, Signature(Call::barrier, group.pair, no_root, 0, 0), 0, no_root, others, others, false,
          begins};
}
// By a warp; false if anything unusual happens, as in Turn::run_at_once().
template <class AnyTurn>
[[gnu::always_inline]] DCGN_HOST_DEVICE inline bool meet_at_once(const AnyTurn& turn, const Group& group,
                                                                 const message::Peers& peers, int size, bool begins,
                                                                 bool& has_begun) {
  return turn.run_at_once(
      plan_to_meet(group, peers, size, begins), 0, [](std::uint64_t) {}, has_begun);
}

// The leaders' barrier of slots in turns. All leaders come here, whether their members met in memory or by messages.
DCGN_HOST_DEVICE inline bool leaders_meet_in_turns(const Group& group, const Teams& teams) {
  return teams.count <= at_once_ranks && group.inbox_packets;
}
template <class Scope>
DCGN_HOST_DEVICE Code meet_leaders_in_turn(const Scope& scope, const message::Port& port, const Group& group,
                                           const Teams& teams) {
  if (teams.count < 2) return Code::ok;
  return lead_few(
             scope, teams.count,
             [&]<class Few>(const Few& few) {
               bool has_begun = false;
               if constexpr (Turn<Few>::by_lanes && Few::in_warp)
                 if (meet_at_once(Turn<Few>(few, port, group, teams.leaders, teams.count), group, teams.leaders,
                                  teams.count, false, has_begun))
                   return Outcome{Code::ok, true};
               const TurnPlan plan = plan_to_meet(group, teams.leaders, teams.count, false);
               return Outcome{meet_by_steps<Few>(few, port, group, teams.leaders, plan, teams.count, has_begun), true};
             })
      .code;
}
template <class Scope>
DCGN_HOST_DEVICE Code meet_leaders(const Channel<Scope>& c, const Teams& teams) {
  return leaders_meet_in_turns(c.group(), teams) ? meet_leaders_in_turn(c.scope(), c.port(), c.group(), teams)
                                                 : c.empty_round(teams.across());
}

// True for more slots than a turn has ranks that are the world, and all meet in their GPUs' memory: see
// message/device_barrier.hpp.
DCGN_HOST_DEVICE inline bool meets_as_world(const Member& m) {
  return is_whole_world(m.port, m.group) && m.group.size > at_once_ranks && m.port.me->collectives.world_barriers;
}
// Their barrier, by a warp or a thread.
template <class Few>
DCGN_HOST_DEVICE Code meet_in_world(const Few& few, const Member& m) {
  Endpoint& me = *m.port.me;
  message::CollectiveSpace& space = me.collectives;
  const message::TeamOfWorld team = space.team;
  few.sync();  // one of its lanes may have made the call before by itself
  const std::uint32_t number = m.port.turns->begun[0];
  const message::WorldMeeting meeting{.barriers = *space.world_barriers,
                                      .firsts = space.teams,
                                      .gpus = space.team_count,
                                      .gpu = team.number,
                                      .slots = team.members,
                                      .slot = me.rank - team.first,
                                      .call = number + 1,
                                      .barrier = space.world_met.barriers + 1};
  if (!few.agree(message::load_two(&me.busy).first == 0))
    return few.broadcast(few.leader() ? message::refuse(me, Call::barrier) : Code::ok);
  bool is_last = false;
  if (few.leader()) {
    begin_turn(*m.port.turns, m.group, Call::barrier, number, 0);
    is_last = meeting.begin(space.world_met);
  }
  if constexpr (Few::single || Turn<Few>::by_lanes) {
    const auto lane = static_cast<int>(few.rank()), lanes = static_cast<int>(few.size());
    is_last = !few.vote(!is_last);
    for (int g = lane; is_last && g < meeting.gpus; g += lanes) meeting.tell(g);
    const bool met = message::spin(message::fast_looks, [&] {
      bool all = true;
      for (int g = lane; g < meeting.gpus; g += lanes) all &= meeting.has_come(g);
      return few.vote(all);
    });
    few.sync();
    if (met) return Code::ok;
  } else {
    for (int g = 0; is_last && g < meeting.gpus; ++g) meeting.tell(g);
  }
  return message::attend(few, me, meeting, tag_of(Call::barrier, number), m.group.collective_context());
}

// A barrier of slots with inboxes in teams that have barriers in their GPUs' memory; by a thread or a warp. If `done`
// is false, the call is not such a one, and nothing has been done. It does without Channel, which takes as long again.
template <class Few>
[[gnu::noinline]] DCGN_HOST_DEVICE Outcome meet_in_gpus(Few few, const Member m) {
  Endpoint& me = *m.port.me;
  const Group& group = m.group;
  const Outcome otherwise{Code::ok, false};
  if (!group.inbox_packets) return otherwise;
  const Teams teams(m.port, group);
  message::DeviceBarrier* const barrier = teams.count ? teams.device_barrier(me, group.pair) : nullptr;
  if (!barrier || !leaders_meet_in_turns(group, teams)) return otherwise;
  few.sync();  // one of its lanes may have made the call before by itself
  const std::uint32_t turn = load_relaxed(barrier->turn), number = m.port.turns->begun[group.pair];
  if (!few.agree(message::load_two(&me.busy).first == 0)) return otherwise;
  if (few.leader()) begin_turn(*m.port.turns, group, Call::barrier, number, 0);
  const std::int32_t tag = tag_of(Call::barrier, number);
  const message::Attendance attendance{*barrier, teams.team, teams.members, static_cast<std::uint32_t>(tag), turn};
  Code met = message::attend(few, me, Call::barrier, attendance, tag, group.collective_context());
  if (!teams.leads() || met != Code::ok) return {met, true};
  met = meet_leaders_in_turn(few, m.port, group, teams);
  if (met == Code::ok && few.leader()) attendance.end();
  return {met, true};
}

template <class Scope>
[[gnu::noinline]] DCGN_HOST_DEVICE static Code meet_in_teams(const Channel<Scope>& c, const Teams& teams) {
  if (message::DeviceBarrier* const barrier = teams.device_barrier(c.me(), c.group().pair)) {
    const message::Attendance attendance{*barrier, teams.team, teams.members, c.mark(), load_relaxed(barrier->turn)};
    Code met = c.attend(attendance);
    if (!teams.leads() || met != Code::ok) return met;
    met = meet_leaders(c, teams);
    if (met == Code::ok && c.scope().leader()) attendance.end();
    return met;
  }
  Code code = c.empty_round(teams.up());
  if (code == Code::ok && teams.leads()) code = meet_leaders(c, teams);
  return code == Code::ok ? c.empty_round(teams.down()) : code;
}

// The root sends to the leaders of the other teams and to its own team; the leaders send to theirs.
template <class Scope>
[[gnu::noinline]] DCGN_HOST_DEVICE static Code broadcast_in_teams(const Channel<Scope>& c, const Teams& teams,
                                                                  unsigned char* data, std::int64_t bytes, int root) {
  const int source = root - (c.rank() - teams.team.self);  // the root's number in this team, or out of range
  const bool is_root = c.rank() == root, near = source >= 0 && source < teams.members;
  const unsigned char* const from = data;
  Code code = Code::ok;
  if (is_root)
    code = c.round({.peers = teams.leaders, .to = {0, teams.count}, .out = message::whole(from, bytes)});
  else if (!near && teams.leads())
    code = c.round({.peers = c.everyone(), .from = c.only(root), .in = message::whole(data, bytes)});
  return code == Code::ok ? c.round(teams.down(data, bytes, near ? source : 0)) : code;
}

}  // namespace dcgn::collective
