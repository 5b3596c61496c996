// A layer of a neural network: partial sums of a tile in shared memory, then the change of the weights.
extern "C" __global__ void layer_forward(const float* input, const float* weights, float* partial, int outputs) {
  __shared__ float node[16], product[16][16];
  const int tx = threadIdx.x, ty = threadIdx.y;
  const int row = blockIdx.y * 16 + ty;
  if (tx == 0) node[ty] = input[row];
  __syncthreads();
  product[ty][tx] = weights[row * outputs + tx] * node[ty];
  __syncthreads();
  for (int half = 8; half > 0; half /= 2) {
    if (ty < half) product[ty][tx] += product[ty + half][tx];
    __syncthreads();
  }
  if (ty == 0) partial[blockIdx.y * outputs + tx] = product[0][tx];
}

extern "C" __global__ void adjust_weights(const float* delta, const float* input, float* weights, float* old, int outputs) {
  const int row = blockIdx.y * blockDim.y + threadIdx.y, at = row * outputs + threadIdx.x;
  const float change = 0.3f * delta[threadIdx.x] * input[row] + 0.3f * old[at];
  weights[at] += change;
  old[at] = change;
}
