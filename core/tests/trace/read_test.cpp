// Traces read back, and files that are none.
#include "core/tests/trace/documents.hpp"

#include "trace/analysis.hpp"
#include "trace/chrome.hpp"
#include "trace/read_document.hpp"

#include <dcgn/error.hpp>

#include <gtest/gtest.h>

#include <sstream>
#include <string>

using namespace dcgn::trace;

namespace {

Document read(const std::string& text) {
  std::istringstream in(text);
  return read_chrome(in, "t.json");
}

const std::string rank_0 =
    R"json({"ph":"M","name":"thread_name","pid":3,"tid":0,"args":{"name":"CPU 4 (rank 0)","rank":0,"process":2,"node":3,)json"
    R"("device":-1,"slot":-1,"cpu":4,"dropped":18446744073709551615}})";
const std::string a_send =
    R"({"ph":"X","name":"ssend","cat":"call","pid":3,"tid":0,"ts":1.234,"dur":0.001,"args":{"peer":0,"tag":7,)"
    R"("communicator":2,"bytes":9007199254740993,"request":18446744073709551615,"from":-1,"from_tag":-1,"from_bytes":0}})";

std::string trace_of(const std::string& entries, const std::string& other = R"({"dcgn":1})") {
  return "{\"traceEvents\":[\n" + entries + "\n],\"otherData\":" + other + "}\n";
}

}  // namespace

TEST(Read, AllThatATraceSays) {
  const Document d = read(trace_of(
      rank_0 + ",\n" + a_send + ",\n" +
          R"( {"tid":1, "pid":3, "args":{"device":5,"device_name":"H\u00e9 \"x\"\n","node":3,"process":2,"name":"GPU 5"},
               "name":"thread_name", "ph":"M"},
              {"ph":"X","cat":"kernel","name":"k<int>","pid":3,"tid":1,"ts":4,"dur":2.5},
              {"ph":"X","cat":"copy","name":"to the host","pid":3,"tid":1,"ts":3e0,"dur":1,"args":{"bytes":64}},
              {"ph":"s","cat":"message","id":1,"ts":1.234,"pid":3,"tid":0, "more":[1,{"a":null},true,"x"]})",
      R"({"program":"job","clock_error_ns":40,"dcgn":1,"later":false})"));
  EXPECT_EQ(d.program, "job");
  EXPECT_EQ(d.clock_error_ns, 40U);
  ASSERT_EQ(d.ranks.size(), 1U);
  const Rank& r = d.ranks[0];
  EXPECT_EQ(r.process, 2);
  EXPECT_EQ(r.node, 3);
  EXPECT_EQ(r.device, -1);
  EXPECT_EQ(r.cpu, 4);
  EXPECT_EQ(r.dropped, 18446744073709551615U);
  ASSERT_EQ(r.events.size(), 1U);
  const Event& e = r.events[0];
  EXPECT_EQ(e.begin_ns, 1234U);
  EXPECT_EQ(e.end_ns, 1235U);
  EXPECT_EQ(e.call, dcgn::message::Call::ssend);
  EXPECT_EQ(e.peer, 0);
  EXPECT_EQ(e.tag, 7);
  EXPECT_EQ(e.communicator, 2);
  EXPECT_EQ(e.bytes, 9007199254740993);  // not by way of a double
  EXPECT_EQ(e.request, 18446744073709551615U);
  ASSERT_EQ(d.devices.size(), 1U);
  EXPECT_EQ(d.devices[0].name, "H\xc3\xa9 \"x\"\n");
  EXPECT_EQ(d.devices[0].device, 5);
  ASSERT_EQ(d.devices[0].activities.size(), 2U);
  EXPECT_EQ(d.devices[0].activities[0].bytes, 64);  // by their begins
  EXPECT_EQ(d.devices[0].activities[1].name, "k<int>");
  EXPECT_EQ(d.devices[0].activities[1].end_ns, 6500U);
}

// What is written, arrows of messages and all, is what is read.
TEST(Read, WhatIsWrittenIsTheSame) {
  const Document documents[] = {dcgn::test::ping_pong(3), dcgn::test::stencil({.nodes = 2}), {}};
  for (const Document& document : documents) {
    std::ostringstream first, second;
    write_chrome(document, first);
    write_chrome(read(first.str()), second);
    EXPECT_EQ(first.str(), second.str());
    const std::size_t messages = matched_messages(document).size();
    std::size_t arrows = 0;
    for (std::size_t at = 0; (at = first.str().find("\"ph\":\"f\"", at)) != std::string::npos; ++at) ++arrows;
    EXPECT_EQ(arrows, messages);
  }
}

TEST(Read, RefusesOthersByNameLineAndWhatWasExpected) {
  const auto with = [](std::string text, const std::string& from, const std::string& to) {
    return text.replace(text.find(from), from.size(), to);
  };
  const std::string good = trace_of(rank_0 + ",\n" + a_send);
  read(good);
  const struct {
    std::string text, said;
  } cases[] = {
      {"", "t.json:1: the file ends: expected an object"},
      {"[]", "t.json:1: '[': expected an object"},
      {"\n\nhello", "t.json:3: 'h': expected an object"},
      {"{\"traceEvents\":[]}", "t.json:1: expected a trace of Decagon's, whose otherData has \"dcgn\":1"},
      {trace_of("", R"({"dcgn":2})"), "\"dcgn\":2: expected 1; this is of a newer Decagon"},
      {good.substr(0, good.size() / 2), "the file ends: expected"},
      {good + "x", "t.json:5: 'x': expected the file's end"},
      {with(good, "ssend", "shout"), "t.json:3: \"shout\": expected a call's name, as in send"},
      {with(good, "\"ts\":1.234", "\"ts\":-1"), "t.json:3: expected microseconds from 0, below 9e12"},
      {with(good, "\"ts\":1.234", "\"ts\":\"1\""), "t.json:3: '\"': expected a number"},
      {with(good, "\"tag\":7", "\"tag\":7.5"), "t.json:3: 7.5: expected a whole number"},
      {with(good, "\"tag\":7", "\"tag\":4294967296"), "t.json:3: 4294967296: expected at least -2147483648"},
      {with(good, "\"peer\":0", "\"peer\":1"), "a call of rank 0 with rank 1: expected -1 to 0"},
      {with(good, "\"rank\":0", "\"rank\":1"), "rank 1 of 1: expected each from 0 on, once"},
      {trace_of(a_send), "t.json:2: a call in thread 0 of process 3: expected the thread_name of a rank before"},
      {trace_of(rank_0 + R"(,{"ph":"X","cat":"kernel","name":"k","pid":3,"tid":0,"ts":4,"dur":2})"),
       "expected the thread_name of a device before"},
      {"{\"a\":\"\\x\"}", "expected one of \"\\/bfnrtu after a backslash"},
      {"{\"a\":" + std::string(100, '['), "expected at most 64 values inside each other"},
      {"{\"a\":nil}", "expected a value"},
  };
  for (const auto& one : cases) {
    try {
      read(one.text);
      ADD_FAILURE() << "taken: " << one.text;
    } catch (const dcgn::Error& error) {
      EXPECT_EQ(error.code(), dcgn::Code::configuration);
      EXPECT_NE(std::string(error.what()).find(one.said), std::string::npos)
          << error.what() << "\nexpected " << one.said;
    }
  }
}
