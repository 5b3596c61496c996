// A back end as the front end sees it: a process on this host or another, and the messages with it.
#pragma once

#include "transport/sockets.hpp"
#include "wall/src/child.hpp"
#include "wall/src/cut.hpp"
#include "wall/src/front_end.hpp"
#include "wall/src/stream.hpp"

#include <optional>
#include <string>
#include <vector>

namespace dcgn::wall {

class BackEndProcess {
 public:
  // Starts `command` for the screen, by `remote` where that is of another host. Throws Error(io).
  BackEndProcess(const Screen& screen, const Setup& setup, const std::vector<std::string>& remote,
                 const std::vector<std::string>& command);
  // What it is told of the wall where that is balanced; before it says hello.
  void balance(const Cut& cut, const std::vector<Rect>& screens);

  const std::string& name() const { return screen_.name; }
  // Its content.
  std::string setup() const;
  int fd() const { return socket_.fd(); }

  void send(Kind kind, const std::string& content) const;
  // None: there will be no more.
  std::optional<Message> receive();
  // What its messages have shown of the way from there.
  Link link() const { return link_; }
  // What so many bytes take on that way, as far as that has been seen.
  double transfer_ms(std::size_t bytes) const {
    return link_.bytes_per_s > 0 ? static_cast<double>(bytes) / link_.bytes_per_s * 1e3 : 0;
  }

  // After that: how the process went. Where it goes on, it is ended.
  void end_of_stream();
  bool ended() const { return ended_; }
  int exit_code() const { return child_.exit_code(); }
  std::optional<std::string> how_it_died() const;  // where it did not end by itself
  // Gives it a moment for what it does at its end.
  void let_end();

  void count(const Tick& tick);
  ScreenReport report() const;
  const Tick& last() const { return last_; }
  // From the picture that waits.
  void add_to(WallPicture& whole) const;

  std::optional<Message> waiting;  // for the others

 private:
  Screen screen_;
  Setup setup_;
  std::string regions_;
  transport::Socket socket_;
  Child child_;
  bool ended_ = false, cut_ = false;
  Tick last_;
  Link link_;
  std::int64_t frames_ = 0;
  double busy_ms_ = 0, drawn_ms_ = 0;
};

}  // namespace dcgn::wall
