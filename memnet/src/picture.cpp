#include "memnet/src/picture.hpp"

#include "base/text.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <map>
#include <utility>
#include <vector>

namespace dcgn::memnet {

namespace {

struct Point {
  double x = 0, y = 0;
};

std::string number(double value) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.2f", value);
  return text.data();
}

// How far from the straight line between its ends a channel is drawn: not at all, unless something stands there.
double bend_between(const Point& a, const Point& b, const std::vector<Point>& others) {
  const double dx = b.x - a.x, dy = b.y - a.y, length = std::hypot(dx, dy);
  if (length < 1e-9) return 0;
  for (const Point& p : others) {
    const double along = ((p.x - a.x) * dx + (p.y - a.y) * dy) / length;
    const double beside = std::abs((p.x - a.x) * dy - (p.y - a.y) * dx) / length;
    if (along > 0.1 && along < length - 0.1 && beside < 0.2) return 0.2 + 0.06 * length;
  }
  return 0;
}

class Picture {
 public:
  Picture(const Topology& topology, const Result* run) : topology_(topology), run_(run) {
    for (const Router& router : topology.routers()) routers_.push_back({router.x, router.y});
    place_terminals();
    fit();
  }

  std::string draw(const std::string& title) {
    draw_channels();
    draw_ports();
    draw_routers();
    draw_processors();
    // Curves go beyond what stands at their ends.
    const double dx = margin - least_.x, dy = (run_ == nullptr ? 62 : 84) - least_.y;
    const double width = std::max(420.0, most_.x + dx + margin), height = most_.y + dy + margin;
    std::string svg = "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"" + number(width) + "\" height=\"" +
                      number(height) + "\" viewBox=\"0 0 " + number(width) + " " + number(height) +
                      "\" font-family=\"sans-serif\">\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n" +
                      "<text x=\"16\" y=\"24\" font-size=\"14\">" + base::escaped(title) + "</text>\n";
    if (run_ != nullptr) svg += legend();
    return svg + "<g transform=\"translate(" + number(dx) + " " + number(dy) + ")\">\n" + body_ + "</g>\n</svg>\n";
  }

 private:
  static constexpr double margin = 40;

  void place_terminals() {
    double low = 0, high = 0, bottom = 0;
    for (const Point& p : routers_) {
      low = std::min(low, p.x);
      high = std::max(high, p.x);
      bottom = std::max(bottom, p.y);
    }
    std::vector<int> free;  // processors without a cluster: in a row below all
    std::map<int, int> nodes_of, seen;
    for (const Terminal& t : topology_.terminals()) {
      if (t.kind == TerminalKind::node && !t.ports.empty()) ++nodes_of[t.ports.front().router];
    }
    for (std::size_t i = 0; i < topology_.terminals().size(); ++i) {
      const Terminal& t = topology_.terminals()[i];
      terminals_.push_back({});
      if (t.kind == TerminalKind::hmc || t.ports.empty()) continue;
      if (t.kind == TerminalKind::node) {
        const int router = t.ports.front().router;
        const double angle = 0.1 + 1.4 * (seen[router]++ + 0.5) / nodes_of[router];
        terminals_.back() = {routers_[router].x + 0.36 * std::cos(angle), routers_[router].y + 0.36 * std::sin(angle)};
        continue;
      }
      Point place{0, -1e9};
      int count = 0;
      for (std::size_t r = 0; r < routers_.size(); ++r) {
        if (t.cluster < 0 || topology_.routers()[r].cluster != t.cluster) continue;
        place = {place.x + routers_[r].x, std::max(place.y, routers_[r].y)};
        ++count;
      }
      if (count == 0) {
        free.push_back(static_cast<int>(i));
      } else {
        terminals_.back() = {place.x / count, place.y + 0.8};
      }
    }
    for (std::size_t i = 0; i < free.size(); ++i) {
      const double from_middle = static_cast<double>(i) - (static_cast<double>(free.size()) - 1) / 2;
      terminals_[free[i]] = {(low + high) / 2 + from_middle * 0.9, bottom + 1.6};
    }
  }

  void fit() {
    low_ = high_ = routers_.front();
    const auto stretch = [this](const Point& p) {
      low_ = {std::min(low_.x, p.x), std::min(low_.y, p.y)};
      high_ = {std::max(high_.x, p.x), std::max(high_.y, p.y)};
    };
    for (const Point& p : routers_) stretch(p);
    for (std::size_t t = 0; t < terminals_.size(); ++t) {
      if (topology_.terminals()[t].kind != TerminalKind::hmc) stretch(terminals_[t]);
    }
    unit_ = std::clamp(1200 / std::max(1.0, high_.x - low_.x), 14.0, 92.0);
    radius_ = std::min(13.0, 0.16 * unit_);
    most_ = at(high_);
  }

  Point at(const Point& p) const { return {(p.x - low_.x) * unit_, (p.y - low_.y) * unit_}; }

