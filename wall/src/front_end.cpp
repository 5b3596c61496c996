#include "wall/src/front_end.hpp"

#include "wall/src/back_end_process.hpp"
#include "wall/src/balance.hpp"
#include "wall/src/pace.hpp"
#include "wall/src/shared_picture.hpp"
#include "wall/src/stream.hpp"

#include <dcgn/error.hpp>

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <random>
#include <set>
#include <sstream>

namespace dcgn::wall {

namespace {

constexpr std::int64_t date_of_scripts = 1'251'720'000'000'000'000;  // 2009-08-31, always

// A barrier's name, for people.
std::string where_is(const Message& message) {
  switch (message.kind) {
    case Kind::tick: return "frame " + std::to_string(message.as<Tick>().frame);
    case Kind::swap: return "glutSwapBuffers " + std::to_string(message.as<Swap>().number);
    case Kind::read: return "a read-back of pixels";
    case Kind::exchange: return "the exchange of picture " + std::to_string(message.as<Exchange>().number);
    case Kind::calls:
    case Kind::picture: return "an answer";
    case Kind::hello: return "its beginning";
    case Kind::event:
    case Kind::warning:
    case Kind::setup:
    case Kind::go:
    case Kind::pixels:
    case Kind::show_calls:
    case Kind::show_picture:
    case Kind::pulse: break;
  }
  return "nonsense";
}

std::string how_it_stands(const Tick& t) {
  return std::string(t.idle ? "has" : "has no") + " idle callback, " + (t.redisplay ? "is" : "is not") +
         " to be drawn anew, " +
         (t.next_timer_ns < 0 ? "has no timer" : "has a timer at " + std::to_string(t.next_timer_ns / 1000) + " us");
}

class FrontEnd {
 public:
  FrontEnd(const Options& options, const std::function<void(const WallPicture&)>& on_picture)
      : options_(options), on_picture_(on_picture) {
    const std::int64_t date =
        std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::system_clock::now().time_since_epoch())
            .count();
    if (options.balance) begin_balance();
    for (const Screen& screen : options.layout.screens) {
      Setup setup;
      setup.number = static_cast<std::int32_t>(backs_.size());
      setup.shared_picture = shared_.fd();
      setup.compression = static_cast<std::int32_t>(options.compression);
      setup.wall = {0, 0, options.layout.width, options.layout.height};
      setup.screen = screen.part;
      setup.x = screen.x;
      setup.y = screen.y;
      setup.turn = screen.turn;
      setup.exact = options.exact || options.balance;
      setup.users = !options.script;
      setup.process = getpid();
      setup.epoch_ns = options.script ? date_of_scripts : date;
      setup.deadline_ms = options.deadline.count();
      backs_.emplace_back(screen, setup, options.layout.remote, options.command);
      if (balance_) backs_.back().balance(balance_->cut(), screens_);
    }
    if (options.script) script_ = *options.script;
    if (options.random_cuts) random_.seed(*options.random_cuts);
  }

  Report run() {
    while (!done_) {
      hear();
      if (all_there()) answer();
    }
    for (BackEndProcess& back : backs_) back.let_end();
    report_.exit_code = exit_code_;
    pace_.tell(report_);
    for (const BackEndProcess& back : backs_) report_.screens.push_back(back.report());
    return report_;
  }

 private:
  // Screens of one host leave pixels for each other in memory that they share.
  void begin_balance() {
    const Layout& layout = options_.layout;
    bool one_host = true;
    for (const Screen& screen : layout.screens) {
      screens_.push_back(screen.part);
      one_host = one_host && screen.host.empty();
    }
    transfers_ms_.resize(screens_.size());
    balance_.emplace(Rect{0, 0, layout.width, layout.height}, screens_);
    if (!one_host) return;
    shared_ = SharedPicture::make(layout.width, layout.height);
    if (!shared_.valid()) throw Error(Code::io, "wall", "no memory that screens could share for a picture of the wall");
  }

