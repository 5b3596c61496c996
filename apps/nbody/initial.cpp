#include "apps/nbody/initial.hpp"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numbers>

namespace dcgn::nbody {

namespace {

// splitmix64: the standard library's distributions differ from one implementation to another.
class Random {
 public:
  double operator()() {  // 0 < x < 1
    std::uint64_t x = state_ += 0x9e3779b97f4a7c15;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
    x = (x ^ x >> 27) * 0x94d049bb133111eb;
    return (static_cast<double>((x ^ x >> 31) >> 11) + 0.5) * 0x1p-53;
  }

 private:
  std::uint64_t state_ = 2009;
};

struct Vector {
  double x, y, z;
};

// In any direction.
Vector direction(Random& random, double length) {
  const double z = 2 * random() - 1, angle = 2 * std::numbers::pi * random();
  const double across = std::sqrt(1 - z * z);
  return {length * across * std::cos(angle), length * across * std::sin(angle), length * z};
}

void add(System& system, const Vector& x, const Vector& v, double mass) {
  system.bodies.push_back(
      {static_cast<float>(x.x), static_cast<float>(x.y), static_cast<float>(x.z), static_cast<float>(mass)});
  system.velocities.push_back({static_cast<float>(v.x), static_cast<float>(v.y), static_cast<float>(v.z)});
}

// Takes away what the system as a whole moves, and how far it is from the origin.
void settle(System& system) {
  double mass = 0;
  Vector x{}, v{};
  for (std::size_t i = 0; i < system.bodies.size(); ++i) {
    const Body& b = system.bodies[i];
    const Velocity& u = system.velocities[i];
    mass += b.mass;
    x = {x.x + b.mass * b.x, x.y + b.mass * b.y, x.z + b.mass * b.z};
    v = {v.x + b.mass * u.x, v.y + b.mass * u.y, v.z + b.mass * u.z};
  }
  for (std::size_t i = 0; i < system.bodies.size(); ++i) {
    Body& b = system.bodies[i];
    Velocity& u = system.velocities[i];
    b = {static_cast<float>(b.x - x.x / mass), static_cast<float>(b.y - x.y / mass),
         static_cast<float>(b.z - x.z / mass), b.mass};
    u = {static_cast<float>(u.x - v.x / mass), static_cast<float>(u.y - v.y / mass),
         static_cast<float>(u.z - v.z / mass)};
  }
}

}  // namespace

// Aarseth, Henon and Wielen 1974: a radius from the mass inside of it, a speed by rejection.
System plummer(int bodies) {
  Random random;
  System system;
  for (int i = 0; i < bodies; ++i) {
    const double inside = 0.999 * random();  // the few that would be far out are left out
    const double radius = 1 / std::sqrt(std::pow(inside, -2.0 / 3) - 1);
    double share, height;
    do {
      share = random();
      height = 0.1 * random();
    } while (height > share * share * std::pow(1 - share * share, 3.5));
    const double speed = share * std::numbers::sqrt2 * std::pow(1 + radius * radius, -0.25);
    const Vector x = direction(random, radius);
    add(system, x, direction(random, speed), 1.0 / bodies);
  }
  settle(system);
  return system;
}

System discs(int bodies) {
  constexpr double heart = 0.6;  // of a disc's mass, in its middle
  constexpr double scale = 0.35, edge = 1.3, smooth = 0.1;
  Random random;
  System system;
  const int halves[] = {(bodies + 1) / 2, bodies / 2};
  for (int disc = 0; disc < 2; ++disc) {
    const int stars = halves[disc] - 1;
    const double side = disc ? 1 : -1, mass = disc ? 0.4 : 0.6, size = disc ? 0.8 : 1;
    const double tilt = disc ? 1.0 : 0.35;
    const Vector at{1.25 * side, 0.35 * side, 0}, moving{-0.32 * side, 0.12 * side, 0};
    const auto place = [&](const Vector& p) {  // turned about the x axis
      return Vector{p.x, p.y * std::cos(tilt) - p.z * std::sin(tilt), p.y * std::sin(tilt) + p.z * std::cos(tilt)};
    };
    const auto put = [&](const Vector& x, const Vector& v, double m) {
      add(system, {at.x + x.x, at.y + x.y, at.z + x.z}, {moving.x + v.x, moving.y + v.y, moving.z + v.z}, m);
    };
    if (halves[disc] > 0) put({}, {}, stars > 0 ? mass * heart : mass);
    const auto inside = [](double r) { return 1 - (1 + r / scale) * std::exp(-r / scale); };
    for (int i = 0; i < stars; ++i) {
      // An exponential disc: bisection for the radius that has this share of the stars inside of it.
      const double share = random() * inside(edge);
      double low = 0, high = edge;
      for (int k = 0; k < 40; ++k) (inside((low + high) / 2) < share ? low : high) = (low + high) / 2;
      const double radius = size * (low + 0.08), angle = 2 * std::numbers::pi * random();
      const double attracting = mass * (heart + (1 - heart) * share / inside(edge));
      const double speed = std::sqrt(attracting * radius * radius / std::pow(radius * radius + smooth * smooth, 1.5));
      const double thickness = 0.03 * size * (random() + random() + random() - 1.5);
      put(place({radius * std::cos(angle), radius * std::sin(angle), thickness}),
          place({-speed * std::sin(angle), speed * std::cos(angle), 0}), mass * (1 - heart) / stars);
    }
  }
  settle(system);
  return system;
}

const char* name_of(Start start) {
  switch (start) {
    case Start::plummer: return "plummer";
    case Start::discs: return "discs";
  }
  return "";
}

System start_of(Start start, int bodies) {
  switch (start) {
    case Start::plummer: return plummer(bodies);
    case Start::discs: return discs(bodies);
  }
  return {};
}

}  // namespace dcgn::nbody
