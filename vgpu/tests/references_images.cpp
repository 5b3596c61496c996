// References of the workloads on grids of two and three dimensions.
#include "references.hpp"

#include <algorithm>
#include <cmath>

namespace dcgn::test {

using workloads::Snapshot;

namespace {

float saturated(float value) { return value > 0 ? std::min(value, 1.0F) : 0; }
float reciprocal_root(float value) { return static_cast<float>(1 / std::sqrt(static_cast<long double>(value))); }
// Of (x, y, z), as nvcc begins with the product in the middle.
float dot(float x, float y, float z, float dx, float dy, float dz) { return std::fma(z, dz, std::fma(x, dx, y * dy)); }

}  // namespace

Words srad(const Snapshot& from) {
  const auto image = values_of<float>(from.buffers[0]);
  const int columns = from.sizes[0], rows = from.sizes[1];
  constexpr float q0 = 0.05F;
  std::vector<float> coefficient(image.size());
  const auto at = [&](int x, int y) {
    return image[static_cast<std::size_t>(std::clamp(y, 0, rows - 1) * columns + std::clamp(x, 0, columns - 1))];
  };
  for (int y = 0; y < rows; ++y)
    for (int x = 0; x < columns; ++x) {
      const float here = at(x, y), north = at(x, y - 1) - here, south = at(x, y + 1) - here, west = at(x - 1, y) - here,
                  east = at(x + 1, y) - here;
      const float squares = std::fma(east, east, std::fma(west, west, std::fma(north, north, south * south)));
      const float gradient = squares / (here * here);
      const float laplace = (north + south + west + east) / here;
      const float denominator = std::fma(laplace, 0.25F, 1.0F);
      const float q = std::fma(gradient, 0.5F, laplace * (laplace * -0.0625F)) / (denominator * denominator);
      coefficient[static_cast<std::size_t>(y * columns + x)] = saturated(1 / (1 + (q - q0) / ((q0 + 1) * q0)));
    }
  return {words_of(coefficient)};
}

Words finite_difference(const Snapshot& from) {
  std::vector<float> grids[2] = {values_of<float>(from.buffers[0]), values_of<float>(from.buffers[1])};
  const auto nx = static_cast<std::size_t>(from.sizes[0]), nz = static_cast<std::size_t>(from.sizes[1]);
  const int steps = from.sizes[2];
  for (int step = 0; step < steps; ++step) {
    const std::vector<float>& in = grids[step % 2];
    std::vector<float>& out = grids[(step + 1) % 2];
    for (std::size_t z = 1; z < nz - 1; ++z)
      for (std::size_t y = 1; y < nx - 1; ++y)
        for (std::size_t x = 1; x < nx - 1; ++x) {
          const std::size_t i = (z * nx + y) * nx + x;
          const float around = in[i - 1] + in[i + 1] + in[i - nx] + in[i + nx] + in[i - nx * nx] + in[i + nx * nx];
          out[i] = std::fma(in[i], 0.4F, 0.1F * around);
        }
  }
  return {words_of(grids[steps % 2])};
}

namespace {

struct Sphere {
  float x, y, z, radius;
};

float shade(const std::vector<Sphere>& spheres, float ox, float oy, float oz, float dx, float dy, float dz, int depth) {
  float nearest = 1e20F;
  const Sphere* hit = nullptr;
  for (const Sphere& s : spheres) {
    const float cx = s.x - ox, cy = s.y - oy, cz = s.z - oz;
    const float along = dot(cx, cy, cz, dx, dy, dz);
    const float inside = s.radius * s.radius - (dot(cx, cy, cz, cx, cy, cz) - along * along);
    if (inside < 0) continue;
    const float t = along - std::sqrt(inside);
    if (t > 1e-3F && t < nearest) nearest = t, hit = &s;
  }
  if (!hit) return std::fma(dy, 0.5F, 0.5F);
  if (depth == 0) return 0.1F;
  const float px = std::fma(nearest, dx, ox), py = std::fma(nearest, dy, oy), pz = std::fma(nearest, dz, oz);
  const float r = 1 / hit->radius, nx = (px - hit->x) * r, ny = (py - hit->y) * r, nz = (pz - hit->z) * r;
  const float twice = 2 * dot(nx, ny, nz, dx, dy, dz);
  const float bounced = shade(spheres, px, py, pz, dx - nx * twice, dy - ny * twice, dz - nz * twice, depth - 1);
  return std::fma(bounced, 0.6F, 0.2F);
}

}  // namespace

Words rays(const Snapshot& from) {
  const auto spheres = values_of<Sphere>(from.constants[0]);
  const int width = from.sizes[0], height = from.sizes[1];
  std::vector<std::uint32_t> picture;
  for (int y = 0; y < height; ++y)
    for (int x = 0; x < width; ++x) {
      const float u = 2 * static_cast<float>(x) / static_cast<float>(width) - 1;
      const float v = 1 - 2 * static_cast<float>(y) / static_cast<float>(height);
      const float r = reciprocal_root(std::fma(u, u, v * v) + 1);
      const auto grey =
          static_cast<std::uint32_t>(255 * saturated(shade(spheres, 0, 0, -3, u * r, v * r, r, 3))) & 0xff;
      picture.push_back(grey | grey << 8 | grey << 16 | 0xff000000U);
    }
  return {picture};
}

Words coulomb(const Snapshot& from) {
  struct Atom {
    float x, y, z, charge;
  };
  auto potential = values_of<float>(from.buffers[0]);
  const auto atoms = values_of<Atom>(from.buffers[1]);
  const int columns = from.sizes[0], rows = from.sizes[1];
  constexpr float spacing = 0.1F, z = 1;
  for (int y = 0; y < rows; ++y)
    for (int x = 0; x < columns; ++x) {
      float sum = 0;
      for (const Atom& atom : atoms) {
        const float dx = spacing * static_cast<float>(x) - atom.x, dy = spacing * static_cast<float>(y) - atom.y,
                    dz = z - atom.z;
        sum = std::fma(atom.charge, reciprocal_root(std::fma(dx, dx, std::fma(dy, dy, dz * dz))), sum);
      }
      potential[static_cast<std::size_t>(y * columns + x)] += sum;
    }
  return {words_of(potential)};
}

}  // namespace dcgn::test
