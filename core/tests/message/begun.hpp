// A CPU rank's collectives in their non-blocking forms, under the names of the blocking ones: each is begun, then
// waited for. So the tests of collectives are tests of both.
#pragma once

#include <dcgn/arch/relax.hpp>
#include <dcgn/comm.hpp>
#include <dcgn/status.hpp>

#include <utility>

namespace dcgn::test {

class Begun {
 public:
  // With test() again and again, or with wait().
  Begun(Comm& comm, bool tested) : comm_(comm), tested_(tested) {}

  void barrier() { end(comm_.ibarrier()); }
  template <class... A>
  void broadcast(A&&... a) {
    end(comm_.ibroadcast(std::forward<A>(a)...));
  }
  template <class... A>
  void reduce(A&&... a) {
    end(comm_.ireduce(std::forward<A>(a)...));
  }
  template <class... A>
  void all_reduce(A&&... a) {
    end(comm_.iall_reduce(std::forward<A>(a)...));
  }
  template <class... A>
  void reduce_scatter(A&&... a) {
    end(comm_.ireduce_scatter(std::forward<A>(a)...));
  }
  template <class... A>
  void reduce_scatterv(A&&... a) {
    end(comm_.ireduce_scatterv(std::forward<A>(a)...));
  }
  template <class... A>
  void scan(A&&... a) {
    end(comm_.iscan(std::forward<A>(a)...));
  }
  template <class... A>
  void exclusive_scan(A&&... a) {
    end(comm_.iexclusive_scan(std::forward<A>(a)...));
  }
  template <class... A>
  void gather(A&&... a) {
    end(comm_.igather(std::forward<A>(a)...));
  }
  template <class... A>
  void gatherv(A&&... a) {
    end(comm_.igatherv(std::forward<A>(a)...));
  }
  template <class... A>
  void scatter(A&&... a) {
    end(comm_.iscatter(std::forward<A>(a)...));
  }
  template <class... A>
  void scatterv(A&&... a) {
    end(comm_.iscatterv(std::forward<A>(a)...));
  }
  template <class... A>
  void all_gather(A&&... a) {
    end(comm_.iall_gather(std::forward<A>(a)...));
  }
  template <class... A>
  void all_gatherv(A&&... a) {
    end(comm_.iall_gatherv(std::forward<A>(a)...));
  }
  template <class... A>
  void all_to_all(A&&... a) {
    end(comm_.iall_to_all(std::forward<A>(a)...));
  }
  template <class... A>
  void all_to_allv(A&&... a) {
    end(comm_.iall_to_allv(std::forward<A>(a)...));
  }

 private:
  void end(const Request& request) {
    if (!tested_)
      comm_.wait(request);
    else
      while (!comm_.test(request)) relax();
  }

  Comm& comm_;
  const bool tested_;
};

}  // namespace dcgn::test