  // Takes what has come, for a moment at most.
  void hear() {
    std::vector<pollfd> all;
    for (const BackEndProcess& back : backs_) all.push_back({back.ended() ? -1 : back.fd(), POLLIN, 0});
    const auto until_pulse = std::chrono::ceil<std::chrono::milliseconds>(next_pulse_ - Clock::now()).count();
    long long wait = std::clamp<long long>(until_pulse, 0, 1000);
    if (held_) wait = std::min<long long>(wait, std::max<long long>(0, (held_until_ns_ - now_ns()) / 1'000'000));
    if (all_there()) wait = held_ ? wait : 0;
    poll(all.data(), all.size(), static_cast<int>(wait));
    for (std::size_t i = 0; i < all.size(); ++i)
      if (all[i].fd >= 0 && all[i].revents != 0) take(backs_[i]);
    if (Clock::now() >= next_pulse_) {
      next_pulse_ = Clock::now() + std::chrono::seconds(1);
      for (BackEndProcess& back : backs_)
        if (!back.ended()) back.send(Kind::pulse, {});
    }
    find_late();
  }

  void take(BackEndProcess& back) {
    std::optional<Message> message = back.receive();
    if (!message) {
      note_end(back);
      return;
    }
    if (message->kind == Kind::event) {
      events_.push_back(message->as<Event>());
    } else if (message->kind == Kind::warning) {
      if (warned_.insert(message->content).second && options_.warn) options_.warn(message->content);
    } else if (back.waiting) {
      throw Error(Code::mismatch, "wall", back.name() + " sent two messages where one was expected");
    } else {
      back.waiting = std::move(message);
    }
  }

  void note_end(BackEndProcess& back) {
    back.end_of_stream();
    const std::string at = frame_ < 0 ? "before its first frame" : "at frame " + std::to_string(frame_);
    if (back.how_it_died())
      throw Error(
          Code::aborted, "wall",
          back.name() + " ended " + at + " by " + *back.how_it_died() + ": expected all screens to go on together");
    if (frame_ < 0)
      throw Error(Code::aborted, "wall",
                  back.name() + ": the program ended (exit code " + std::to_string(back.exit_code()) +
                      ") before it had come to glutMainLoop: expected one that is linked to freeglut");
  }

  void find_late() {
    if (held_ || all_there() || Clock::now() - answered_ < options_.deadline) return;
    for (const BackEndProcess& back : backs_)
      if (!back.ended() && !back.waiting)
        throw Error(Code::deadline, "wall",
                    back.name() + " has not come within " + std::to_string(options_.deadline.count()) + " ms to " +
                        first_place());
  }

  std::string first_place() const {
    for (const BackEndProcess& back : backs_)
      if (back.waiting) return where_is(*back.waiting) + ", where others are";
    return frame_ < 0 ? "glutInit" : "the end of frame " + std::to_string(frame_);
  }

  bool all_there() const {
    return std::all_of(backs_.begin(), backs_.end(), [](const auto& b) { return b.ended() || b.waiting; });
  }

  void answer() {
    const BackEndProcess* first = nullptr;
    for (const BackEndProcess& back : backs_)
      if (!first && back.waiting) first = &back;
    if (!first) {
      exit_code_ = backs_.front().exit_code();
      for (const BackEndProcess& back : backs_)
        if (back.exit_code() != exit_code_)
          refuse_difference(backs_.front(), "ended with exit code " + std::to_string(exit_code_), back,
                            "with " + std::to_string(back.exit_code()));
      done_ = true;
      return;
    }
    for (const BackEndProcess& back : backs_) {
      if (back.ended()) refuse_difference(back, "has ended", *first, "is at " + where_is(*first->waiting));
      if (back.waiting->kind != first->waiting->kind)
        refuse_difference(*first, "is at " + where_is(*first->waiting), back, "at " + where_is(*back.waiting));
    }
    switch (first->waiting->kind) {
      case Kind::hello: greet(); break;
      case Kind::tick: begin_frame(); break;
      case Kind::swap: swap(); break;
      case Kind::read: gather(); break;
      case Kind::exchange: pass_on(); break;
      case Kind::calls: name_first_call(); break;
      case Kind::picture: assemble(); break;
      case Kind::event:
      case Kind::warning:
      case Kind::setup:
      case Kind::go:
      case Kind::pixels:
      case Kind::show_calls:
      case Kind::show_picture:
      case Kind::pulse: throw Error(Code::mismatch, "wall", first->name() + " said what only a front end says");
    }
  }

