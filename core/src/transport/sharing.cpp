#include "sharing.hpp"

#include "device/quietly.hpp"
#include "sockets.hpp"

#include <dcgn/error.hpp>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <exception>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <string>
#include <system_error>
#include <utility>

namespace dcgn::transport {

using device::quietly;

namespace {

constexpr int most_gpus = 16;    // of a process
constexpr int most_in_all = 64;  // GPUs of the processes that share memory
constexpr int most_readers = 1024;

// The same where processes could open each other's files, and are meant to.
std::uint64_t host_of_this() {
  std::array<char, 256> name{};
  gethostname(name.data(), name.size() - 1);
  std::error_code none;  // the network has no name then
  const std::string network = std::filesystem::read_symlink("/proc/self/ns/net", none).string();
  std::string boot;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> boot;
  return std::hash<std::string>{}(std::string(name.data()) + '/' + network + '/' + boot);
}

void* map_file(int file, std::size_t bytes) {
  void* const memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, file, 0);
  return memory == MAP_FAILED ? nullptr : memory;
}

}  // namespace

struct Sharing::Board {
  std::uint64_t token;
  std::uint64_t bytes;                                    // of the file
  std::array<Device::Exported, most_gpus> gpus;           // memory of each: for a trial first
  std::array<std::uint64_t, most_gpus> can_open;          // by GPU here, a bit for each GPU of the members
  std::array<std::uint64_t, most_readers / 64> can_read;  // a bit for each of the first members
};

struct Sharing::Sight {
  std::uint64_t host, token, board;  // its address there
  std::int32_t pid, file, gpus, shares;
};

namespace {
constexpr std::size_t page = 4096;
// What comes before a process's memory.
template <class Board>
constexpr std::size_t board_bytes = (sizeof(Board) + page - 1) / page* page;
}  // namespace

Sharing::Sharing(Processes& processes, const Config& config, std::vector<Device> devices)
    : processes_(processes), devices_(std::move(devices)), rank_(processes.rank()), first_(rank_), members_(1) {
  const bool cuda = !devices_.empty() && devices_.front().kind() == DeviceKind::cuda;
  Member& me = members_.front();
  me.gpus = cuda ? static_cast<int>(devices_.size()) : 0;
  const std::uint64_t token = random_token();
  me.file = memfd_create("dcgn", MFD_CLOEXEC);
  // What /proc shows to this user's processes alone is no other's to open by other ways either.
  if (me.file >= 0 && fchmod(me.file, S_IRUSR | S_IWUSR) == 0 && ftruncate(me.file, board_bytes<Board>) == 0)
    me.board = static_cast<Board*>(map_file(me.file, board_bytes<Board>));
  if (me.board) me.board->token = token;
  const bool shares = config.share && me.board;
  // Systems with Yama let a process be read by its debugger alone, unless it says that anybody may who could otherwise.
  if (shares) prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
  const std::vector<Sight> sights = processes_.all_gather(
      Sight{host_of_this(), token, reinterpret_cast<std::uintptr_t>(me.board), getpid(), me.file, me.gpus, shares});
  gather_members(sights, shares);
  try_reading(sights);
  try_gpus(config.p2p);
}

// What a Member holds, given back.
void Sharing::let_go(Member& m) {
  for (std::size_t i = 0; i < m.opened.size(); ++i)
    if (m.opened[i]) quietly([&] { devices_[i / static_cast<std::size_t>(m.gpus)].close_exported(m.opened[i]); });
  if (m.memory) {
    unsigned char* const all = m.memory - board_bytes<Board>;
    if (m.pinned) quietly([&] { devices_.front().unpin(all); });
    munmap(all, m.bytes);
  }
  if (m.board) munmap(m.board, board_bytes<Board>);
  if (m.file >= 0) close(m.file);
}

