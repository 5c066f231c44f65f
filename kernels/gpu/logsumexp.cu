// LogSumExp: the largest element so far and the sum of exp of all relative to
// it, in one pass. Norm: the sum of powers of the sizes, then its root, in f64,
// in which no square of an f32 over- or underflows.
#include "math.cuh"
#include "reduce.cuh"

template <class T, class S> struct Scaled {
  T most;
  S sum; // of exp(x - most)
};

template <class T, class S> INLINE Scaled<T, S> shuffle_xor(Scaled<T, S> v, int d) {
  return {shuffle_xor(v.most, d), shuffle_xor(v.sum, d)};
}

// exp(x - most), 1 where both are the same infinity.
template <class T> INLINE T relative(T x, T most) { return x == most ? 1 : exponential(x - most); }

template <class T> struct LogSumExp {
  typedef T Element;
  typedef Scaled<T, T> Group;
  typedef Scaled<T, f64> Total;
  typedef T Result;
  static constexpr int loads = 2;
  __device__ static Total none() { return {-(T)__builtin_inff(), 0}; }
  __device__ static Group map(T x, T, i64) { return {x, 1}; }
  __device__ static Group join(Group x, Group y) {
    T most = larger(x.most, y.most);
    return {most, x.sum * relative(x.most, most) + y.sum * relative(y.most, most)};
  }
  __device__ static Total add(Total x, Total y) {
    T most = larger(x.most, y.most);
    return {most, x.sum * relative(x.most, most) + y.sum * relative(y.most, most)};
  }
  __device__ static Total widen(Group x) { return {x.most, x.sum}; }
  __device__ static Result result(Total x, const Result *, f64, i32) { return (T)((f64)x.most + logarithm(x.sum)); }
};

template <class T> struct Norm {
  typedef T Element;
  typedef f64 Group;
  typedef f64 Total;
  typedef T Result;
  static constexpr int loads = 2;
  __device__ static f64 to_the(f64 x, f64 p) { return exponential(p * logarithm(x)); }
  __device__ static Total none() { return 0; }
  __device__ static Group map(T x, T p, i64) {
    f64 size = x < 0 ? -x : x;
    if (p == 2) return size * size;
    if (p == 1) return size;
    if (p == 0) return x != 0 ? 1 : 0;
    return to_the(size, p);
  }
  __device__ static Group join(Group x, Group y) { return x + y; }
  __device__ static Total add(Total x, Total y) { return x + y; }
  __device__ static Total widen(Group x) { return x; }
  __device__ static Result result(Total x, const Result *, f64 alpha, i32) {
    T p = (T)alpha;
    if (p == 2) return (T)root(x);
    if (p == 1 || p == 0) return (T)x;
    return (T)to_the(x, 1 / (f64)p);
  }
};

REDUCE_WIDE(logsumexp, LogSumExp, f32)
REDUCE_WIDE(logsumexp, LogSumExp, f64)
REDUCE_WIDE(norm, Norm, f32)
REDUCE_WIDE(norm, Norm, f64)