  [[noreturn]] void refuse_difference(const BackEndProcess& a, const std::string& one, const BackEndProcess& b,
                                      const std::string& other) const {
    throw Error(Code::mismatch, "wall",
                "screens are not alike after frame " + std::to_string(frame_) + ": " + a.name() + " " + one + ", " +
                    b.name() + " " + other + "; expected a program whose every step follows from events and time");
  }

  // Nobody waits any more: all have what they waited for.
  void tell_all(Kind kind, const std::string& content) {
    for (BackEndProcess& back : backs_) {
      back.waiting.reset();
      back.send(kind, content);
    }
    answered_ = Clock::now();
    held_ = false;
  }

  void greet() {
    for (BackEndProcess& back : backs_) {
      const auto hello = back.waiting->as<Hello>();
      if (hello.version != protocol_version)
        throw Error(Code::mismatch, "wall",
                    back.name() + " has version " + std::to_string(hello.version) +
                        " of the wall's library: expected " + std::to_string(protocol_version));
      back.waiting.reset();
      back.send(Kind::setup, back.setup());
    }
    answered_ = Clock::now();
  }

  std::int64_t now_ns() const {
    return started_ == Clock::time_point{}
               ? 0
               : std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - started_).count();
  }

  void begin_frame() {
    const Tick tick = backs_.front().waiting->as<Tick>();
    compare_ticks(tick);
    if (asks_for_calls_) return;
    if (started_ == Clock::time_point{}) started_ = Clock::now();
    if (tick.frame != counted_) {
      counted_ = tick.frame;
      frame_ = tick.frame;
      if (checking_) ++report_.checked;
      checking_ = false;
      for (BackEndProcess& back : backs_) back.count(back.waiting->as<Tick>());
      pace_.count(backs_);
      count_time(tick.frame);
      if (balance_) count_for_balance(tick);
    }
    const bool end = options_.frames >= 0 && tick.frame >= options_.frames;
    const bool asked = options_.wants_picture && options_.wants_picture();
    if (asked || (end && options_.picture_at_end && !pictured_)) {
      pictured_ = end;
      tell_all(Kind::show_picture, {});
      return;
    }
    const bool busy = options_.script || end || tick.idle || tick.redisplay || !events_.empty() || tick.frame == 0;
    if (!busy && (tick.next_timer_ns < 0 || tick.next_timer_ns > now_ns())) {
      held_ = true;
      held_until_ns_ = tick.next_timer_ns < 0 ? now_ns() + 1'000'000'000 : tick.next_timer_ns;
      return;
    }
    go(tick, end);
  }

  void count_time(std::int64_t frame) {
    if (frame == 1) second_frame_ = Clock::now();  // the first has the start-up
    if (frame <= 1) return;
    const double frames = static_cast<double>(frame - 1);
    report_.frame_ms = std::chrono::duration<double, std::milli>(Clock::now() - second_frame_).count() / frames;
    std::int64_t slowest = 0;
    for (const BackEndProcess& back : backs_) slowest = std::max(slowest, back.last().busy_ns);
    slowest_ms_ += static_cast<double>(slowest) * 1e-6;
    report_.slowest_ms = slowest_ms_ / frames;
  }

  // Frames with a picture that was drawn by the cut that was given out last.
  void count_for_balance(const Tick& tick) {
    const bool usable = tick.cuts == report_.cuts && tick.swaps > seen_pictures_;
    seen_pictures_ = tick.swaps;
    if (!usable) return;
    std::vector<DrawTime> times;
    for (std::size_t i = 0; i < backs_.size(); ++i)
      times.push_back({static_cast<double>(backs_[i].last().drawn_ns) * 1e-6,
                       static_cast<double>(backs_[i].last().exchanged_ns) * 1e-6 + transfers_ms_[i]});
    transfers_ms_.assign(backs_.size(), 0);
    next_cut_ = options_.random_cuts ? balance_->shuffle(random_) : balance_->note(times);
  }