// The longest row of processes around this one all of which open each other's files: all find the same rows.
void Sharing::gather_members(const std::vector<Sight>& sights, bool shares) {
  std::map<int, Member> found;  // by process
  found.emplace(rank_, std::move(members_.front()));
  const auto opens = [&](int process) {
    const Sight& its = sights[static_cast<std::size_t>(process)];
    if (!shares || !its.shares || its.host != sights[static_cast<std::size_t>(rank_)].host) return false;
    Member m;
    m.file =
        ::open(("/proc/" + std::to_string(its.pid) + "/fd/" + std::to_string(its.file)).c_str(), O_RDWR | O_CLOEXEC);
    if (m.file >= 0) m.board = static_cast<Board*>(map_file(m.file, board_bytes<Board>));
    const bool good = m.board && m.board->token == its.token;
    if (good)
      found.emplace(process, std::move(m));
    else
      let_go(m);
    return good;
  };
  struct Row {
    std::int32_t first, end;
  };
  Row row{rank_, rank_ + 1};
  while (row.first > 0 && opens(row.first - 1)) --row.first;
  while (row.end < processes_.size() && opens(row.end)) ++row.end;
  const std::vector<Row> rows = processes_.all_gather(row);

  const auto sees = [&](int a, int b) {
    const Row& r = rows[static_cast<std::size_t>(a)];
    return b >= r.first && b < r.end;
  };
  for (int begin = 0, end = 0; begin < processes_.size(); begin = end) {
    starts_.push_back(begin);
    end = begin + 1;
    const auto joins = [&](int p) {
      for (int q = begin; q < p; ++q)
        if (!sees(p, q) || !sees(q, p)) return false;
      return true;
    };
    while (end < processes_.size() && joins(end)) ++end;
  }
  const auto after = std::upper_bound(starts_.begin(), starts_.end(), rank_);
  const int begin = *std::prev(after), end = after == starts_.end() ? processes_.size() : *after;

  members_.clear();
  for (auto& [process, m] : found)
    if (process >= begin && process < end)
      members_.push_back(std::move(m));
    else
      let_go(m);
  first_ = begin;
  int gpus = 0;
  for (int p = begin; p < end; ++p) {
    Member& m = members_[static_cast<std::size_t>(p - begin)];
    m.gpus = sights[static_cast<std::size_t>(p)].gpus;
    m.gpus_before = gpus;
    gpus += m.gpus;
  }
}

// Seen by all after the next wait_for_all().
void Sharing::try_reading(const std::vector<Sight>& sights) {
  for (int p = first_; p < first_ + count(); ++p) {
    Member& m = members_[static_cast<std::size_t>(p - first_)];
    const Sight& its = sights[static_cast<std::size_t>(p)];
    m.pid = its.pid;
    std::uint64_t token = 0;
    const iovec here{&token, sizeof token};
    const iovec there{reinterpret_cast<void*>(static_cast<std::uintptr_t>(its.board)), sizeof token};
    const bool can =
        p != rank_ && process_vm_readv(its.pid, &here, 1, &there, 1, 0) == sizeof token && token == its.token;
    const auto number = static_cast<std::size_t>(p - first_);
    if (can && number < most_readers) mine().board->can_read[number / 64] |= std::uint64_t{1} << number % 64;
  }
}

bool Sharing::reads(int process) const {
  const auto can = [&](int reader, int whose) {
    const auto number = static_cast<std::size_t>(whose - first_);
    return number < most_readers && (member(reader).board->can_read[number / 64] >> number % 64 & 1) != 0;
  };
  return can(rank_, process) && can(process, rank_);
}

void Sharing::wait_for_all() { processes_.all_gather('w'); }

// Who reaches whose memory is tried with a piece of each: which devices another process sees, it alone knows.
void Sharing::try_gpus(bool p2p) {
  Member& me = mine();
  const Member& last = members_.back();
  const bool possible = p2p && count() > 1 && last.gpus_before + last.gpus <= most_in_all && me.gpus <= most_gpus;
  std::vector<void*> pieces;
  bool exported = possible && me.gpus;
  for (int g = 0; exported && g < me.gpus; ++g)
    quietly([&] {
      exported = false;
      pieces.push_back(devices_[static_cast<std::size_t>(g)].allocate(page));
      me.board->gpus[static_cast<std::size_t>(g)] = devices_[static_cast<std::size_t>(g)].export_memory(pieces.back());
      exported = true;
    });
  if (!exported && me.board) me.board->gpus = {};
  wait_for_all();
  for (int g = 0; exported && g < me.gpus; ++g)
    for (int p = first_; p < first_ + count(); ++p) {
      const Member& m = member(p);
      for (int h = 0; p != rank_ && h < std::min(m.gpus, most_gpus); ++h)
        quietly([&] {
          const Device& device = devices_[static_cast<std::size_t>(g)];
          const Device::Exported& piece = m.board->gpus[static_cast<std::size_t>(h)];
          if (piece == Device::Exported{}) return;
          device.close_exported(device.open_exported(piece));
          me.board->can_open[static_cast<std::size_t>(g)] |= std::uint64_t{1} << (m.gpus_before + h);
        });
    }
  wait_for_all();
  for (std::size_t g = 0; g < pieces.size(); ++g) quietly([&] { devices_[g].free(pieces[g]); });
}

