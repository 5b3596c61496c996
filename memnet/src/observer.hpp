// What watches the network of a run.
#pragma once

namespace dcgn::memnet {

class Network;

class RunObserver {
 public:
  virtual ~RunObserver() = default;
  // Before each cycle that is simulated, and before packets are injected in it; perhaps several times. What is left out
  // was idle.
  virtual void stepping(const Network& network) = 0;
  // After it, before its deliveries are cleared.
  virtual void stepped(const Network& network) = 0;
  // After the last one.
  virtual void ended(const Network& network) = 0;
};

}  // namespace dcgn::memnet