  void go(const Tick& tick, bool end) {
    for (; next_of_script_ < script_.size() && script_[next_of_script_].first <= tick.frame; ++next_of_script_)
      events_.push_back(script_[next_of_script_].second);
    Go go;
    go.time_ns = options_.script ? tick.frame * options_.step.count() : now_ns();
    go.check = options_.check_every > 0 && tick.frame % options_.check_every == 0;
    go.end = end;
    go.events = static_cast<std::int32_t>(events_.size());
    if (next_cut_) {
      go.regions = static_cast<std::int32_t>(next_cut_->size());
      ++report_.cuts;
    }
    checking_ = go.check;
    report_.events += go.events;
    if (!end) report_.frames = tick.frame + 1;
    report_.seconds = static_cast<double>(now_ns()) * 1e-9;
    std::string content = bytes_of(go);
    for (const Event& event : events_) content += bytes_of(event);
    events_.clear();
    if (next_cut_) content += bytes_of_all(*next_cut_);
    next_cut_.reset();
    tell_all(Kind::go, content);
  }

  void compare_ticks(const Tick& first) {
    for (const BackEndProcess& back : backs_) {
      const auto tick = back.waiting->as<Tick>();
      if (tick.same(first)) continue;
      if (tick.calls != first.calls) {
        asks_for_calls_ = true;
        tell_all(Kind::show_calls, {});
        return;
      }
      refuse_difference(backs_.front(), how_it_stands(first), back, how_it_stands(tick));
    }
  }

  // The screen that is unlike most is the one to be named.
  void name_first_call() {
    std::vector<std::istringstream> texts;
    for (BackEndProcess& back : backs_) texts.emplace_back(back.waiting->content);
    for (std::int64_t number = 1;; ++number) {
      std::vector<std::string> calls(texts.size());
      bool any = false;
      for (std::size_t i = 0; i < texts.size(); ++i) {
        if (std::getline(texts[i], calls[i])) any = true;
        if (calls[i].empty()) calls[i] = "no more calls";
      }
      if (!any) throw Error(Code::mismatch, "wall", "GL calls of the same words had different contents");
      const auto like = [&calls](const std::string& call) { return std::count(calls.begin(), calls.end(), call); };
      const auto usual = *std::max_element(calls.begin(), calls.end(),
                                           [&](const auto& a, const auto& b) { return like(a) < like(b); });
      for (std::size_t i = 0; i < calls.size(); ++i)
        if (calls[i] != usual) {
          const auto other = static_cast<std::size_t>(std::find(calls.begin(), calls.end(), usual) - calls.begin());
          throw Error(Code::mismatch, "wall",
                      "GL call " + std::to_string(number) + " of frame " + std::to_string(frame_) + " is " + calls[i] +
                          " on " + backs_[i].name() + " and " + usual + " on " + backs_[other].name() +
                          "; expected the same on all");
        }
    }
  }

  void swap() {
    const auto first = backs_.front().waiting->as<Swap>();
    for (const BackEndProcess& back : backs_)
      if (back.waiting->as<Swap>().number != first.number)
        refuse_difference(backs_.front(), "is at " + where_is(*backs_.front().waiting), back,
                          "at " + where_is(*back.waiting));
    tell_all(Kind::go, bytes_of(Go{}));
  }

