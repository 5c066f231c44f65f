#include "cuda.h"

#define T 16

// c = a b, row-major, a is m x k and b k x n.
kernel __launch_bounds__(T *T) matmul(const float *a, const float *b, float *c, int m, int n, int k) {
  __shared__ float as[T][T], bs[T][T];
  int x = tid_x, y = tid_y, row = ctaid_y * T + y, col = ctaid_x * T + x;
  float sum = 0;
  for (int at = 0; at < k; at += T) {
    as[y][x] = row < m && at + x < k ? a[row * k + at + x] : 0;
    bs[y][x] = at + y < k && col < n ? b[(at + y) * n + col] : 0;
    __syncthreads();
    for (int i = 0; i < T; i++) sum = __builtin_fmaf(as[y][i], bs[i][x], sum);
    __syncthreads();
  }
  if (row < m && col < n) c[row * n + col] = sum;
}
