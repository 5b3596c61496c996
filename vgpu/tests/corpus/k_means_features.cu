// The nearest of several centres by all features of an object; the host adds up. Features lie one after the other, each of all objects.
constexpr int most_centres = 8, most_features = 64;
__constant__ float centres[most_centres * most_features];

extern "C" __global__ void transpose_features(const float* objects, float* features, int n, int count) {
  const int object = blockIdx.x * blockDim.x + threadIdx.x;
  if (object >= n) return;
  for (int f = 0; f < count; ++f) features[static_cast<size_t>(f) * n + object] = objects[static_cast<size_t>(object) * count + f];
}

extern "C" __global__ void nearest_centre(const float* features, int n, int count, int k, int* nearest) {
  const int object = blockIdx.x * blockDim.x + threadIdx.x;
  if (object >= n) return;
  float least = 3.4e38f;
  int which = 0;
  for (int c = 0; c < k; ++c) {
    float distance = 0;
    for (int f = 0; f < count; ++f) {
      const float apart = features[static_cast<size_t>(f) * n + object] - centres[c * count + f];
      distance = __fmaf_rn(apart, apart, distance);
    }
    if (distance < least) least = distance, which = c;
  }
  nearest[object] = which;
}