  // Every screen has a part of the pixels that the program asks for; all get the whole.
  void gather() {
    const auto first = backs_.front().waiting->as<Read>();
    const std::size_t pixel = first.pixel_bytes, row = static_cast<std::size_t>(first.area.width) * pixel;
    std::string whole(row * static_cast<std::size_t>(first.area.height), '\0');
    for (const BackEndProcess& back : backs_) {
      const auto read = back.waiting->as<Read>();
      const Rect mine = intersection(read.mine, first.area);
      const std::size_t bytes = static_cast<std::size_t>(mine.width) * pixel;
      if (!read.same(first) || mine != read.mine ||
          back.waiting->content.size() != sizeof read + bytes * static_cast<std::size_t>(mine.height))
        refuse_difference(backs_.front(), "reads pixels", back, "others");
      const char* from = back.waiting->content.data() + sizeof read;
      for (int y = 0; y < mine.height; ++y, from += bytes)
        std::memcpy(whole.data() + static_cast<std::size_t>(mine.y - first.area.y + y) * row +
                        static_cast<std::size_t>(mine.x - first.area.x) * pixel,
                    from, bytes);
    }
    tell_all(Kind::pixels, whole);
  }

  // Every back end has drawn parts of others' screens: each gets what is its own.
  void pass_on() {
    const auto first = backs_.front().waiting->as<Exchange>();
    std::vector<std::string> answers;
    for (const BackEndProcess& back : backs_) answers.push_back(bytes_of(back.link()));
    for (const BackEndProcess& back : backs_) {
      const auto exchange = back.waiting->as<Exchange>();
      if (exchange.number != first.number) refuse_difference(backs_.front(), "gives pixels", back, "others");
      const std::string& content = back.waiting->content;
      std::size_t at = sizeof exchange;
      for (std::int32_t i = 0; i < exchange.pieces; ++i) {
        const std::vector<Piece> piece = values_at<Piece>(content, at, 1);
        const std::size_t bytes = piece.empty() ? 0 : sizeof(Piece) + piece[0].bytes;
        if (piece.empty() || content.size() - at < bytes || piece[0].to < 0 ||
            static_cast<std::size_t>(piece[0].to) >= answers.size())
          throw Error(Code::mismatch, "wall", back.name() + " gave pixels of a screen that there is not");
        answers[static_cast<std::size_t>(piece[0].to)].append(content, at, bytes);
        at += bytes;
      }
    }
    for (std::size_t i = 0; i < backs_.size(); ++i) {
      transfers_ms_[i] = backs_[i].transfer_ms(backs_[i].waiting->content.size() + answers[i].size());
      backs_[i].waiting.reset();
      backs_[i].send(Kind::pixels, answers[i]);
    }
    answered_ = Clock::now();
  }

  void assemble() {
    WallPicture whole{options_.layout.width, options_.layout.height, {}};
    whole.rgb.resize(static_cast<std::size_t>(whole.width) * static_cast<std::size_t>(whole.height) * 3);
    for (const BackEndProcess& back : backs_) back.add_to(whole);
    for (BackEndProcess& back : backs_) back.waiting.reset();
    on_picture_(whole);
    // The answer to a picture is the question again: all come back to the frame that they were about to begin.
    tell_all(Kind::pixels, {});
  }

  const Options& options_;
  const std::function<void(const WallPicture&)>& on_picture_;
  std::vector<Rect> screens_;
  std::optional<Balance> balance_;
  std::optional<Cut> next_cut_;
  std::mt19937_64 random_;
  std::vector<double> transfers_ms_;  // of the last exchange, by messages
  SharedPicture shared_;
  std::deque<BackEndProcess> backs_;
  Script script_;
  std::size_t next_of_script_ = 0;
  std::vector<Event> events_;
  std::set<std::string> warned_;
  Pace pace_;
  Report report_;
  Clock::time_point started_{}, next_pulse_ = Clock::now(), answered_ = Clock::now();
  Clock::time_point second_frame_{};
  double slowest_ms_ = 0;
  std::int64_t seen_pictures_ = 0;
  std::int64_t frame_ = -1, counted_ = -1, held_until_ns_ = 0;
  bool pictured_ = false;  // at the end
  bool held_ = false, checking_ = false, asks_for_calls_ = false, done_ = false;
  int exit_code_ = 0;
};

}  // namespace

Report run_wall(const Options& options, const std::function<void(const WallPicture&)>& on_picture) {
  return FrontEnd(options, on_picture).run();
}

}  // namespace dcgn::wall
