// A step of the fast Walsh transform.
extern "C" __global__ void walsh_step(float* data, int stride, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n / 2; i += blockDim.x * gridDim.x) {
    const int low = i & (stride - 1), a = 2 * (i - low) + low, b = a + stride;
    const float va = data[a], vb = data[b];
    data[a] = va + vb;
    data[b] = va - vb;
  }
}
