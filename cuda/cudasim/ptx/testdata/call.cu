#include "cuda.h"

#define apart __device__ __attribute__((noinline))

struct triple {
  float a, b, c;
  int n;
};

apart static float power(float x, int n) {
  float p = 1;
  for (int i = 0; i < n; i++) p *= x;
  return p;
}

apart static triple turned(triple t) {
  t.a = power(t.b, t.n);
  t.n++;
  return t;
}

// Returns at once for some threads, and has an array of its own.
apart static int digits(u32 v, int *seen) {
  volatile char kept[12];
  int n = 0;
  if (v == 0) return 0;
  for (; v; v /= 10) kept[n++] = v % 10;
  for (int i = 0; i < n; i++) *seen += kept[i];
  return n;
}

kernel calls(const float *x, float *y, int *out, int n) {
  int i = ctaid_x * ntid_x + tid_x;
  if (i >= n) return;
  triple t = {x[i], x[i] + 1, 3, i % 4};
  t = turned(t);
  if (i % 3 == 0) t = turned(t);
  y[i] = t.a + t.n;
  int seen = 0;
  out[i] = digits(i * 37, &seen) * 1000;
  out[i] += seen;
}