  void cover(const Point& pixel) {
    least_ = {std::min(least_.x, pixel.x), std::min(least_.y, pixel.y)};
    most_ = {std::max(most_.x, pixel.x), std::max(most_.y, pixel.y)};
  }

  // One direction, or both as one line: `shift` pixels to the right of its way, bent by `bend` to the left.
  void line(const Point& from, const Point& to, double bend, double shift, const std::string& colour, double width,
            const std::string& tip, bool dashed) {
    const Point a = at(from), b = at(to);
    const double dx = b.x - a.x, dy = b.y - a.y, length = std::max(1e-9, std::hypot(dx, dy));
    const Point right{-dy / length, dx / length};
    const Point p{a.x + right.x * shift, a.y + right.y * shift}, q{b.x + right.x * shift, b.y + right.y * shift};
    body_ += "<path d=\"M" + number(p.x) + " " + number(p.y);
    if (bend == 0) {
      body_ += "L" + number(q.x) + " " + number(q.y);
    } else {
      const double by = 2 * bend * unit_;
      cover({(p.x + q.x) / 2 - right.x * by / 2, (p.y + q.y) / 2 - right.y * by / 2});
      body_ += "Q" + number((p.x + q.x) / 2 - right.x * by) + " " + number((p.y + q.y) / 2 - right.y * by) + " " +
               number(q.x) + " " + number(q.y);
    }
    body_ += "\" fill=\"none\" stroke=\"" + colour + "\" stroke-width=\"" + number(width) + "\"";
    if (dashed) body_ += " stroke-dasharray=\"5 3\"";
    body_ += tip.empty() ? "/>\n" : "><title>" + base::escaped(tip) + "</title></path>\n";
  }

  // Both directions of a channel; loads are flits per cycle.
  void channel(const Point& from, const Point& to, double bend, double shift, const Link& link, double there,
               double back, const std::string& names, const std::string& plain) {
    if (run_ == nullptr) {
      line(from, to, bend, shift, plain, link.pass_through ? 2.6 : 1.4, names, link.pass_through);
      return;
    }
    const auto tip = [&](double load) { return names + ": " + number(load) + " flits/cycle"; };
    const double width = std::clamp(0.03 * unit_, 1.2, 2.6), half = 0.62 * width;
    line(from, to, bend, shift + half, use_colour(there / link.bandwidth), width, tip(there), false);
    // Seen from the other end, left is right.
    line(to, from, -bend, half - shift, use_colour(back / link.bandwidth), width, tip(back), false);
  }

  void one_way(const Point& from, const Point& to, const Link& link, double load, const std::string& names,
               const std::string& plain) {
    if (run_ == nullptr) {
      line(from, to, 0, 0, plain, 1.4, names, false);
    } else {
      line(from, to, 0, 0, use_colour(load / link.bandwidth), std::clamp(0.03 * unit_, 1.2, 2.6),
           names + ": " + number(load) + " flits/cycle", false);
    }
  }

  void draw_channels() {
    std::map<std::pair<int, int>, int> drawn;
    for (std::size_t c = 0; c + 1 < topology_.channels().size(); c += 2) {
      const Channel& one = topology_.channels()[c];
      const Point a = routers_[one.from], b = routers_[one.to];
      if (topology_.channels()[c + 1].missing) {
        one_way(a, b, one.link, run_ ? run_->channel_load[c] : 0,
                topology_.routers()[one.from].name + " - " + topology_.routers()[one.to].name, "#888888");
        continue;
      }
      const int copy = drawn[std::minmax(one.from, one.to)]++;
      const double shift = copy * std::clamp(0.09 * unit_, 3.0, 7.0) * (copy % 2 == 0 ? 0.5 : -0.5 - 0.5 / copy);
      channel(a, b, bend_between(a, b, routers_), shift, one.link, run_ ? run_->channel_load[c] : 0,
              run_ ? run_->channel_load[c + 1] : 0,
              topology_.routers()[one.from].name + " - " + topology_.routers()[one.to].name,
              one.link.pass_through ? "#0072B2" : "#888888");
    }
  }

  void draw_ports() {
    std::size_t index = 0;
    for (std::size_t t = 0; t < terminals_.size(); ++t) {
      const Terminal& terminal = topology_.terminals()[t];
      std::map<int, int> drawn;
      for (const Port& port : terminal.ports) {
        const std::size_t i = index++;
        if (terminal.kind == TerminalKind::hmc) continue;
        const Point to = routers_[port.router];
        if (port.exit != port.router) {
          // Where it receives is as far from that router as the node is from where it sends.
          const Point exit = routers_[port.exit];
          const Point end{exit.x + terminals_[t].x - to.x, exit.y + terminals_[t].y - to.y};
          cover(at(end));
          one_way(terminals_[t], to, port.link, run_ ? run_->injection_load[i] : 0,
                  terminal.name + " - " + topology_.routers()[port.router].name, "#bbbbbb");
          one_way(exit, end, port.link, run_ ? run_->ejection_load[i] : 0,
                  topology_.routers()[port.exit].name + " - " + terminal.name, "#bbbbbb");
          continue;
        }
        const double shift = 4.5 * drawn[port.router]++;
        channel(terminals_[t], to, bend_between(terminals_[t], to, routers_), shift, port.link,
                run_ ? run_->injection_load[i] : 0, run_ ? run_->ejection_load[i] : 0,
                terminal.name + " - " + topology_.routers()[port.router].name, "#bbbbbb");
      }
    }
  }

