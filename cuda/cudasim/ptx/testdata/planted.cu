#include "cuda.h"

// Each kernel has one mistake.

typedef float four __attribute__((ext_vector_type(4)));

// x is aligned to 16 bytes only every second time.
kernel wide(const float *x, float *y) { ((four *)y)[tid_x] = *(const four *)(x + tid_x * 2); }

// The last thread's neighbour is behind the end.
kernel difference(const float *x, float *y, int n) {
  int i = ctaid_x * ntid_x + tid_x;
  if (i < n) y[i] = x[i + 1] - x[i];
}

// The counterpart is of another warp, and there is no barrier.
kernel mirror(const int *x, int *y) {
  __shared__ int s[64];
  s[tid_x] = x[tid_x];
  y[tid_x] = s[63 - tid_x];
}

// The first warp writes what the others may still have to read.
kernel reuse(const int *x, int *y) {
  __shared__ int s[96];
  s[tid_x] = x[tid_x];
  __syncthreads();
  y[tid_x] = s[95 - tid_x];
  s[tid_x] = 0;
  __syncthreads();
  y[tid_x] += s[95 - tid_x];
}

// Two warps write bytes of the same word, which is no mistake.
kernel bytes(int *y) {
  __shared__ unsigned char s[64];
  s[tid_x + 2 & 63] = tid_x;
  __syncthreads();
  y[tid_x] = s[tid_x];
}

// The total is added up in shared memory, and nobody waits for it.
kernel total(const int *x, int *y) {
  __shared__ int sum;
  if (tid_x == 0) sum = 0;
  __syncthreads();
  __nvvm_atom_add_gen_i(&sum, x[tid_x]);
  y[tid_x] = sum;
}
