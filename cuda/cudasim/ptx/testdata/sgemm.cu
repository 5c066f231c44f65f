#include "cuda.h"

#define T 64 // a block's tile of c
#define K 16 // of a and b

// c = a b, row-major, n by n, n a multiple of T. A thread makes 4 by 4 of c; the
// tile of a lies transposed, so that its four are read at once.
template <bool racy> __device__ static void tiles(const float *a, const float *b, float *c, int n) {
  __shared__ float as[K][T] __attribute__((aligned(16))), bs[K][T] __attribute__((aligned(16)));
  typedef float four __attribute__((ext_vector_type(4)));
  int t = tid_x, x = t % 16 * 4, y = t / 16 * 4;
  a += ctaid_y * T * n;
  b += ctaid_x * T;
  c += ctaid_y * T * n + ctaid_x * T;
  float sum[4][4] = {};
  for (int at = 0; at < n; at += K) {
    four v = *(const four *)&a[t / 4 * n + at + t % 4 * 4];
    for (int i = 0; i < 4; i++) as[t % 4 * 4 + i][t / 4] = v[i];
    *(four *)&bs[t / 16][x] = *(const four *)&b[(at + t / 16) * n + x];
    __syncthreads();
#pragma unroll
    for (int k = 0; k < K; k++) {
      const float *p = (const float *)__builtin_assume_aligned(&as[k][y], 16);
      const float *q = (const float *)__builtin_assume_aligned(&bs[k][x], 16);
#pragma unroll
      for (int i = 0; i < 4; i++)
#pragma unroll
        for (int j = 0; j < 4; j++) sum[i][j] = __builtin_fmaf(p[i], q[j], sum[i][j]);
    }
    if (!racy) __syncthreads();
  }
  for (int i = 0; i < 4; i++) *(four *)&c[(y + i) * n + x] = four{sum[i][0], sum[i][1], sum[i][2], sum[i][3]};
}

kernel __launch_bounds__(256) sgemm(const float *a, const float *b, float *c, int n) { tiles<false>(a, b, c, n); }

// Without the barrier behind the products a fast warp overwrites the tiles that
// a slow one still reads.
kernel __launch_bounds__(256) sgemm_racy(const float *a, const float *b, float *c, int n) { tiles<true>(a, b, c, n); }
