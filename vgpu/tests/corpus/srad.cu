// Speckle-reducing diffusion: coefficients from differences to the neighbours, on a grid of two dimensions.
extern "C" __global__ void srad(const float* image, float* coefficient, int columns, int rows, float q0) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= columns || y >= rows) return;
  const float here = image[y * columns + x];
  const float north = image[max(y - 1, 0) * columns + x] - here, south = image[min(y + 1, rows - 1) * columns + x] - here;
  const float west = image[y * columns + max(x - 1, 0)] - here, east = image[y * columns + min(x + 1, columns - 1)] - here;
  const float gradient = (north * north + south * south + west * west + east * east) / (here * here);
  const float laplace = (north + south + west + east) / here;
  const float denominator = 1 + 0.25f * laplace;
  const float q = (0.5f * gradient - 0.0625f * laplace * laplace) / (denominator * denominator);
  coefficient[y * columns + x] = __saturatef(1 / (1 + (q - q0) / (q0 * (1 + q0))));
}
