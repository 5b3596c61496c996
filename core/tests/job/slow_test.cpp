// Why messages took the slow path: in the report and in a trace.
#include <dcgn/gpu/launch.hpp>
#include <dcgn/job.hpp>
#include "../trace/slices.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <future>
#include <map>
#include <string>
#include <vector>

namespace dcgn::test {
namespace {

std::map<std::string, std::uint64_t> slow_of(const RankReport& r) {
  std::map<std::string, std::uint64_t> slow;
  for (const SlowMessages& s : r.slow) slow[s.reason] = s.messages;
  return slow;
}

TEST(SlowPath, IsCountedByTheReason) {
  const Folder folder;
  Config config{.nodes = {{.cpus = 2}}};
  config.trace = folder / "t.json";
  std::promise<void> sent;
  Report report;
  {
    Job job(config);
    job.cpu([&](Comm& comm) {
      int x = 7;
      if (comm.rank() == 0) {
        comm.send(x, 1, 1);
        comm.send(x, 1, 2);
        sent.set_value();
        comm.wait(comm.isend(x, 1, 3));
        comm.ssend(x, 1, 4);
      } else {
        sent.get_future().wait();
        comm.recv(x, 0, 2);  // which is behind the other one
        comm.recv(x, 0, 1);  // which has been kept since
        comm.wait(comm.irecv(x, 0, 3));
        comm.recv(x, 0, 4);
      }
    });
    report = job.run();
  }
  auto sends = slow_of(report.ranks[0]), receives = slow_of(report.ranks[1]);
  EXPECT_EQ(sends, (std::map<std::string, std::uint64_t>{{"nonblocking", 1}, {"synchronous or buffered", 1}}));
  receives.erase("not there yet");
  EXPECT_EQ(receives, (std::map<std::string, std::uint64_t>{
                          {"behind another message", 1}, {"beside open messages", 1}, {"nonblocking", 1}}));
  const std::string text = to_string(report);
  EXPECT_NE(text.find(" of 8 messages, sent or received, took the slow path: "), std::string::npos) << text;
  EXPECT_NE(text.find("12 % behind another message"), std::string::npos) << text;

  const Slices slices = read_slices(folder / "t.json");
  std::vector<std::string> reasons;
  for (const Slice& s : slices.of(0))
    if (s.name != "finish") reasons.push_back(s.slow);
  EXPECT_EQ(reasons, (std::vector<std::string>{"", "", "", "", "synchronous or buffered"}));
  EXPECT_EQ(slices.of(1)[0].slow, "behind another message");
  EXPECT_EQ(slices.of(1)[1].slow, "beside open messages");
}

// A thread of a slot sends what does not fit into one packet, and what does.
struct Odd {
  DCGN_HOST_DEVICE void operator()(gpu::Context& ctx, gpu::Comm comm, unsigned char* buffer) const {
    const gpu::Slot me = comm.slot(ctx.block_rank());
    const gpu::ThreadScope thread = gpu::this_thread();
    me.send_bytes(thread, buffer, 8, 0, 65536);
    me.send_bytes(thread, buffer + 1, 4, 0, 1);
    me.send_bytes(thread, buffer, 3, 0, 2);
    me.send_bytes(thread, buffer, 8, 0, 3);
    me.send_bytes(thread, buffer, 100, 0, 4);
  }
};

TEST(SlowPath, IsNamedForAGpusThreadsToo) {
  Job job({.nodes = {{.cpus = 1, .gpus = 1}}});
  const DeviceBuffer<unsigned char> buffer(job.world().device(0), 128);
  buffer.upload(std::vector<unsigned char>(128, 9).data());
  job.cpu([](Comm& comm) {
    std::vector<unsigned char> in(128);
    for (const int tag : {65536, 1, 2, 3, 4}) {
      const Status s = comm.recv(in, 1, tag);
      EXPECT_EQ(in[static_cast<std::size_t>(s.bytes) - 1], 9);
    }
  });
  job.gpu({.grid = 1, .block = 1}, Odd{}, buffer.data());
  const bool each_decides = detail::decides_in_block ||
                            job.world().device(0).kind() == DeviceKind::cuda;  // else the leader of emulated threads
  const Report report = job.run();
  EXPECT_EQ(report.ranks[1].sent_messages, 5u);
  const std::map<std::string, std::uint64_t> expected = {{"tag above 65535", 1}, {"not in aligned words", 2}};
  EXPECT_EQ(slow_of(report.ranks[1]), each_decides ? expected : (std::map<std::string, std::uint64_t>{}));
}

}  // namespace
}  // namespace dcgn::test
