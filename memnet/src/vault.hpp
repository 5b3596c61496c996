// A vault of a hybrid memory cube: DRAM banks behind one controller. Requests come by network cycles, DRAM commands go
// out by DRAM clocks; in here time is in picoseconds, which both are whole numbers of.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

namespace dcgn::memnet {

// Table I of the paper. All but the first are in periods of tck_ps. What the table does not say is assumed: write data
// follow their command by tCL as read data do, a precharge may follow the last column read by tCCD, and neither tRRD,
// tFAW, turning the bus around nor refresh costs anything.
struct DramTiming {
  std::int64_t tck_ps = 1250;
  int trp = 11;   // precharge to activate
  int tccd = 4;   // column command to column command; also how long a column's data hold the bus
  int trcd = 11;  // activate to column command
  int tcl = 11;   // column command to its data
  int twr = 12;   // end of write data to precharge
  int tras = 22;  // activate to precharge

  // Throws Error(configuration) that names the value which is not positive.
  void validate() const;
};

struct VaultRequest {
  std::uint32_t bank = 0;
  std::uint64_t row = 0;
  std::uint32_t columns = 4;  // bursts of 32 bytes: 4 are a cache line
  bool write = false;
  std::uint64_t tag = 0;  // the caller's
};

struct VaultReply {
  std::uint64_t tag = 0;
  std::int64_t done_ps = 0;  // the end of its data on the bus
};

// Open page, first-ready first-come first-served (FR-FCFS): the oldest request whose row is open goes first; then banks
// are activated, then precharged, for the oldest request each, but no row is closed that a queued request would hit.
class Vault {
 public:
  static constexpr int queue_size = 16;
  static constexpr std::int64_t never = std::numeric_limits<std::int64_t>::max();

  explicit Vault(const DramTiming& timing = {}, int banks = 16);

  bool full() const { return queue_.size() == queue_size; }
  bool idle() const { return queue_.empty(); }

  // Takes a request that has come at now_ps, which no later call may precede; the queue must not be full. Throws
  // Error(invalid_size) for a bank that is not there.
  void push(const VaultRequest& request, std::int64_t now_ps);

  // Issues every command up to and including until_ps, at most one a DRAM clock, and appends what each column command
  // will have done; done_ps may lie past until_ps.
  void advance(std::int64_t until_ps, std::vector<VaultReply>& replies);

  // When the next command may go out; `never` where nothing waits.
  std::int64_t next_ps() const { return next_ps_; }

  // Counts over the vault's life.
  std::int64_t row_hits() const { return columns_issued_ - activates_; }
  std::int64_t activates() const { return activates_; }

 private:
  struct Bank {
    std::int64_t row = -1;                                          // open; -1: closed
    std::int64_t column_ps = 0, precharge_ps = 0, activate_ps = 0;  // the earliest command of each kind
  };

  std::int64_t periods(int count) const { return count * timing_.tck_ps; }
  std::int64_t column_ps(const VaultRequest& request) const;
  // The command that the request waits for may go out then; `never`: its bank's open row is still wanted by others.
  std::int64_t ready_ps(const VaultRequest& request) const;
  bool row_is_open(const VaultRequest& request) const;
  void issue(std::size_t index, std::int64_t now_ps, std::vector<VaultReply>& replies);
  void schedule(std::int64_t earliest_ps);

  DramTiming timing_;
  std::vector<Bank> banks_;
  std::vector<VaultRequest> queue_;  // oldest first
  std::uint64_t wanted_ = 0;         // banks whose open row a queued request would hit
  std::int64_t bus_ps_ = 0;          // the data bus is free from then on
  std::int64_t next_ps_ = never;
  std::int64_t last_command_ps_ = -timing_.tck_ps;
  std::int64_t activates_ = 0, columns_issued_ = 0;
};

}  // namespace dcgn::memnet
