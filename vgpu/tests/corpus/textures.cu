// Texture and surface objects: handles that one GPU knows; not to be split.
extern "C" __global__ void sample(cudaTextureObject_t texture, float* out) {
  out[blockIdx.x] = tex2D<float>(texture, blockIdx.x, threadIdx.x);
}
extern "C" __global__ void draw(cudaSurfaceObject_t surface) { surf2Dwrite(1.0f, surface, 4 * blockIdx.x, 0); }
