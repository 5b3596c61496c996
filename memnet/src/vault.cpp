#include "memnet/src/vault.hpp"

#include <dcgn/error.hpp>

#include <algorithm>
#include <string>
#include <utility>

namespace dcgn::memnet {

void DramTiming::validate() const {
  const std::pair<const char*, std::int64_t> values[] = {
      {"tck_ps", tck_ps}, {"trp", trp}, {"tccd", tccd}, {"trcd", trcd}, {"tcl", tcl}, {"twr", twr}, {"tras", tras}};
  for (const auto& [name, value] : values) {
    if (value > 0) continue;
    throw Error(Code::configuration, "memnet",
                std::string("DRAM timing ") + name + " is " + std::to_string(value) + ", expected more than 0");
  }
}

Vault::Vault(const DramTiming& timing, int banks) : timing_(timing) {
  timing_.validate();
  if (banks < 1 || banks > 64) {
    throw Error(Code::configuration, "memnet", std::to_string(banks) + " banks in a vault, expected 1..64");
  }
  banks_.resize(static_cast<std::size_t>(banks));
  queue_.reserve(queue_size);
}

bool Vault::row_is_open(const VaultRequest& request) const {
  return banks_[request.bank].row == static_cast<std::int64_t>(request.row);
}

std::int64_t Vault::column_ps(const VaultRequest& request) const {
  // Its data must find the bus free, which they reach tCL later.
  return std::max(banks_[request.bank].column_ps, bus_ps_ - periods(timing_.tcl));
}

std::int64_t Vault::ready_ps(const VaultRequest& request) const {
  const Bank& bank = banks_[request.bank];
  if (bank.row < 0) return bank.activate_ps;
  if (row_is_open(request)) return column_ps(request);
  return (wanted_ >> request.bank & 1) != 0 ? never : bank.precharge_ps;
}

void Vault::push(const VaultRequest& request, std::int64_t now_ps) {
  if (request.bank >= banks_.size()) {
    throw Error(Code::invalid_size, "memnet",
                "bank " + std::to_string(request.bank) + ", expected 0.." + std::to_string(banks_.size() - 1));
  }
  queue_.push_back(request);
  // What waits already may not be put off by the newcomer, except a precharge of the row that it hits.
  if (row_is_open(request)) wanted_ |= std::uint64_t{1} << request.bank;
  schedule(now_ps);
}

void Vault::schedule(std::int64_t earliest_ps) {
  std::int64_t next = never;
  for (const VaultRequest& request : queue_) next = std::min(next, ready_ps(request));
  if (next != never) {
    next = std::max({next, earliest_ps, last_command_ps_ + timing_.tck_ps});
    next = (next + timing_.tck_ps - 1) / timing_.tck_ps * timing_.tck_ps;  // commands go out on the DRAM's clock
  }
  next_ps_ = next;
}

void Vault::advance(std::int64_t until_ps, std::vector<VaultReply>& replies) {
  while (next_ps_ <= until_ps) {
    const std::int64_t now = next_ps_;
    // Class 0: column commands; 1: activates; 2: precharges. The oldest of the best class goes.
    std::size_t chosen = queue_.size();
    int chosen_class = 3;
    for (std::size_t i = 0; i < queue_.size() && chosen_class > 0; ++i) {
      const VaultRequest& request = queue_[i];
      const int kind = row_is_open(request) ? 0 : banks_[request.bank].row < 0 ? 1 : 2;
      if (kind >= chosen_class || ready_ps(request) > now) continue;
      chosen = i;
      chosen_class = kind;
    }
    if (chosen < queue_.size()) {
      issue(chosen, now, replies);
      last_command_ps_ = now;
    }
    schedule(now);
  }
}

void Vault::issue(std::size_t index, std::int64_t now_ps, std::vector<VaultReply>& replies) {
  const VaultRequest request = queue_[index];
  Bank& bank = banks_[request.bank];
  if (bank.row < 0) {
    bank.row = static_cast<std::int64_t>(request.row);
    bank.column_ps = now_ps + periods(timing_.trcd);
    bank.precharge_ps = now_ps + periods(timing_.tras);
    ++activates_;
  } else if (!row_is_open(request)) {
    bank.row = -1;
    bank.activate_ps = now_ps + periods(timing_.trp);
  } else {
    const std::int64_t length = periods(timing_.tccd) * request.columns;
    bus_ps_ = now_ps + periods(timing_.tcl) + length;
    bank.column_ps = now_ps + length;
    bank.precharge_ps = std::max(bank.precharge_ps, request.write ? bus_ps_ + periods(timing_.twr) : now_ps + length);
    replies.push_back({request.tag, bus_ps_});
    ++columns_issued_;
    queue_.erase(queue_.begin() + static_cast<std::ptrdiff_t>(index));
  }
  const std::uint64_t bit = std::uint64_t{1} << request.bank;
  wanted_ &= ~bit;
  for (const VaultRequest& other : queue_) {
    if (other.bank == request.bank && row_is_open(other)) wanted_ |= bit;
  }
}

}  // namespace dcgn::memnet
