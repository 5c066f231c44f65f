// Pooling and its gradients: a thread an element of the output. A gradient
// gathers from the windows that hold its element, in order, so that no two
// threads add to one.
#include "side.cuh"

struct Pool {
  Side x, y, indices;
  i64 kernel[2], stride[2], pad[2], dil[2];
  i64 counts_pad, adaptive;

  // window finds the elements of x that window i has along dim d.
  __device__ void window(int d, i64 i, i64 &from, i64 &to) const {
    const i64 n = x.n[2 + d];
    if (adaptive) {
      from = i * n / y.n[2 + d];
      to = ((i + 1) * n + y.n[2 + d] - 1) / y.n[2 + d];
      return;
    }
    from = i * stride[d] - pad[d];
    to = from + (kernel[d] - 1) * dil[d] + 1;
    if (to > n) to = n;
    if (from < 0) from += (-from + dil[d] - 1) / dil[d] * dil[d];
  }

  // divisor is the part of dim d in what a sum is divided by.
  __device__ i64 divisor(int d, i64 i) const {
    i64 from, to;
    window(d, i, from, to);
    if (adaptive || !counts_pad) return to - from;
    from = i * stride[d] - pad[d];
    to = from + kernel[d];
    return (to < x.n[2 + d] + pad[d] ? to : x.n[2 + d] + pad[d]) - from;
  }

  // holders finds the windows that may hold element h along dim d.
  __device__ void holders(int d, i64 h, i64 &from, i64 &to) const {
    const i64 n = x.n[2 + d], outs = y.n[2 + d];
    if (adaptive) {
      from = h * outs / n;
      to = ((h + 1) * outs + n - 1) / n;
      return;
    }
    i64 before = h + pad[d] - (kernel[d] - 1) * dil[d];
    from = before <= 0 ? 0 : (before + stride[d] - 1) / stride[d];
    to = (h + pad[d]) / stride[d] + 1;
    if (to > outs) to = outs;
  }
};

INLINE void index_of(const Side &v, i64 u, i64 (&i)[4]) {
#pragma unroll
  for (int d = 3; d > 0; d--) {
    i[d] = u % v.n[d];
    u /= v.n[d];
  }
  i[0] = u;
}

INLINE i64 count(const Side &v) { return v.n[0] * v.n[1] * v.n[2] * v.n[3]; }

template <class T> INLINE void max_pool(const Pool &p) {
  for (i64 u = thread<i64>(); u < count(p.y); u += threads<i64>()) {
    i64 i[4], h0, h1, w0, w1;
    index_of(p.y, u, i);
    p.window(0, i[2], h0, h1);
    p.window(1, i[3], w0, w1);
    T best = -(T)__builtin_inff();
    i64 where = h0 < h1 && w0 < w1 ? h0 * p.x.n[3] + w0 : -1;
    for (i64 h = h0; h < h1; h += p.dil[0])
      for (i64 w = w0; w < w1; w += p.dil[1]) {
        T v = *element<const T>(p.x, {i[0], i[1], h, w});
        if (v > best || is_nan(v)) {
          best = v;
          where = h * p.x.n[3] + w;
        }
      }
    *element<T>(p.y, i) = best;
    *element<i64>(p.indices, i) = where;
  }
}

template <class T> INLINE void avg_pool(const Pool &p) {
  for (i64 u = thread<i64>(); u < count(p.y); u += threads<i64>()) {
    i64 i[4], h0, h1, w0, w1;
    index_of(p.y, u, i);
    p.window(0, i[2], h0, h1);
    p.window(1, i[3], w0, w1);
    T sum = 0;
    for (i64 h = h0; h < h1; h++) {
      T row = 0;
      for (i64 w = w0; w < w1; w++) row += *element<const T>(p.x, {i[0], i[1], h, w});
      sum += row;
    }
    *element<T>(p.y, i) = sum / (T)(p.divisor(0, i[2]) * p.divisor(1, i[3]));
  }
}

// grad sums over the windows that hold an element what part(window) says.
template <class T, class F> INLINE void grad(const Pool &p, F part) {
  for (i64 u = thread<i64>(); u < count(p.x); u += threads<i64>()) {
    i64 at[4], i0, i1, j0, j1;
    index_of(p.x, u, at);
    p.holders(0, at[2], i0, i1);
    p.holders(1, at[3], j0, j1);
    T sum = 0;
    for (i64 i = i0; i < i1; i++)
      for (i64 j = j0; j < j1; j++) sum += part(at, {at[0], at[1], i, j});
    *element<T>(p.x, at) = sum;
  }
}

typedef const i64 (&Index)[4];

template <class T> INLINE void max_pool_grad(const Pool &p) {
  grad<T>(p, [&](Index at, Index i) {
    return *element<const i64>(p.indices, i) == at[2] * p.x.n[3] + at[3] ? *element<const T>(p.y, i) : (T)0;
  });
}

template <class T> INLINE void avg_pool_grad(const Pool &p) {
  grad<T>(p, [&](Index, Index i) {
    return *element<const T>(p.y, i) / (T)(p.divisor(0, i[2]) * p.divisor(1, i[3]));
  });
}

#define KERNELS(T)                                                                       \
  KERNEL __attribute__((launch_bounds(256, 2))) max_pool_##T(const Pool p) { max_pool<T>(p); }           \
  KERNEL __attribute__((launch_bounds(256, 2))) max_pool_grad_##T(const Pool p) { max_pool_grad<T>(p); } \
  KERNEL __attribute__((launch_bounds(256, 2))) avg_pool_##T(const Pool p) { avg_pool<T>(p); }           \
  KERNEL __attribute__((launch_bounds(256, 2))) avg_pool_grad_##T(const Pool p) { avg_pool_grad<T>(p); }

FOR_FLOATS(KERNELS)
