// Rays against spheres: a bounce by recursion.
struct Sphere {
  float x, y, z, radius;
};
__constant__ Sphere spheres[8];

__device__ __noinline__ float shade(float ox, float oy, float oz, float dx, float dy, float dz, int depth) {
  float nearest = 1e20f;
  int hit = -1;
  for (int s = 0; s < 8; ++s) {
    const float cx = spheres[s].x - ox, cy = spheres[s].y - oy, cz = spheres[s].z - oz;
    const float along = cx * dx + cy * dy + cz * dz;
    const float inside = spheres[s].radius * spheres[s].radius - (cx * cx + cy * cy + cz * cz - along * along);
    if (inside < 0) continue;
    const float t = along - sqrtf(inside);
    if (t > 1e-3f && t < nearest) nearest = t, hit = s;
  }
  if (hit < 0) return 0.5f + 0.5f * dy;
  const float px = ox + nearest * dx, py = oy + nearest * dy, pz = oz + nearest * dz, r = 1 / spheres[hit].radius;
  const float nx = (px - spheres[hit].x) * r, ny = (py - spheres[hit].y) * r, nz = (pz - spheres[hit].z) * r;
  const float twice = 2 * (dx * nx + dy * ny + dz * nz);
  return depth == 0 ? 0.1f : 0.6f * shade(px, py, pz, dx - twice * nx, dy - twice * ny, dz - twice * nz, depth - 1) + 0.2f;
}

extern "C" __global__ void rays(uchar4* picture, int width, int height) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= width || y >= height) return;
  const float u = 2.0f * x / width - 1, v = 1 - 2.0f * y / height, r = rsqrtf(u * u + v * v + 1);
  const unsigned char c = 255 * __saturatef(shade(0, 0, -3, u * r, v * r, r, 3));
  picture[y * width + x] = make_uchar4(c, c, c, 255);
}
