#include "cuda.h"

kernel saxpy(float a, const float *x, float *y, int n) {
  int i = ctaid_x * ntid_x + tid_x;
  if (i < n) y[i] = a * x[i] + y[i];
}

// Strides are in elements; 0 repeats a dimension.
struct shape {
  int rank;
  long long dims[8], a[8], b[8];
};

kernel add_broadcast(const float *a, const float *b, float *out, long long n, shape s) {
  for (long long i = ctaid_x * (long long)ntid_x + tid_x; i < n; i += (long long)nctaid_x * ntid_x) {
    long long rest = i, at = 0, bt = 0;
    for (int d = s.rank - 1; d >= 0; d--) {
      long long k = rest % s.dims[d];
      rest /= s.dims[d];
      at += k * s.a[d];
      bt += k * s.b[d];
    }
    out[i] = a[at] + b[bt];
  }
}

// One store too many: the test is <= and should be <.
kernel overrun(float *out, int n) {
  int i = ctaid_x * ntid_x + tid_x;
  if (i <= n) out[i] = 1.0f;
}

kernel misaligned(const char *in, float *out) {
  out[tid_x] = *(const float *)(in + tid_x * 4 + 2);
}

__constant__ unsigned char table[8] = {3, 1, 4, 1, 5, 9, 2, 6};
__device__ int calls;

kernel lookup(int *out) {
  out[tid_x] = table[tid_x & 7];
  if (tid_x == 0) calls += 1;
}
