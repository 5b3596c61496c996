// dcgn wall: GLUT programs on a wall of screens.
#include "apps/image/image.hpp"
#include "base/output_file.hpp"
#include "tool/commands.hpp"
#include "tool/exit_code.hpp"
#include "tool/table.hpp"
#include "tool/values.hpp"
#include "wall/src/front_end.hpp"
#include "wall/src/virtual_display.hpp"

#include <dcgn/error.hpp>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <optional>
#include <utility>

namespace dcgn::tool {

namespace {

using Json = nlohmann::ordered_json;

constexpr const char* wall_run_help =
    "A GLUT program on a wall of screens, unchanged\n\n"
    "Starts the program once a screen. Each of them draws its part; what users do at any screen, time and chance are "
    "the\n"
    "same for all, and pictures appear on all at once. Programs must be linked to freeglut (libglut.so.3.12 or\n"
    "libglut.so.3) or load it. SIGUSR1 writes the --snapshot at any time.";

constexpr const char* wall_run_examples =
    "Examples:\n"
    "  dcgn wall run --layout wall.toml -- ./program its arguments\n"
    "  dcgn wall run --layout 2x2:960x540 --headless --frames 60 --snapshot wall.png -- ./program\n"
    "  dcgn wall run --layout 2x1:640x480 --replay events.txt -- ./program      keys and mouse from a file\n\n";

constexpr const char* snapshot_help =
    "What a wall shows, as one PNG\n\n"
    "Runs the program as `dcgn wall run --headless` does, for so many frames of 1/60 s, and writes the whole wall. "
    "What no\n"
    "screen shows, as behind bezels, is black.";

constexpr const char* demo_help =
    "A scene on a wall of 2 x 2 screens, without any\n\n"
    "Runs dcgn_wall_scene, a GLUT program that knows nothing of walls, under Xvfb; writes what each screen shows "
    "beside\n"
    "the others, and tells how far apart in time they were.";

struct WallArguments {
  std::string layout, replay, snapshot;
  std::int64_t random = -1, frames = -1;
  double step_ms = 1000.0 / 60, deadline_s = 60;
  int check_every = 16;
  bool exact = false, headless = false, alone = false;
  std::string balance = "off", compression = "automatic";
  bool scripted = false;  // even where there is no script: nobody does anything
  std::vector<std::string> program;
  JsonOption json;
};

volatile std::sig_atomic_t picture_wanted = 0;

void want_picture(int) { picture_wanted = 1; }

void add_wall_options(CLI::App& app, WallArguments& a) {
  app.add_flag(
      "--exact", a.exact,
      "Every pixel as in one window: each screen draws into a window as large as the wall, of which it fills its\n"
      "part alone");
  app.add_option("--balance", a.balance,
                 "Let screens with little to draw draw parts of others', by what each takes; implies --exact")
      ->type_name("on|off")
      ->check(word_of({"on", "off"}))
      ->capture_default_str();
  app.add_option("--compression", a.compression,
                 "Of the pixels that pass between hosts for that: none, lossless, or what takes less time")
      ->type_name("none|lossless|automatic")
      ->check(word_of({"none", "lossless", "automatic"}))
      ->capture_default_str();
  app.add_flag(
      "--alone", a.alone,
      "Then run the screen that took longest by itself, for as many frames: what share of its rate the wall has");
  app.add_option("--check-every", a.check_every, "Compare the GL calls of the screens each so many frames; 0: never")
      ->type_name("N")
      ->check(whole_number(0, 1 << 30))
      ->capture_default_str();
  app.add_option("--deadline", a.deadline_s, "Longest that a frame may take on a screen, in seconds")
      ->type_name("S")
      ->check(positive_number())
      ->capture_default_str();
  a.json.add_to(app, "The report");
}

void add_script_options(CLI::App& app, WallArguments& a) {
  app.add_option("--replay", a.replay, "What users do, from a file: docs/guide/wall.md has its words")
      ->type_name("FILE");
  app.add_option("--random", a.random, "Keys, buttons, motion and sizes at random instead, from that seed")
      ->type_name("SEED")
      ->check(whole_number(0, INT64_MAX));
  app.add_option("--step", a.step_ms, "The program's time from frame to frame of a replay, in ms [1000/60]")
      ->type_name("MS")
      ->check(positive_number());
}

void add_program(CLI::App& app, WallArguments& a) {
  app.add_option("--layout", a.layout, "A file of TOML, or COLUMNSxROWS:WIDTHxHEIGHT of equal screens")
      ->type_name("LAYOUT")
      ->required();
  app.add_option("PROGRAM", a.program, "The program and its arguments, after --")->type_name("...")->required();
}

pixels::Compression compression_of(const std::string& word) {
  if (word == "none") return pixels::Compression::none;
  return word == "lossless" ? pixels::Compression::lossless : pixels::Compression::automatic;
}

// What a clock can count: a step has a nanosecond at least.
void check_times(const WallArguments& a) {
  if (a.deadline_s < 1e-3 || a.deadline_s > 1e9)
    throw Error(Code::configuration, "wall",
                fmt::format("--deadline {}: expected from 0.001 to 1e9 seconds", a.deadline_s));
  if (a.step_ms < 1e-6 || a.step_ms > 1e9)
    throw Error(Code::configuration, "wall", fmt::format("--step {}: expected from 1e-06 to 1e9 ms", a.step_ms));
}

wall::Options options_of(const WallArguments& a) {
  wall::Options o;
  check_times(a);
  o.layout = wall::load_layout(a.layout);
  o.command = a.program;
  o.exact = a.exact;
  o.balance = a.balance == "on";
  o.compression = compression_of(a.compression);
  o.frames = a.frames;
  o.check_every = a.check_every;
  o.step = std::chrono::nanoseconds(static_cast<std::int64_t>(a.step_ms * 1e6));
  o.deadline = std::chrono::milliseconds(static_cast<std::int64_t>(a.deadline_s * 1e3));
  if (!a.replay.empty() && a.random >= 0)
    throw Error(Code::configuration, "wall", "--replay and --random: expected one of them");
  if (a.alone && a.frames < 0)
    throw Error(Code::configuration, "wall", "--alone: expected --frames too, for both runs");
  if (a.scripted) o.script.emplace();
  if (!a.replay.empty()) o.script = wall::load_script(a.replay);
  if (a.random >= 0) {
    if (a.frames < 0) throw Error(Code::configuration, "wall", "--random: expected --frames too, which ends it");
    o.script = wall::random_script(static_cast<std::uint64_t>(a.random), a.frames, o.layout.width, o.layout.height);
  }
  o.warn = [](const std::string& what) { fmt::print(stderr, "dcgn: wall: warning: {}\n", what); };
  return o;
}

void write_picture(base::OutputFile& output, const wall::WallPicture& picture) {
  image::Image image(picture.width, picture.height);
  for (int y = 0; y < picture.height; ++y)
    for (int x = 0; x < picture.width; ++x) {
      const std::uint8_t* const rgb = &picture.rgb[(static_cast<std::size_t>(y) * picture.width + x) * 3];
      image.at(x, y) = {rgb[0], rgb[1], rgb[2]};
    }
  image::write_png(output, image);
}

// Without a display of its own; with few threads a screen, because all screens share this machine's cores.
std::optional<wall::VirtualDisplay> go_headless(wall::Layout& layout) {
  const wall::Extent extent = wall::place_on_one_display(layout, "");
  std::optional<wall::VirtualDisplay> display(std::in_place, extent.width, extent.height);
  for (wall::Screen& screen : layout.screens) screen.display = display->name();
  setenv("LP_NUM_THREADS", "1", 0);
  setenv("LIBGL_ALWAYS_SOFTWARE", "1", 0);
  return display;
}

// The screen whose frames took longest, without the others.
struct Alone {
  std::string name;
  double frame_ms = 0;
};

std::optional<Alone> run_alone(wall::Options o, const wall::Report& r) {
  const auto slowest = std::max_element(r.screens.begin(), r.screens.end(),
                                        [](const auto& a, const auto& b) { return a.frame_ms < b.frame_ms; });
  if (slowest == r.screens.end() || r.exit_code != 0) return std::nullopt;
  std::erase_if(o.layout.screens, [&](const wall::Screen& screen) { return screen.name != slowest->name; });
  o.balance = o.picture_at_end = false;
  o.frames = r.frames;
  return Alone{slowest->name, wall::run_wall(o, {}).frame_ms};
}

Json document_of(const WallArguments& a, const wall::Options& o, const wall::Report& r,
                 const std::optional<Alone>& alone) {
  Json screens = Json::array();
  for (const wall::ScreenReport& s : r.screens)
    screens.push_back({{"name", s.name},
                       {"pictures", s.pictures},
                       {"frame_ms", s.frame_ms},
                       {"draw_ms", s.draw_ms},
                       {"given_pixels", s.given_pixels},
                       {"given_bytes", s.given_bytes}});
  Json document = {{"what", "wall"},
                   {"layout", a.layout},
                   {"exact", o.exact || o.balance},
                   {"balance", o.balance},
                   {"width", o.layout.width},
                   {"height", o.layout.height},
                   {"frames", r.frames},
                   {"pictures", r.pictures},
                   {"seconds", r.seconds},
                   {"frame_ms", r.frame_ms},
                   {"slowest_ms", r.slowest_ms},
                   {"cuts", r.cuts},
                   {"events", r.events},
                   {"checked_frames", r.checked},
                   {"skew_pictures", r.most_skew},
                   {"spread_ms", {{"median", r.median_spread_ms}, {"most", r.most_spread_ms}}},
                   {"exit_code", r.exit_code},
                   {"screens", screens}};
  if (alone)
    document["alone"] = {
        {"screen", alone->name}, {"frame_ms", alone->frame_ms}, {"share", alone->frame_ms / r.frame_ms}};
  return document;
}

void print_report(const wall::Options& o, const wall::Report& r) {
  using enum Table::Align;
  std::vector<Table::Column> columns{{"screen", left}, {"pictures"}, {"ms a frame"}, {"ms to draw"}};
  if (o.balance) columns.insert(columns.end(), {{"pixels given a picture"}, {"MB given"}});
  Table table(columns);
  for (const wall::ScreenReport& s : r.screens) {
    std::vector<std::string> row{s.name, fmt::to_string(s.pictures), fmt::format("{:.2f}", s.frame_ms),
                                 fmt::format("{:.2f}", s.draw_ms)};
    if (o.balance) {
      row.push_back(fmt::to_string(s.given_pixels / std::max<std::int64_t>(1, s.pictures)));
      row.push_back(fmt::format("{:.1f}", static_cast<double>(s.given_bytes) * 1e-6));
    }
    table.add(row);
  }
  fmt::print("{}\n", table.text());
  fmt::print("{} frames, {} pictures in {:.2f} s: {:.1f} a second\n", r.frames, r.pictures, r.seconds,
             r.seconds > 0 ? static_cast<double>(r.pictures) / r.seconds : 0);
  if (r.frame_ms > 0)
    fmt::print("a frame takes {:.2f} ms, of which the slowest screen of each works {:.2f} ms: {:.0f} %\n", r.frame_ms,
               r.slowest_ms, 100 * r.slowest_ms / r.frame_ms);
  if (o.balance) fmt::print("the wall was cut anew {} times\n", r.cuts);
  fmt::print("screens apart: {} picture at most; {:.2f} ms in the middle, {:.2f} ms at most\n", r.most_skew,
             r.median_spread_ms, r.most_spread_ms);
  fmt::print("{} events; GL calls alike in all {} frames that were compared\n", r.events, r.checked);
}

int run(WallArguments& a, bool report) {
  wall::Options o = options_of(a);
  a.json.open();
  std::optional<base::OutputFile> picture;
  if (!a.snapshot.empty()) picture.emplace(a.snapshot);
  o.picture_at_end = picture.has_value();
  if (picture && a.frames < 0) {
    struct sigaction action {};
    action.sa_handler = want_picture;
    sigaction(SIGUSR1, &action, nullptr);
    o.wants_picture = [] { return std::exchange(picture_wanted, 0) != 0; };
  }
  std::optional<wall::VirtualDisplay> display;
  if (a.headless) display = go_headless(o.layout);
  const wall::Report r = wall::run_wall(o, [&](const wall::WallPicture& whole) {
    if (a.frames < 0) {
      base::OutputFile again(a.snapshot);  // each time anew
      write_picture(again, whole);
    } else {
      write_picture(*picture, whole);
    }
  });
  std::optional<Alone> alone;
  if (a.alone) alone = run_alone(o, r);
  a.json.write(document_of(a, o, r, alone).dump(2));
  if (report && !a.json.on_stdout()) print_report(o, r);
  if (report && alone && !a.json.on_stdout())
    fmt::print("{} alone takes {:.2f} ms a frame: the wall has {:.0f} % of its rate\n", alone->name, alone->frame_ms,
               100 * alone->frame_ms / r.frame_ms);
  if (r.exit_code != 0) fmt::print(stderr, "dcgn: wall: the program ended with exit code {}\n", r.exit_code);
  return r.exit_code == 0 ? exit_ok : exit_job_failed;
}

void add_run(CLI::App& parent, Action& chosen) {
  const auto a = std::make_shared<WallArguments>();
  CLI::App* app = parent.add_subcommand("run", wall_run_help);
  add_program(*app, *a);
  app->add_option("--frames", a->frames, "End after so many frames [when the program does]")
      ->type_name("N")
      ->check(whole_number(1, INT64_MAX));
  app->add_flag("--headless", a->headless, "All screens on a display of Xvfb, which nobody sees");
  app->add_option("--snapshot", a->snapshot,
                  "Where the picture of the wall goes: after the last of --frames, or at SIGUSR1")
      ->type_name("FILE");
  add_script_options(*app, *a);
  add_wall_options(*app, *a);
  app->footer(std::string(wall_run_examples) + exit_codes_help);
  app->callback([a, &chosen] { chosen = [a] { return run(*a, true); }; });
}

void add_snapshot(CLI::App& parent, Action& chosen) {
  const auto a = std::make_shared<WallArguments>();
  CLI::App* app = parent.add_subcommand("snapshot", snapshot_help);
  add_program(*app, *a);
  a->frames = 30;
  a->headless = a->scripted = true;
  a->snapshot = "wall.png";
  app->add_option("--frames", a->frames, "After so many frames")
      ->type_name("N")
      ->check(whole_number(1, INT64_MAX))
      ->capture_default_str();
  app->add_option("-o,--output", a->snapshot, "The picture")->type_name("FILE")->capture_default_str();
  add_script_options(*app, *a);
  add_wall_options(*app, *a);
  app->footer(std::string("Examples:\n"
                          "  dcgn wall snapshot --layout 3x3:320x240 -o wall.png -- ./program\n\n") +
              exit_codes_help);
  app->callback([a, &chosen] {
    chosen = [a] {
      const int code = run(*a, false);
      if (code == exit_ok && !a->json.on_stdout()) fmt::print("{}\n", a->snapshot);
      return code;
    };
  });
}

void add_demo(CLI::App& parent, Action& chosen) {
  const auto a = std::make_shared<WallArguments>();
  CLI::App* app = parent.add_subcommand("demo", demo_help);
  a->frames = 120;
  a->layout = "2x2:480x270";
  a->snapshot = "wall.png";
  a->headless = a->scripted = true;
  app->add_option("--layout", a->layout, "Another wall")->type_name("LAYOUT")->capture_default_str();
  app->add_option("--frames", a->frames, "So many frames")
      ->type_name("N")
      ->check(whole_number(1, INT64_MAX))
      ->capture_default_str();
  app->add_option("-o,--output", a->snapshot, "The picture of the whole wall")
      ->type_name("FILE")
      ->capture_default_str();
  add_wall_options(*app, *a);
  app->footer(std::string("Examples:\n"
                          "  dcgn wall demo\n"
                          "  dcgn wall demo --layout 3x2:320x240 --exact -o six.png\n\n") +
              exit_codes_help);
  app->callback([a, &chosen] {
    chosen = [a] {
      std::error_code ignored;
      const auto self = std::filesystem::read_symlink("/proc/self/exe", ignored);
      a->program = {(self.parent_path() / "dcgn_wall_scene").string()};
      const int code = run(*a, true);
      if (code == exit_ok && !a->json.on_stdout()) fmt::print("{}\n", a->snapshot);
      return code;
    };
  });
}

}  // namespace

void add_wall(CLI::App& app, Action& chosen) {
  CLI::App* wall = app.add_subcommand("wall", "GLUT programs on a wall of screens: run, snapshot, demo");
  wall->require_subcommand(1);
  wall->footer(
      "Examples:\n"
      "  dcgn wall demo                                                    2 x 2 screens, no display needed\n"
      "  dcgn wall run --layout wall.toml -- ./program                     an unchanged GLUT program\n"
      "  dcgn wall snapshot --layout 2x2:480x270 -o wall.png -- ./program  a picture of it all\n");
  add_run(*wall, chosen);
  add_snapshot(*wall, chosen);
  add_demo(*wall, chosen);
}

}  // namespace dcgn::tool
