// Where a Config's members come from.
#include "base/unknown_settings.hpp"

#include <dcgn/config.hpp>
#include <dcgn/error.hpp>

#include <gtest/gtest.h>

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

namespace {

// A variable for the time of a test.
class Variable {
 public:
  Variable(const char* name, const std::string& value) : name_(name) { setenv(name, value.c_str(), 1); }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;
  ~Variable() { unsetenv(name_); }

 private:
  const char* name_;
};

class File {
 public:
  explicit File(const std::string& text)
      : path_(std::filesystem::temp_directory_path() / ("dcgn_settings_" + std::to_string(getpid()) + ".toml")) {
    std::ofstream(path_) << text;
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  ~File() { std::filesystem::remove(path_); }
  std::string path() const { return path_.string(); }

 private:
  std::filesystem::path path_;
};

std::string refusal(dcgn::Code code = dcgn::Code::configuration) {
  try {
    const dcgn::Config config;
    return "no error";
  } catch (const dcgn::Error& e) {
    EXPECT_EQ(e.code(), code);
    EXPECT_EQ(std::string(e.what()).find('\n'), std::string::npos) << "more than one line";
    return e.what();
  }
}

TEST(Settings, HaveDefaults) {
  const dcgn::Config config;
  EXPECT_EQ(config.deadline_s, 60);
  EXPECT_FALSE(config.eager_bytes);
  EXPECT_FALSE(config.seed);
  EXPECT_TRUE(config.errors_fatal);
  EXPECT_TRUE(config.direct);
  EXPECT_TRUE(config.p2p);
  EXPECT_FALSE(config.copy_engine_bytes);
}

TEST(Settings, SwitchesAreOnOrOffAndNothingElse) {
  {
    const File file("p2p = 'off'\n");
    const Variable config_file("DCGN_CONFIG", file.path());
    const dcgn::Config config;
    EXPECT_FALSE(config.p2p);
    EXPECT_TRUE(config.direct);
  }
  for (const char* name : {"DCGN_DIRECT", "DCGN_P2P", "DCGN_SHARE", "DCGN_CUDA_AWARE"}) {
    const Variable variable(name, "0");
    EXPECT_NE(refusal().find(std::string(name) + "=0: expected on or off"), std::string::npos) << refusal();
  }
}

TEST(Settings, ALaneIsAutomaticOrHasAtLeastAFewCells) {
  for (const char* value : {"1", "255", "1073741825", "-1"}) {
    const Variable lane("DCGN_LANE_BYTES", value);
    EXPECT_NE(refusal().find("DCGN_LANE_BYTES=" + std::string(value) +
                             ": expected a whole number from 256 to 1073741824, or 0"),
              std::string::npos)
        << refusal();
  }
  for (const char* value : {"0", "256"}) {
    const Variable lane("DCGN_LANE_BYTES", value);
    EXPECT_EQ(std::to_string(dcgn::Config{}.lane_bytes), value);
  }
}

TEST(Settings, TheCopyEngineIsOnOrOffOrOnFromSomeSizeOn) {
  const auto set_to = [](const char* value) {
    const Variable variable("DCGN_COPY_ENGINE", value);
    return dcgn::Config{}.copy_engine_bytes;
  };
  EXPECT_EQ(set_to("on"), std::nullopt);
  EXPECT_EQ(set_to("off"), dcgn::Config::never_copied);
  EXPECT_EQ(set_to("0"), 0u);
  EXPECT_EQ(set_to("65536"), 65536u);
  for (const char* value : {"", "no", "-1", "4k", "2000000000"}) {
    const Variable variable("DCGN_COPY_ENGINE", value);
    EXPECT_NE(refusal().find("DCGN_COPY_ENGINE=" + std::string(value) + ": expected on, off or a whole number"),
              std::string::npos)
        << refusal();
  }
}

TEST(Settings, PartsToDoWithoutAreWordsOfAList) {
  EXPECT_EQ(dcgn::Config{}.without, 0u);
  {
    const Variable without("DCGN_WITHOUT", "quick,bells");
    EXPECT_EQ(dcgn::Config{}.without, 1u | 8u);
  }
  const Variable without("DCGN_WITHOUT", "quick,speed");
  EXPECT_NE(refusal().find("DCGN_WITHOUT=quick,speed: expected words of quick, checks, relaxed, bells, batches, "
                           "rounds, teams, addresses"),
            std::string::npos)
      << refusal();
}

TEST(Settings, ProgramBeforeEnvironmentBeforeFileBeforeDefault) {
  const File file("deadline = 7.5\nrequests = 99\nlane_bytes = 2048\nerrors = 'returned'\n");
  const Variable config_file("DCGN_CONFIG", file.path());
  const Variable requests("DCGN_REQUESTS", "100");
  const Variable lane("DCGN_LANE_BYTES", "4096");
  const dcgn::Config config{.lane_bytes = 512};
  EXPECT_EQ(config.deadline_s, 7.5);
  EXPECT_EQ(config.requests, 100u);
  EXPECT_EQ(config.lane_bytes, 512u);
  EXPECT_FALSE(config.errors_fatal);
  EXPECT_EQ(config.buffered_bytes, 0u);
}

TEST(Settings, NumbersOfAFileKeepAllTheirDigits) {
  const File file("deadline = 1234567.5\nrequests = 100000.0\n");
  const Variable config_file("DCGN_CONFIG", file.path());
  const dcgn::Config config;
  EXPECT_EQ(config.deadline_s, 1234567.5);
  EXPECT_EQ(config.requests, 100000u);
}

TEST(Settings, KnowTheirOrigin) {
  const File file("deadline = 7.5\nrequests = 99\n");
  const Variable config_file("DCGN_CONFIG", file.path());
  const Variable requests("DCGN_REQUESTS", "100");
  EXPECT_EQ(dcgn::detail::setting_origin("DCGN_DEADLINE"), file.path());
  EXPECT_EQ(dcgn::detail::setting_origin("DCGN_REQUESTS"), "environment");
  EXPECT_EQ(dcgn::detail::setting_origin("DCGN_CONFIG"), "environment");
  EXPECT_EQ(dcgn::detail::setting_origin("DCGN_SEED"), "default");
}

TEST(Settings, NameTheVariableItsValueAndWhatWasExpected) {
  for (const char* value : {"", "-1", "0", "soon", "nan", "inf", "5s", "1e99"}) {
    const Variable deadline("DCGN_DEADLINE", value);
    const std::string message = refusal();
    EXPECT_NE(message.find("DCGN_DEADLINE=" + std::string(value) + ":"), std::string::npos) << message;
    EXPECT_NE(message.find("expected a number of seconds"), std::string::npos) << message;
  }
  for (const char* name : {"DCGN_EAGER_BYTES", "DCGN_LANE_BYTES", "DCGN_REQUESTS", "DCGN_SEED"})
    for (const char* value : {"", "-4", "1.5", "many", "99999999999999999999"}) {
      const Variable variable(name, value);
      const std::string message = refusal();
      EXPECT_NE(message.find(std::string(name) + "=" + value + ":"), std::string::npos) << message;
      EXPECT_NE(message.find("expected a whole number"), std::string::npos) << message;
    }
  const Variable errors("DCGN_ERRORS", "maybe");
  EXPECT_NE(refusal().find("DCGN_ERRORS=maybe: expected fatal or returned"), std::string::npos);
}

// Whatever is in it, the message is one line that leaves a terminal as it is.
TEST(Settings, ABadValueIsNamedInPrintableText) {
  const Variable deadline("DCGN_DEADLINE", "5\n\x1b[2Js\t");
  EXPECT_NE(refusal().find("DCGN_DEADLINE=5\\n\\x1b[2Js\\t: expected a number"), std::string::npos) << refusal();
  const std::string report = dcgn::Error(dcgn::Code::deadlock, "job", "two\nlines\x1b").what();
  EXPECT_EQ(report, "dcgn: job: two\nlines\\x1b");
}

// What toml++ has no answer of its own for.
TEST(Settings, AFileThatIsNoTomlIsRefused) {
  for (const char* text :
       {"seed = 1\n[=", "seed = 1\n\u03c7 = 2", "seed = 1\ndeadline = 1e3 \u03c7", "seed = 1\n[\"\\"}) {
    const File file(text);
    const Variable config_file("DCGN_CONFIG", file.path());
    EXPECT_NE(refusal().find(file.path() + ":2: "), std::string::npos) << refusal();
  }
}

TEST(Settings, NameTheLineOfAFileThatIsWrong) {
  {
    const File file("deadline = 1\n\ndeadlne = 2\n");
    const Variable config_file("DCGN_CONFIG", file.path());
    EXPECT_NE(refusal().find(file.path() + ":3: unknown key 'deadlne'"), std::string::npos) << refusal();
  }
  {
    const File file("deadline = = 1\n");
    const Variable config_file("DCGN_CONFIG", file.path());
    EXPECT_NE(refusal().find(file.path() + ":1:"), std::string::npos) << refusal();
  }
  {
    const File file("requests = 'few'\n");
    const Variable config_file("DCGN_CONFIG", file.path());
    EXPECT_NE(refusal().find(file.path() + ": requests=few: expected a whole number"), std::string::npos) << refusal();
  }
  {
    const Variable config_file("DCGN_CONFIG", "/no/such/file.toml");
    const std::string message = refusal(dcgn::Code::io);
    EXPECT_NE(message.find("DCGN_CONFIG=/no/such/file.toml: cannot be read: No such file"), std::string::npos)
        << message;
  }
  const Variable folder("DCGN_CONFIG", "/tmp");
  const std::string message = refusal(dcgn::Code::io);
  EXPECT_NE(message.find("DCGN_CONFIG=/tmp: cannot be read: Is a directory"), std::string::npos) << message;
}

TEST(Settings, MisspeltVariablesAreNamed) {
  const auto said = [](const std::string& part) {
    for (const std::string& text : dcgn::detail::unknown_settings())
      if (text.find(part) != std::string::npos) return true;
    return false;
  };
  const std::size_t before = dcgn::detail::unknown_settings().size();
  const Variable near_one("DCGN_DEADLIN", "3"), far("DCGN_COLOUR", "blue"), good("DCGN_REQUESTS", "20"),
      other("DCGN_EMULATED_GPUS", "2"), own("DCGN_TEST_SEEDS", "4"), prefixed("MY_DCGN_DEADLINE", "1");
  EXPECT_TRUE(said("DCGN_DEADLIN is set, but there is no such setting; did you mean DCGN_DEADLINE?"));
  EXPECT_TRUE(said("DCGN_COLOUR is set, but there is no such setting"));
  EXPECT_FALSE(said("COLOUR is set, but there is no such setting;"));
  EXPECT_EQ(dcgn::detail::unknown_settings().size(), before + 2);
}

}  // namespace
