#include "apps/nbody/nbody.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <thread>

namespace dcgn::nbody {

namespace {

struct ExactVector {
  double x = 0, y = 0, z = 0;
};

struct Exact {
  ExactVector x, v, a;
  double mass = 0;
};

ExactVector acceleration(const std::vector<Exact>& bodies, const ExactVector& at, double softening2) {
  ExactVector a;
  for (const Exact& other : bodies) {
    const double dx = other.x.x - at.x, dy = other.x.y - at.y, dz = other.x.z - at.z;
    const double r2 = dx * dx + dy * dy + dz * dz + softening2;
    const double scale = other.mass / (r2 * std::sqrt(r2));
    a = {a.x + scale * dx, a.y + scale * dy, a.z + scale * dz};
  }
  return a;
}

void accelerate(std::vector<Exact>& bodies, double softening2) {
  const std::size_t threads = std::max(1u, std::thread::hardware_concurrency());
  const std::size_t each = (bodies.size() + threads - 1) / threads;
  std::vector<std::jthread> team;
  for (std::size_t begin = 0; begin < bodies.size(); begin += each)
    team.emplace_back([&bodies, softening2, begin, end = std::min(begin + each, bodies.size())] {
      for (std::size_t i = begin; i < end; ++i) bodies[i].a = acceleration(bodies, bodies[i].x, softening2);
    });
}

void add(ExactVector& to, const ExactVector& what, double times) {
  to = {to.x + times * what.x, to.y + times * what.y, to.z + times * what.z};
}

}  // namespace

std::vector<Body> reference(const Options& options) {
  const System system = start_of(options.start, options.bodies);
  const double dt = options.dt, softening2 = static_cast<double>(options.softening) * options.softening;
  std::vector<Exact> exact;
  exact.reserve(system.bodies.size());
  for (std::size_t i = 0; i < system.bodies.size(); ++i) {
    const Body& b = system.bodies[i];
    const Velocity& v = system.velocities[i];
    exact.push_back({.x = {b.x, b.y, b.z}, .v = {v.x, v.y, v.z}, .a = {}, .mass = b.mass});
  }
  for (int step = 0; step < options.steps; ++step) {
    accelerate(exact, softening2);
    for (Exact& e : exact) {
      add(e.v, e.a, step == 0 ? dt / 2 : dt);
      add(e.x, e.v, dt);
    }
  }
  std::vector<Body> bodies;
  bodies.reserve(exact.size());
  for (const Exact& e : exact)
    bodies.push_back(
        {static_cast<float>(e.x.x), static_cast<float>(e.x.y), static_cast<float>(e.x.z), static_cast<float>(e.mass)});
  return bodies;
}

std::int64_t count_wrong(const std::vector<Body>& bodies, const std::vector<Body>& reference, double tolerance) {
  std::int64_t wrong = 0;
  for (std::size_t i = 0; i < reference.size(); ++i) {
    const double x = bodies[i].x - reference[i].x, y = bodies[i].y - reference[i].y, z = bodies[i].z - reference[i].z;
    wrong += !(std::sqrt(x * x + y * y + z * z) <= tolerance);  // a NaN is wrong too
  }
  return wrong;
}

}  // namespace dcgn::nbody
