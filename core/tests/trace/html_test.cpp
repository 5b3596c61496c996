// The page, in a browser where there is one.
#include "trace/html.hpp"
#include "documents.hpp"

#include <gtest/gtest.h>

#include <stdlib.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>

using dcgn::trace::Document;

namespace {

std::string page_of(const Document& document) {
  std::ostringstream text;
  dcgn::trace::write_html(document, text);
  return text.str();
}

// What a command prints.
std::string printed_by(const std::string& command) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> pipe(::popen(command.c_str(), "r"), ::pclose);
  std::string text;
  std::array<char, 4096> part{};
  while (const std::size_t n = pipe ? std::fread(part.data(), 1, part.size(), pipe.get()) : 0)
    text.append(part.data(), n);
  return text;
}

std::string browser() {
  std::string found = printed_by(
      "command -v chromium-headless-shell || command -v chromium || command -v chrome || command -v google-chrome");
  return found.substr(0, found.find('\n'));
}

// The page's elements once its script has run, after what `more` has it do.
std::string shown_by(const std::string& browser, const Document& document, const std::string& more = "") {
  std::string folder = (std::filesystem::temp_directory_path() / "dcgn_page_XXXXXX").string();
  if (!::mkdtemp(folder.data())) return "no folder";
  std::string page = page_of(document);
  page.replace(page.find("</body>"), 0, "<script>{" + more + "}</script>");
  std::ofstream(folder + "/page.html") << page;
  // Nothing of the user's is touched, and nothing of the network.
  std::string text = printed_by("HOME='" + folder + "' timeout 60 '" + browser +
                                "' --headless --no-sandbox --disable-gpu --user-data-dir='" + folder +
                                "/profile' --host-resolver-rules='MAP * ~NOTFOUND' --virtual-time-budget=3000 "
                                "--window-size=1400,900 --dump-dom 'file://" +
                                folder + "/page.html' 2>/dev/null");
  std::filesystem::remove_all(folder);
  return text;
}

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST(Page, IsOneFileThatAsksForNothing) {
  Document d = dcgn::test::stencil({});
  d.program = "</script><b>\"&\\";
  const std::string page = page_of(d);
  EXPECT_FALSE(has(page, "http")) << page.substr(page.find("http"), 80);
  EXPECT_FALSE(has(page, "src=") || has(page, "@import") || has(page, "url("));
  EXPECT_FALSE(has(page, "</script><b>"));
  EXPECT_FALSE(has(page, "{script}") || has(page, "{meta}") || has(page, "{data}"));
  EXPECT_EQ(page.find("</html>"), page.size() - 8);
}

TEST(Page, IsCompact) {
  const Document d = dcgn::test::stencil({.gpus = 4, .slots = 8, .nodes = 2, .steps = 60});
  EXPECT_LT(page_of(d).size() - page_of({}).size(), 20000U * 30);  // 19,968 calls
}

TEST(Page, ShowsATrace) {
  const std::string with = browser();
  if (with.empty()) GTEST_SKIP() << "no browser here: chromium-headless-shell or chromium of Debian is one";
  const std::string text = shown_by(with, dcgn::test::stencil({}));
  EXPECT_TRUE(has(text, "data-ready=\"832 calls, 320 messages\"")) << text.substr(0, 200);
  EXPECT_FALSE(has(text, "data-error")) << text.substr(0, 200);
  EXPECT_TRUE(has(text, "made-up stencil</h1>"));
  EXPECT_TRUE(has(text, "GPU 1 slot 3"));
  EXPECT_TRUE(has(text, "<td class=\"\">all_reduce</td>"));
}