  void draw_routers() {
    for (std::size_t r = 0; r < routers_.size(); ++r) {
      const Point p = at(routers_[r]);
      const std::string& name = topology_.routers()[r].name;
      body_ += "<circle cx=\"" + number(p.x) + "\" cy=\"" + number(p.y) + "\" r=\"" + number(radius_) +
               "\" fill=\"#f4f4f4\" stroke=\"#444444\"><title>" + base::escaped(name) + "</title></circle>\n";
      // "hmc 12" is 12: the circle has no room for more.
      const std::size_t space = name.rfind(' ');
      const std::string shown = space == std::string::npos ? name : name.substr(space + 1);
      if (radius_ >= 7 && shown.size() <= 4) label(p, shown, std::min(10.0, 1.5 * radius_), "#222222");
    }
  }

  void draw_processors() {
    for (std::size_t t = 0; t < terminals_.size(); ++t) {
      const Terminal& terminal = topology_.terminals()[t];
      const Point p = at(terminals_[t]);
      switch (terminal.kind) {
        case TerminalKind::hmc: break;
        case TerminalKind::node: box(p, 0.3 * radius_, 0.3 * radius_, "#009E73", terminal.name); break;
        case TerminalKind::gpu: box(p, 22, 11, "#009E73", terminal.name); break;
        case TerminalKind::cpu: box(p, 22, 11, "#D55E00", terminal.name); break;
      }
      if (terminal.kind == TerminalKind::gpu || terminal.kind == TerminalKind::cpu) {
        label(p, terminal.name, 11, "white");
      }
    }
  }

  void box(const Point& p, double half_width, double half_height, const char* colour, const std::string& name) {
    body_ += "<rect x=\"" + number(p.x - half_width) + "\" y=\"" + number(p.y - half_height) + "\" width=\"" +
             number(2 * half_width) + "\" height=\"" + number(2 * half_height) + "\" rx=\"2\" fill=\"" + colour +
             "\"><title>" + base::escaped(name) + "</title></rect>\n";
  }

  void label(const Point& p, const std::string& text, double size, const char* colour) {
    body_ += "<text x=\"" + number(p.x) + "\" y=\"" + number(p.y + 0.36 * size) + "\" font-size=\"" + number(size) +
             "\" text-anchor=\"middle\" fill=\"" + colour + "\">" + base::escaped(text) + "</text>\n";
  }

  static std::string legend() {
    constexpr int steps = 20;
    std::string text = "<text x=\"16\" y=\"47\" font-size=\"11\">use of each direction: 0</text>\n";
    for (int i = 0; i < steps; ++i) {
      text += "<rect x=\"" + number(150 + 7 * i) + "\" y=\"38\" width=\"7.5\" height=\"10\" fill=\"" +
              use_colour((i + 0.5) / steps) + "\"/>\n";
    }
    return text + "<text x=\"" + number(154 + 7 * steps) + "\" y=\"47\" font-size=\"11\">1</text>\n";
  }

  const Topology& topology_;
  const Result* run_;
  std::vector<Point> routers_, terminals_;
  Point low_, high_;              // in the topology's unit
  Point least_, most_;            // pixels, seen from low_
  double unit_ = 1, radius_ = 1;  // pixels
  std::string body_;
};

}  // namespace

std::string use_colour(double use) {
  // Light to dark, so that it is read in grey as well.
  struct Stop {
    double at;
    std::array<double, 3> rgb;
  };
  constexpr std::array<Stop, 5> stops = {Stop{0.0, {222, 222, 222}}, Stop{0.25, {253, 204, 138}},
                                         Stop{0.5, {252, 141, 89}}, Stop{0.75, {215, 48, 31}}, Stop{1.0, {110, 0, 10}}};
  use = std::isfinite(use) ? std::clamp(use, 0.0, 1.0) : 0;
  std::size_t i = 0;
  while (i + 2 < stops.size() && use > stops[i + 1].at) ++i;
  const double share = (use - stops[i].at) / (stops[i + 1].at - stops[i].at);
  std::string text = "#";
  for (std::size_t part = 0; part < 3; ++part) {
    const double value = stops[i].rgb[part] + share * (stops[i + 1].rgb[part] - stops[i].rgb[part]);
    std::array<char, 8> digits{};
    std::snprintf(digits.data(), digits.size(), "%02x", static_cast<unsigned>(std::lround(value)) & 0xffU);
    text += digits.data();
  }
  return text;
}

std::string topology_svg(const Topology& topology, const std::string& title, const Result* run) {
  return Picture(topology, run).draw(title);
}

}  // namespace dcgn::memnet
