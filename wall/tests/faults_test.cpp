// A wall whose screens are not alike, or of which one is gone, ends with the screen's name; and what it cannot give is
// said.
#include "expect.hpp"
#include "wall/tests/show.hpp"

#include <gtest/gtest.h>

#include <unistd.h>
#include <filesystem>

namespace dcgn::test {

namespace {

wall::Options faulty(const std::string& fault) {
  const std::string odd =
      (std::filesystem::temp_directory_path() / ("dcgn_wall_odd_" + std::to_string(getpid()))).string();
  std::filesystem::remove(odd);
  wall::Options o;
  o.layout = equal_screens(2, 1);
  o.command = {wall_program("faulty"), fault, odd};
  o.script.emplace();
  o.frames = 12;
  o.check_every = 1;
  return o;
}

void expect_end(const std::string& fault, Code code, const std::string& what) {
  wall::Options o = faulty(fault);
  if (fault == "late") o.deadline = std::chrono::milliseconds(1500);
  const Error error = error_of([&] { show(o); });
  EXPECT_EQ(error.code(), code) << error.what();
  EXPECT_TRUE(contains(error.what(), what));
  EXPECT_TRUE(contains(error.what(), "screen "));
}

TEST(WallFaults, TheFirstGlCallThatIsNotAlikeIsNamed) {
  const Error error = error_of([] { show(faulty("colour")); });
  EXPECT_EQ(error.code(), Code::mismatch);
  EXPECT_TRUE(contains(error.what(), "glColor3f(0, 0.5, 1) on screen "));
  EXPECT_TRUE(contains(error.what(), "glRecti(10, 10, 200, 160) on screen "));
  EXPECT_TRUE(contains(error.what(), "of frame 3"));
}

TEST(WallFaults, AScreenThatEndsAloneIsNamed) { expect_end("exit", Code::mismatch, "has ended"); }

TEST(WallFaults, AScreenThatIsKilledEndsTheWallWithItsName) {
  expect_end("kill", Code::aborted, "by signal 9 (Killed)");
}

TEST(WallFaults, AScreenThatDoesNotComeEndsTheWallAtTheDeadline) {
  expect_end("late", Code::deadline, "has not come within 1500 ms");
}

TEST(WallFaults, CallbacksThatAreNotAlikeAreNamed) { expect_end("idle", Code::mismatch, "has no idle callback"); }

TEST(WallFaults, WhatAWallCannotGiveIsSaid) {
  const auto warnings = [](const char* fault) {
    std::string all;
    for (const std::string& w : show(faulty(fault)).warnings) all += w + "\n";
    return all;
  };
  EXPECT_TRUE(contains(warnings("sockets"), "opens a socket"));
  EXPECT_TRUE(contains(warnings("threads"), "a second thread draws"));
  EXPECT_TRUE(contains(warnings("shader"), "gl_FragCoord"));
  EXPECT_EQ(warnings("none"), "");
}

TEST(WallFaults, ProgramsThatAreNotThereOrNotOfGlutAreNamed) {
  wall::Options o = faulty("none");
  o.command = {"/no/such/program"};
  const Error none = error_of([&] { show(o); });
  EXPECT_EQ(none.code(), Code::io);
  EXPECT_TRUE(contains(none.what(), "/no/such/program: No such file or directory"));
  o.command = {"true"};
  EXPECT_TRUE(contains(error_of([&] { show(o); }).what(), "expected one that is linked to freeglut"));
}

}  // namespace

}  // namespace dcgn::test
