// A CPU rank's collectives.
#include <dcgn/collective/calls.hpp>
#include <dcgn/comm.hpp>
#include <dcgn/gpu/scope.hpp>

namespace dcgn {

namespace {
constexpr gpu::ThreadScope scope{};
using message::Call;
}  // namespace

Comm& CommCollectives::comm() { return static_cast<Comm&>(*this); }

void CommCollectives::barrier() {
  comm().check(collective::barrier(scope, comm().member(Call::barrier)), Call::barrier);
}

void CommCollectives::broadcast_bytes(void* data, std::int64_t bytes, int root) {
  comm().check(collective::broadcast(scope, comm().member(Call::broadcast), data, bytes, root), Call::broadcast);
}

void CommCollectives::reduce_any(Input in, Output out, int root, const Reducer& op) {
  comm().check(collective::reduce(scope, comm().member(Call::reduce), in, out, root, op), Call::reduce);
}

void CommCollectives::all_reduce_any(Input in, Output out, const Reducer& op) {
  comm().check(collective::all_reduce(scope, comm().member(Call::all_reduce), in, out, op), Call::all_reduce);
}

void CommCollectives::reduce_scatter_any(Input in, Output out, const Reducer& op) {
  comm().check(collective::reduce_scatter(scope, comm().member(Call::reduce_scatter), in, out, op),
               Call::reduce_scatter);
}

void CommCollectives::reduce_scatterv_any(Input in, Parts parts, Output out, const Reducer& op) {
  comm().check(collective::reduce_scatterv(scope, comm().member(Call::reduce_scatterv), in, parts, out, op),
               Call::reduce_scatterv);
}

void CommCollectives::gather_any(Input in, Output out, std::int64_t element, int root) {
  comm().check(collective::gather(scope, comm().member(Call::gather), in, out, element, root), Call::gather);
}

void CommCollectives::gatherv_any(Input in, Output out, Parts parts, std::int64_t element, int root) {
  comm().check(collective::gatherv(scope, comm().member(Call::gatherv), in, out, parts, element, root), Call::gatherv);
}

void CommCollectives::scatter_any(Input in, Output out, std::int64_t element, int root) {
  comm().check(collective::scatter(scope, comm().member(Call::scatter), in, out, element, root), Call::scatter);
}

void CommCollectives::scatterv_any(Input in, Parts parts, Output out, std::int64_t element, int root) {
  comm().check(collective::scatterv(scope, comm().member(Call::scatterv), in, parts, out, element, root),
               Call::scatterv);
}

void CommCollectives::all_gather_any(Input in, Output out, std::int64_t element) {
  comm().check(collective::all_gather(scope, comm().member(Call::all_gather), in, out, element), Call::all_gather);
}

void CommCollectives::all_gatherv_any(Input in, Output out, Parts parts, std::int64_t element) {
  comm().check(collective::all_gatherv(scope, comm().member(Call::all_gatherv), in, out, parts, element),
               Call::all_gatherv);
}

void CommCollectives::all_to_all_any(Input in, Output out, std::int64_t element) {
  comm().check(collective::all_to_all(scope, comm().member(Call::all_to_all), in, out, element), Call::all_to_all);
}

void CommCollectives::all_to_allv_any(Input in, Parts send, Output out, Parts receive, std::int64_t element) {
  comm().check(collective::all_to_allv(scope, comm().member(Call::all_to_allv), in, send, out, receive, element),
               Call::all_to_allv);
}

void CommCollectives::scan_any(Input in, Output out, bool exclusive, const Reducer& op) {
  const Call call = exclusive ? Call::exclusive_scan : Call::scan;
  comm().check(collective::scan(scope, comm().member(call), in, out, exclusive, op), call);
}

}  // namespace dcgn
