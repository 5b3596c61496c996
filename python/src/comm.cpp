#include "comm.hpp"

#include <algorithm>

namespace dcgn::python {

std::shared_ptr<dcgn::Comm> Comm::get() const {
  if (std::shared_ptr<dcgn::Comm> comm = comm_.lock()) return comm;
  throw Error(Code::not_attached, "comm",
              "the communicator has been freed, or its rank's kernel has ended; expected one that lasts");
}

Comm Comm::add(dcgn::Comm&& made) const {
  rank_->comms.push_back(std::make_shared<dcgn::Comm>(std::move(made)));
  return {rank_, rank_->comms.back()};
}

void Comm::free() {
  std::shared_ptr<dcgn::Comm> comm = get();
  if (comm == rank_->comms.front())
    throw Error(Code::configuration, "free", "this is the world's communicator, expected one that was made");
  std::erase(rank_->comms, comm);
  const nb::gil_scoped_release released;
  comm.reset();
}

nb::object PendingCall::finish(const Status& status) {
  done_ = true;
  status_ = status;
  comm_.rank()->open.erase(pending_);
  result_ = decode_.is_valid() && !decode_.is_none() ? decode_(status) : nb::none();
  pending_.reset();
  decode_.reset();
  return result_;
}

nb::object PendingCall::wait(Status* status) {
  if (!done_) finish(without_gil(comm_, [&](dcgn::Comm& c) { return c.wait(pending_->request); }));
  if (status) *status = status_;
  return result_;
}

std::pair<bool, nb::object> PendingCall::test(Status* status) {
  if (!done_) {
    const auto complete = without_gil(comm_, [&](dcgn::Comm& c) { return c.test(pending_->request); });
    if (!complete) return {false, nb::none()};
    finish(*complete);
  }
  if (status) *status = status_;
  return {true, result_};
}

nb::list PendingCall::wait_all(const std::vector<PendingCall*>& calls) {
  nb::list results;
  std::vector<Request> requests;
  const Comm* comm = nullptr;
  for (const PendingCall* call : calls) {
    if (!call) throw nb::type_error("waitall: None among the requests, expected a Request each");
    requests.push_back(call->done_ ? Request() : call->pending_->request);
    if (!call->done_ && !comm) comm = &call->comm_;
  }
  std::vector<Status> statuses(calls.size());
  if (comm) without_gil(*comm, [&](dcgn::Comm& c) { c.wait_all(requests, statuses.data()); });
  for (std::size_t i = 0; i < calls.size(); ++i)
    results.append(calls[i]->done_ ? calls[i]->result_ : calls[i]->finish(statuses[i]));
  return results;
}

}  // namespace dcgn::python
