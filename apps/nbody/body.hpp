// Bodies under their own gravity, G = 1: what one does to another, on a CPU and on a GPU.
#pragma once

#include <dcgn/host_device.hpp>

#include <cmath>

namespace dcgn::nbody {

struct alignas(16) Body {
  float x = 0, y = 0, z = 0;
  float mass = 0;
};

struct alignas(16) Velocity {
  float x = 0, y = 0, z = 0;
  float unused = 0;
};

// On one body, by all of them: its acceleration, and its potential, in which it counts itself.
struct alignas(16) Force {
  float x = 0, y = 0, z = 0;
  float potential = 0;
};

DCGN_HOST_DEVICE inline float inverse_root(float x) {
#if defined(__CUDA_ARCH__)
  float y;
  asm("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
#else
  return 1 / std::sqrt(x);
#endif
}

// Adds what `other` does to `body`. Plummer's softening, above 0, keeps close encounters finite and makes a body's
// force on itself nothing.
template <bool WithPotential>
DCGN_HOST_DEVICE inline void attract(const Body& body, const Body& other, float softening2, Force& force) {
  const float dx = other.x - body.x, dy = other.y - body.y, dz = other.z - body.z;
  const float inverse = inverse_root(dx * dx + dy * dy + dz * dz + softening2);
  const float energy = other.mass * inverse;
  const float scale = energy * (inverse * inverse);
  force.x += scale * dx;
  force.y += scale * dy;
  force.z += scale * dz;
  if constexpr (WithPotential) force.potential -= energy;
}

// The system's.
struct Energy {
  double kinetic = 0, potential = 0;
  double total() const { return kinetic + potential; }
};

// A body's step of a leapfrog: kicked by half of what its force gives, then observed, then kicked again and moved on.
struct Leapfrog {
  float dt;
  bool first, last;  // of all evaluations: velocities begin and end at the time of the positions

  DCGN_HOST_DEVICE void kick_before(Velocity& v, const Force& f) const { kick(v, f, first ? 0 : dt / 2); }
  DCGN_HOST_DEVICE void kick_after(Velocity& v, const Force& f) const { kick(v, f, last ? 0 : dt / 2); }
  DCGN_HOST_DEVICE Body moved(const Body& b, const Velocity& v) const {
    return {b.x + dt * v.x, b.y + dt * v.y, b.z + dt * v.z, b.mass};
  }

 private:
  DCGN_HOST_DEVICE static void kick(Velocity& v, const Force& f, float time) {
    v.x += time * f.x;
    v.y += time * f.y;
    v.z += time * f.z;
  }
};

// What one body adds to the system's: each pair counts once, and no body is a pair with itself.
DCGN_HOST_DEVICE inline void observe(const Body& b, const Velocity& v, const Force& f, float softening2,
                                     double& kinetic, double& potential) {
  kinetic += 0.5 * b.mass * (double(v.x) * v.x + double(v.y) * v.y + double(v.z) * v.z);
  potential += 0.5 * b.mass * (double(f.potential) + double(b.mass) * inverse_root(softening2));
}

}  // namespace dcgn::nbody
