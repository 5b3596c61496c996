// MD5 of each segment of a file: a thread hashes its own, whose chunks of 64 bytes a block reads together into shared memory.
__constant__ unsigned sines[64];  // 2^32 |sin(i + 1)|

constexpr int segments = 128, chunk_words = 16;

__device__ void hash_chunk(unsigned* state, const unsigned* words) {
  constexpr int turns[4][4] = {{7, 12, 17, 22}, {5, 9, 14, 20}, {4, 11, 16, 23}, {6, 10, 15, 21}};
  unsigned a = state[0], b = state[1], c = state[2], d = state[3];
#pragma unroll
  for (int i = 0; i < 64; ++i) {
    const int round = i / 16;
    const unsigned mixed = round == 0 ? (b & c) | (~b & d) : round == 1 ? (d & b) | (~d & c) : round == 2 ? b ^ c ^ d : c ^ (b | ~d);
    const int word = round == 0 ? i : round == 1 ? (5 * i + 1) % 16 : round == 2 ? (3 * i + 5) % 16 : 7 * i % 16;
    const unsigned sum = a + mixed + sines[i] + words[word];
    const int turn = turns[round][i % 4];
    a = d, d = c, c = b;
    b += sum << turn | sum >> (32 - turn);
  }
  state[0] += a, state[1] += b, state[2] += c, state[3] += d;
}

extern "C" __global__ void hash_segments(const unsigned* file, int chunks, uint4* hashes) {
  __shared__ unsigned staged[segments][chunk_words + 1];  // rows begin in different banks
  const unsigned* const mine = file + static_cast<size_t>(blockIdx.x) * segments * chunks * chunk_words;
  unsigned state[4] = {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476};
  for (int chunk = 0; chunk <= chunks; ++chunk) {
    unsigned* const its = staged[threadIdx.x];
    if (chunk < chunks) {
      for (int i = threadIdx.x; i < segments * chunk_words; i += segments)
        staged[i / chunk_words][i % chunk_words] = mine[(i / chunk_words * chunks + chunk) * chunk_words + i % chunk_words];
    } else {  // the end: a bit of 1, and the length in bits
      for (int i = 0; i < chunk_words; ++i) its[i] = i == 0 ? 0x80 : i == 14 ? 512 * chunks : 0;
    }
    __syncthreads();
    hash_chunk(state, its);
    __syncthreads();
  }
  hashes[blockIdx.x * segments + threadIdx.x] = make_uint4(state[0], state[1], state[2], state[3]);
}
