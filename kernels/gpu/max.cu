// Max, Min, ArgMax and ArgMin of floats, and the gradient of the first two.
#include "max.cuh"

// The elements that equal the maximum, NaN being equal to NaN.
template <class T> INLINE bool is_top(T x, T top) { return x == top || (is_nan(x) && is_nan(top)); }

template <class T> struct Count {
  typedef T Element;
  typedef i32 Group;
  typedef i64 Total;
  typedef i64 Result;
  static constexpr int loads = 4;
  __device__ static Total none() { return 0; }
  __device__ static Group map(T x, T top, i64) { return is_top(x, top) ? 1 : 0; }
  __device__ static Group join(Group x, Group y) { return x + y; }
  __device__ static Total add(Total x, Total y) { return x + y; }
  __device__ static Total widen(Group x) { return x; }
  __device__ static Result result(Total x, const Result *, f64, i32) { return x; }
};

#define ALL(T)            \
  REDUCE(max, Max, T)     \
  REDUCE(count, Count, T) \
  REDUCE(argmax, ArgMax, T)

FOR_FLOATS(ALL)

// max_grad shares dy out among the maxima that have been counted. Operands of
// w: dx, dy, x, top, counts.
template <class T, class I>
INLINE void max_grad(T *dx, const T *dy, const T *x, const T *top, const i64 *counts, const Walk<I, 5> &w) {
  for (I i = thread<I>(); i < w.count; i += threads<I>()) {
    i64 at[5];
    w.offsets(i, at);
    dx[at[0]] = is_top(x[at[2]], top[at[3]]) ? dy[at[1]] / (T)counts[at[4]] : 0;
  }
}

#define MAX_GRAD(T)                                                                                             \
  KERNEL max_grad_##T##_index32(T *dx, const T *dy, const T *x, const T *top, const i64 *n, Walk<u32, 5> w) {   \
    max_grad(dx, dy, x, top, n, w);                                                                             \
  }                                                                                                             \
  KERNEL max_grad_##T##_index64(T *dx, const T *dy, const T *x, const T *top, const i64 *n, Walk<u64, 5> w) {   \
    max_grad(dx, dy, x, top, n, w);                                                                             \
  }

FOR_FLOATS(MAX_GRAD)
