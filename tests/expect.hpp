// What tests of errors have in common.
#pragma once

#include <dcgn/error.hpp>

#include <gtest/gtest.h>

#include <string>

namespace dcgn::test {

// The error that the action throws; Code::ok where it throws none.
template <class Action>
Error error_of(Action&& action) {
  try {
    action();
  } catch (const Error& error) {
    return error;
  }
  return Error(Code::ok, "nothing", "was thrown");
}

inline ::testing::AssertionResult contains(const std::string& text, const std::string& part) {
  if (text.find(part) != std::string::npos) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << "not said: " << part << "\nin: " << text;
}

}  // namespace dcgn::test