bool Sharing::gpus_reach(int g, int process, int h) const {
  const auto opens = [](const Member& who, int its, const Member& whose, int which) {
    return its < most_gpus && which < most_gpus &&
           (who.board->can_open[static_cast<std::size_t>(its)] >> (whose.gpus_before + which) & 1) != 0;
  };
  const Member &me = member(rank_), &other = member(process);
  return opens(me, g, other, h) && opens(other, h, me, g);
}

// The whole file has been mapped.
void Sharing::take_memory(Member& m) {
  unsigned char* const all = std::exchange(m.memory, m.memory + board_bytes<Board>);
  if (!mine().gpus) return;
  devices_.front().pin(all, m.bytes);
  m.pinned = true;
}

unsigned char* Sharing::allocate(std::size_t bytes) {
  Member& me = mine();
  const std::size_t all = board_bytes<Board> + bytes;
  if (ftruncate(me.file, static_cast<off_t>(all)) != 0 ||
      !(me.memory = static_cast<unsigned char*>(map_file(me.file, all))))
    throw Error(Code::out_of_resources, "world",
                "the system refused " + std::to_string(all >> 20) + " MiB of memory that processes share (" +
                    std::strerror(errno) + "); DCGN_SHARE=off does without");
  me.board->bytes = me.bytes = all;
  take_memory(me);
  return me.memory;
}

void Sharing::open(const std::vector<void*>& device_memory) {
  Member& me = mine();
  const auto each_other = [&](const auto& act) {
    for (int p = first_; p < first_ + count(); ++p)
      if (p != rank_) act(p, members_[static_cast<std::size_t>(p - first_)]);
  };
  std::exception_ptr trouble;  // told when all have come
  try {
    for (int g = 0; g < me.gpus; ++g) {
      const auto i = static_cast<std::size_t>(g);
      bool wanted = false;
      each_other([&](int p, const Member& m) {
        for (int h = 0; h < m.gpus; ++h) wanted = wanted || gpus_reach(g, p, h);
      });
      if (wanted) me.board->gpus[i] = devices_[i].export_memory(device_memory[i]);
    }
  } catch (const Error&) {
    trouble = std::current_exception();
  }
  wait_for_all();
  if (trouble) std::rethrow_exception(trouble);
  each_other([&](int p, Member& m) {
    m.bytes = m.board->bytes;
    void* const memory = map_file(m.file, m.bytes);
    if (!memory)
      throw Error(Code::out_of_resources, "world",
                  "the system does not map " + std::to_string(m.bytes >> 20) + " MiB that process " +
                      std::to_string(p) + " shares (" + std::strerror(errno) + "); DCGN_SHARE=off does without");
    m.memory = static_cast<unsigned char*>(memory);
    take_memory(m);
    m.opened.resize(static_cast<std::size_t>(me.gpus) * static_cast<std::size_t>(m.gpus));
    for (int g = 0; g < me.gpus; ++g)
      for (int h = 0; h < m.gpus; ++h)
        if (gpus_reach(g, p, h))
          m.opened[place_of(m, g, h)] =
              devices_[static_cast<std::size_t>(g)].open_exported(m.board->gpus[static_cast<std::size_t>(h)]);
  });
}

std::size_t Sharing::place_of(const Member& m, int g, int h) {
  return static_cast<std::size_t>(g) * static_cast<std::size_t>(m.gpus) + static_cast<std::size_t>(h);
}

unsigned char* Sharing::device_memory(int g, int process, int h) const {
  const Member& m = member(process);
  return static_cast<unsigned char*>(m.opened[place_of(m, g, h)]);
}

Sharing::~Sharing() {
  for (Member& m : members_) let_go(m);
}

}  // namespace dcgn::transport