// The columns are those that were given: sums that the page makes of them.
TEST(Page, HasTheTraceSNumbers) {
  const std::string with = browser();
  if (with.empty()) GTEST_SKIP() << "no browser here: chromium-headless-shell or chromium of Debian is one";
  const Document d = dcgn::test::ping_pong(40);
  std::uint64_t in_calls = 0;
  std::int64_t bytes = 0;
  for (const auto& rank : d.ranks)
    for (const auto& e : rank.events) {
      in_calls += e.end_ns - e.begin_ns;
      bytes += e.bytes;
    }
  const std::string text = shown_by(with, d,
                                    "let sums = [0, 0];"
                                    "for (let e = 0; e < count; ++e) {"
                                    "  sums[0] += events.end[e] - events.begin[e]; sums[1] += events.bytes[e]; }"
                                    "document.body.dataset.sums = sums.join();");
  EXPECT_TRUE(has(text, "data-sums=\"" + std::to_string(in_calls) + "," + std::to_string(bytes) + "\""))
      << text.substr(text.find("<body"), 200) << "\nexpected " << in_calls << "," << bytes;
  EXPECT_FALSE(has(text, "data-error"));
}

TEST(Page, DoesWhatKeysAndPointerAsk) {
  const std::string with = browser();
  if (with.empty()) GTEST_SKIP() << "no browser here: chromium-headless-shell or chromium of Debian is one";
  const std::string text = shown_by(with, dcgn::test::stencil({}), R"(
    const key = (k) => document.dispatchEvent(new KeyboardEvent("keydown", { key: k, bubbles: true }));
    const did = [];
    const span = () => view.to - view.from;
    const all = span();
    key("w"); did.push(span() < all ? "zoomed" : "not zoomed");
    const from = view.from;
    key("d"); did.push(view.from > from ? "moved" : "not moved");
    key("0"); did.push(span() === all ? "reset" : "not reset");
    key("."); did.push(shown.pinned ? "pinned" : "not pinned");
    const one = shown.pinned.event;
    key("."); did.push(shown.pinned.event === one + 1 ? "stepped" : "not stepped");
    key("Escape"); did.push(shown.pinned ? "held" : "let go");
    const search = byId("search");
    search.value = "tag 1 rank 2"; search.dispatchEvent(new Event("input"));
    did.push(byId("found").textContent);
    drawTimeline();
    const box = canvas.getBoundingClientRect();
    const wait = [...events.call.keys()].find((e) => rankOf(e) === 1 && callName(e) === "wait_all");
    const at = { clientX: box.left + xOf((events.begin[wait] + events.end[wait]) / 2), clientY: box.top + yOf(rowOfRank[1]) + 6, bubbles: true };
    canvas.dispatchEvent(new PointerEvent("pointermove", at));
    did.push(tip.hidden ? "no tip" : tip.textContent.split(".")[0]);
    canvas.dispatchEvent(new WheelEvent("wheel", { ...at, deltaY: -100, cancelable: true }));
    did.push(span() < all ? "wheeled" : "not wheeled");
    document.querySelector("#slow tr.leads").click();
    did.push(shown.pinned ? "led" : "not led");
    document.querySelector('input[value="messages"]').click();
    byId("show-path").click();
    drawTimeline(); drawMap();
    document.body.dataset.did = did.join();
  )");
  EXPECT_TRUE(has(text,
                  "data-did=\"zoomed,moved,reset,pinned,stepped,let go,40 calls,wait_all: rank 1 (GPU 0 slot 1) waits "
                  "for what it has begun,"
                  "wheeled,led\""))
      << text.substr(text.find("<body"), 300) << text.substr(0, 200);
  EXPECT_FALSE(has(text, "data-error")) << text.substr(0, 200);
}

TEST(Page, ShowsTracesWithoutCallsOrRanks) {
  const std::string with = browser();
  if (with.empty()) GTEST_SKIP() << "no browser here: chromium-headless-shell or chromium of Debian is one";
  Document one;
  one.ranks.resize(1);
  for (const Document& d : {Document(), one}) {
    const std::string text = shown_by(with, d);
    EXPECT_TRUE(has(text, "data-ready=\"0 calls, 0 messages\"")) << text.substr(0, 200);
    EXPECT_FALSE(has(text, "data-error")) << text.substr(0, 200);
  }
}
