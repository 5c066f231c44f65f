// Softmax along a dim, its logarithm, and the gradients of both. A line of
// elements along the dim is a thread's, a warp's or a block's.
#include "row.cuh"

// Lines are where the lines of three operands begin, and the strides along them.
struct Lines {
  u64 n;
  i64 stride[3];
  i32 together, log;
};

template <class T>
INLINE void softmax_lines(T *out, const T *in, const Lines &l, const Walk<u64, 2> &walk) {
  Team team(l.together);
  for (u64 i = team.first; i < walk.count; i += team.next) {
    i64 at[2];
    walk.offsets(i, at);
    const T *x = in + at[1];
    T *y = out + at[0], m;
    f64 sum = softmax(team, x, l.stride[1], l.n, m);
    T part = 1 / (T)sum, log = (T)logarithm(sum);
#pragma nounroll
    for (u64 j = team.lane; j < l.n; j += team.step) {
      T d = x[(i64)j * l.stride[1]] - m;
      y[(i64)j * l.stride[0]] = l.log ? d - log : exponential(d) * part;
    }
  }
}

template <class T>
INLINE void gradient_lines(T *out, const T *dys, const T *ys, const Lines &l, const Walk<u64, 3> &walk) {
  __shared__ f64 sums[2][WARPS];
  Team team(l.together);
  int turn = 0;
  for (u64 i = team.first; i < walk.count; i += team.next) {
    i64 at[3];
    walk.offsets(i, at);
    const T *dy = dys + at[1], *y = ys + at[2];
    T *dx = out + at[0];
    T sum = (T)total<T>(team, l.n, sums[turn], [&](u64 j) {
      T d = dy[(i64)j * l.stride[1]];
      return l.log ? d : d * y[(i64)j * l.stride[2]];
    });
    turn ^= 1;
#pragma nounroll
    for (u64 j = team.lane; j < l.n; j += team.step) {
      T d = dy[(i64)j * l.stride[1]], p = y[(i64)j * l.stride[2]];
      dx[(i64)j * l.stride[0]] = l.log ? d - exponential(p) * sum : p * (d - sum);
    }
  }
}

#define SOFTMAX(T)                                                                                     \
  KERNEL BLOCK softmax_##T(T *out, const T *in, Lines l, Walk<u64, 2> w) { softmax_lines(out, in, l, w); } \
  KERNEL BLOCK softmax_grad_##T(T *out, const T *dy, const T *y, Lines l, Walk<u64, 3> w) {     \
    gradient_lines(out, dy, y, l, w);                                                                  \
  }

FOR_FLOATS(SOFTMAX)
