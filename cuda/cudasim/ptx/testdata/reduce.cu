#include "cuda.h"

__device__ static float warp_sum(float v) {
  for (int d = 16; d > 0; d >>= 1) v += __nvvm_shfl_sync_bfly_f32(0xffffffff, v, d, 31);
  return v;
}

__device__ static float warp_max(float v) {
  for (int d = 16; d > 0; d >>= 1) v = __builtin_fmaxf(v, __nvvm_shfl_sync_bfly_f32(0xffffffff, v, d, 31));
  return v;
}

kernel sum(const float *x, float *out, int n) {
  __shared__ float part[32];
  float v = 0;
  for (int i = ctaid_x * ntid_x + tid_x; i < n; i += nctaid_x * ntid_x) v += x[i];
  v = warp_sum(v);
  if (tid_x % 32 == 0) part[tid_x / 32] = v;
  __syncthreads();
  if (tid_x < 32) {
    v = warp_sum(tid_x < ntid_x / 32 ? part[tid_x] : 0);
    if (tid_x == 0) __nvvm_atom_add_gen_f(out, v);
  }
}

// A warp a row.
kernel softmax(const float *x, float *y, int rows, int cols) {
  int row = ctaid_x * (ntid_x / 32) + tid_x / 32, lane = tid_x % 32;
  if (row >= rows) return;
  x += row * cols;
  y += row * cols;
  float top = -__builtin_inff();
  for (int i = lane; i < cols; i += 32) top = __builtin_fmaxf(top, x[i]);
  top = warp_max(top);
  float total = 0;
  for (int i = lane; i < cols; i += 32) {
    float e = __nvvm_ex2_approx_f((x[i] - top) * 1.44269504f);
    y[i] = e;
    total += e;
  }
  total = warp_sum(total);
  for (int i = lane; i < cols; i += 32) y[i] = y[i] / total;
}

// Half of the block misses the barrier.
kernel half_barrier(int *out) {
  __shared__ int v;
  if (tid_x < 32) {
    if (tid_x == 0) v = 7;
    __syncthreads();
    out[tid_x] = v;
  }
}

// The odd lanes do not come to a shuffle that names them.
kernel half_shuffle(int *out) {
  if (tid_x % 2 == 0) out[tid_x] = __nvvm_shfl_sync_idx_i32(0xffffffff, tid_x, 0, 31);
}

kernel dynamic_reverse(const int *in, int *out) {
  extern __shared__ int buffer[];
  buffer[tid_x] = in[tid_x];
  __syncthreads();
  out[tid_x] = buffer[ntid_x - 1 - tid_x];
}
