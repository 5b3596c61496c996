// What becomes of traces: full logs, names of files, jobs that are stopped, what is refused.
#include "core/tests/job/support.hpp"
#include "core/tests/trace/slices.hpp"

#include <dcgn/dcgn.hpp>

#include <gtest/gtest.h>

#include <sys/stat.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace dcgn::test {
namespace {

Config to(const std::string& path, const NodeShape& node = {.cpus = 2}) {
  Config config;
  config.nodes = {node};
  config.deadline_s = 20 * slower;
  config.trace = path;
  return config;
}

void ping(Comm& comm, int messages) {
  int x = 0;
  for (int i = 0; i < messages; ++i) {
    if (comm.rank() == 0)
      comm.send(x, 1, i);
    else
      comm.recv(x, 0, i);
  }
}

TEST(Recorder, AFullLogCountsWhatItDrops) {
  const Folder folder;
  Config config = to(folder / "t.json");
  config.trace_events = 5;
  Job job(config);
  job.cpu(ping, 7);  // and finish()
  job.run();
  const Slices slices = read_slices(folder / "t.json");
  for (int rank = 0; rank < 2; ++rank) {
    const std::vector<Slice> calls = slices.of(rank);
    ASSERT_EQ(calls.size(), 5u);
    for (int i = 0; i < 5; ++i) EXPECT_EQ(calls[static_cast<std::size_t>(i)]["tag"], i) << "the first ones stay";
    EXPECT_EQ(slices.ranks.at(rank).at("dropped"), 3);
  }
}

TEST(Recorder, LooksThatFindNothingLeaveNothing) {
  const Folder folder;
  Config config = to(folder / "t.json", {.cpus = 1});
  config.trace_events = 2;
  Job job(config);
  job.cpu([](Comm& comm) {
    int x = 0;
    for (int i = 0; i < 100; ++i) EXPECT_FALSE(comm.iprobe(0, 1));
    const Request receive = comm.irecv(x, 0, 1);
    for (int i = 0; i < 100; ++i) EXPECT_FALSE(comm.test(receive));
    comm.send(x, 0, 1);
    for (int i = 0; i < 100; ++i) EXPECT_FALSE(comm.iprobe(0, 2));  // the log is full
    comm.wait(receive);
  });
  job.run();
  const Slices slices = read_slices(folder / "t.json");
  ASSERT_EQ(slices.all.size(), 2u);
  EXPECT_EQ(slices.all[0].name, "irecv");
  EXPECT_EQ(slices.all[1].name, "send");
  EXPECT_EQ(slices.ranks.at(0).at("dropped"), 2) << "wait and finish";
}

TEST(Recorder, CollectivesBesideOthersHaveRequests) {
  const Folder folder;
  Job job(to(folder / "t.json"));
  job.cpu([](Comm& comm) {
    int x = comm.rank(), y = 0;
    const Request r = comm.iall_reduce(Span<int>(&x, 1), Span<int>(&y, 1), Sum{});
    comm.wait(r);
    EXPECT_EQ(y, 1);
  });
  job.run();
  const std::vector<Slice> calls = read_slices(folder / "t.json").of(1);
  ASSERT_EQ(calls.size(), 3u);
  EXPECT_EQ(calls[0].name, "all_reduce");
  EXPECT_EQ(calls[0]["bytes"], 4);
  EXPECT_NE(calls[0]["request"], 0);
  EXPECT_EQ(calls[1].name, "wait");
  EXPECT_EQ(calls[1]["request"], calls[0]["request"]);
}

TEST(Recorder, MessagesWithDatatypesAreTheirPackedBytes) {
  const Folder folder;
  Job job(to(folder / "t.json"));
  job.cpu([](Comm& comm) {
    std::vector<int> matrix(16, comm.rank());
    const Datatype column = Datatype::vector(4, 1, 4, Datatype::of<int>());
    if (comm.rank() == 0)
      comm.send(ConstTypedBuffer(matrix.data(), column, 1), 1, 3);
    else
      comm.recv(TypedBuffer(matrix.data(), column, 1), 0, 3);
  });
  job.run();
  const Slices slices = read_slices(folder / "t.json");
  for (int rank = 0; rank < 2; ++rank) {
    ASSERT_EQ(slices.of(rank).size(), 2u);
    EXPECT_EQ(slices.of(rank)[0]["bytes"], 16);
  }
}

// A CPU rank whose buffer is a GPU's, and another one: the trace of their messages.
Slices trace_copies(std::uint64_t events) {
  const Folder folder;
  Config config = to(folder / "t.json", {.cpus = 2, .gpus = 1, .slots = 0});
  config.copy_engine_bytes = 0;  // emulated GPUs have none else
  config.trace_events = events;
  Job job(config);
  constexpr std::size_t bytes = std::size_t{1} << 20;
  const DeviceBuffer<char> memory(job.world().device(0), bytes);
  job.cpu([&](Comm& comm) {
    std::vector<char> host(bytes, 'x');
    if (comm.rank() == 0) {
      comm.recv_bytes(memory.data(), bytes, 1, 1);
      comm.send_bytes(memory.data(), bytes, 1, 2);
    } else {
      comm.send_bytes(host.data(), bytes, 0, 1);
      host.assign(bytes, 'y');
      comm.recv_bytes(host.data(), bytes, 0, 2);
      EXPECT_EQ(host, std::vector<char>(bytes, 'x'));
    }
  });
  job.run();
  return read_slices(folder / "t.json");
}

TEST(Recorder, CopiesByEnginesAreThere) {
  if (Device::count() < 1) GTEST_SKIP() << "no GPU, not even an emulated one";
  const Slices slices = trace_copies(1000);
  std::map<std::string, std::int64_t> moved;
  const Slice last = slices.of(1).at(1);  // the recv
  for (const Slice& s : slices.all) {
    if (s.category != "copy") continue;
    moved[s.name] += s["bytes"];
    EXPECT_GE(s.end, s.begin);
    EXPECT_LE(s.end, last.end + 1'000'000) << "the GPU's clock is not far from the host's";
  }
  EXPECT_EQ(moved["copy from the host"], 1 << 20);
  EXPECT_EQ(moved["copy to the host"], 1 << 20);
}

TEST(Recorder, CopiesThatHaveNoRoomAreCounted) {
  if (Device::count() < 1) GTEST_SKIP() << "no GPU, not even an emulated one";
  ::testing::internal::CaptureStderr();
  const Slices slices = trace_copies(1);
  const std::string said = ::testing::internal::GetCapturedStderr();
  EXPECT_TRUE(contains(said, "copies of this process had no room in logs of DCGN_TRACE_EVENTS=1 each")) << said;
  EXPECT_EQ(std::count_if(slices.all.begin(), slices.all.end(), [](const Slice& s) { return s.category == "copy"; }),
            1);
}

TEST(Recorder, JobsOfOneProgramHaveFilesOfTheirOwn) {
  const Folder folder;
  for (int n = 1; n <= 3; ++n) {
    Job job(to(folder / "a.b.json"));
    job.cpu(ping, n);
    job.run();
  }
  EXPECT_EQ(folder.files(), 3u);
  EXPECT_EQ(read_slices(folder / "a.b.json").of(0).size(), 2u);
  EXPECT_EQ(read_slices(folder / "a.b-2.json").of(0).size(), 3u);
  EXPECT_EQ(read_slices(folder / "a.b-3.json").of(0).size(), 4u);
}

TEST(Recorder, APageIsHtmlAndHasNoOtherFile) {
  const Folder folder;
  Job job(to(folder / "t.html"));
  job.cpu(ping, 3);
  job.run();
  EXPECT_EQ(folder.files(), 1u);
  EXPECT_TRUE(contains(read_slices(folder / "t.html").text, "</html>"));
}

TEST(Recorder, ArrowsGoFromSendsToWhatHadTheMessage) {
  const Folder folder;
  Job job(to(folder / "t.json"));
  job.cpu([](Comm& comm) {
    int x = 0;
    if (comm.rank() == 0) {
      comm.send(x, 1, 1);
      comm.send(x, 1, 2);
    } else {
      const Request r = comm.irecv(x, 0, 1);
      comm.recv(x, 0, 2);
      comm.wait(r);
    }
  });
  job.run();
  const Slices slices = read_slices(folder / "t.json");
  std::map<std::pair<std::string, std::int64_t>, std::pair<int, std::int64_t>> ends;  // by phase and number
  std::istringstream lines(slices.text);
  for (std::string line; std::getline(lines, line);)
    if (const std::string phase = text_after(line, "ph"); phase == "s" || phase == "f")
      ends[{phase, number_after(line, "id")}] = {static_cast<int>(number_after(line, "tid")), ns_after(line, "ts")};
  ASSERT_EQ(ends.size(), 4u);
  const auto in = [&](const std::string& phase, std::int64_t number, int rank, std::size_t call) {
    const auto [thread, time] = ends.at({phase, number});
    const Slice slice = slices.of(rank).at(call);
    return thread == rank && slice.begin <= time && time <= slice.end;
  };
  EXPECT_TRUE(in("s", 1, 0, 0) && in("f", 1, 1, 2)) << "the wait has the first message";
  EXPECT_TRUE(in("s", 2, 0, 1) && in("f", 2, 1, 1)) << "the receive the second";
}

TEST(Recorder, AWorldWithoutAJobWritesWhenItGoes) {
  const Folder folder;
  {
    World world(to(folder / "t.json", {.cpus = 1}));
    Comm comm = world.attach(0);
    int x = 0;
    comm.send(x, 0);
    comm.recv(x, 0);
  }
  EXPECT_EQ(read_slices(folder / "t.json").of(0).size(), 2u);
}

TEST(Recorder, AStoppedJobWritesWhatThereIsAndItsErrorStays) {
  const Folder folder;
  Config config = to(folder / "t.json");
  config.deadline_s = 20;  // far beyond what finding a deadlock takes
  Job job(config);
  job.cpu([](Comm& comm) {
    int x = 0;
    comm.recv(x, 1 - comm.rank());
  });
  EXPECT_EQ(run_to_error(job).code, Code::deadlock);
  const Slices slices = read_slices(folder / "t.json");
  for (int rank = 0; rank < 2; ++rank) {
    ASSERT_EQ(slices.of(rank).size(), 1u);
    EXPECT_EQ(slices.of(rank)[0].name, "recv");
    EXPECT_EQ(slices.of(rank)[0]["peer"], 1 - rank);
    EXPECT_GT(slices.of(rank)[0].end, slices.of(rank)[0].begin);
  }
}

TEST(Recorder, WhatCannotBeWrittenIsRefusedFirst) {
  const Folder folder;
  const Error no_folder = error_of([&] { World world(to(folder / "nowhere/t.json")); });
  EXPECT_EQ(no_folder.code(), Code::io);
  EXPECT_TRUE(contains(no_folder.what(), folder / "nowhere/t.json"));
  for (const char* name : {"t.txt", "json", "t"}) {
    const Error ending = error_of([&] { World world(to(folder / name)); });
    EXPECT_EQ(ending.code(), Code::configuration);
    EXPECT_TRUE(contains(ending.what(), std::string(name) + ": expected a name that ends in .json or .html"));
  }
  Config none = to(folder / "t.json");
  none.trace_events = 0;
  EXPECT_TRUE(contains(error_of([&] { World world(none); }).what(), "Config::trace_events=0: expected 1 to"));
  EXPECT_EQ(folder.files(), 0u);
}

TEST(Recorder, AFullDiskIsALineAndTheJobIsGood) {
  if (::access("/dev/full", W_OK) != 0) GTEST_SKIP() << "no /dev/full here";
  const Folder folder;
  ASSERT_EQ(::symlink("/dev/full", (folder / "t.json").c_str()), 0);
  ::testing::internal::CaptureStderr();
  {
    Job job(to(folder / "t.json"));
    job.cpu(ping, 1000);
    EXPECT_NO_THROW(job.run());
  }
  EXPECT_TRUE(contains(::testing::internal::GetCapturedStderr(), "dcgn: the trace " + folder / "t.json"));
}

TEST(Recorder, NothingIsRecordedUnlessAskedFor) {
  Job job({.nodes = {{.cpus = 2}}, .trace = ""});
  job.cpu(ping, 1);
  const std::uint64_t without = job.world().host_bytes();
  const Folder folder;
  Config config = to(folder / "t.json");
  config.trace_events = 1000;
  const World world(config);
  EXPECT_GE(world.host_bytes(), without + 2 * 64 * 1000);
}

}  // namespace
}  // namespace dcgn::test
