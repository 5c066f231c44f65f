// Var: the sums of the differences from the mean, which top holds as an element,
// and of their squares. The first would be 0 but for the rounding of the mean,
// and takes its error out of the second.
#include "reduce.cuh"

template <class T> struct Differences {
  T sum, squares;
  i32 count;
};

struct Moments {
  f64 sum, squares, count;
};

INLINE Moments shuffle_xor(Moments m, int d) {
  return {shuffle_xor(m.sum, d), shuffle_xor(m.squares, d), shuffle_xor(m.count, d)};
}

template <class T> struct Var {
  typedef T Element;
  typedef Differences<T> Group;
  typedef Moments Total;
  typedef T Result;
  static constexpr int loads = 8;
  __device__ static Total none() { return {0, 0, 0}; }
  __device__ static Group map(T x, T mean, i64) {
    T d = x - mean;
    return {d, d * d, 1};
  }
  __device__ static Group join(Group x, Group y) { return {x.sum + y.sum, x.squares + y.squares, x.count + y.count}; }
  __device__ static Total add(Total x, Total y) { return {x.sum + y.sum, x.squares + y.squares, x.count + y.count}; }
  __device__ static Total widen(Group x) { return {x.sum, x.squares, (f64)x.count}; }
  __device__ static Result result(Total x, const Result *, f64 correction, i32) {
    f64 squares = x.squares - x.sum * x.sum / x.count, n = x.count - correction;
    return (T)((squares < 0 ? 0 : squares) / (n < 0 ? 0 : n));
  }
};

REDUCE_WIDE(var, Var, f32)
REDUCE_WIDE(var, Var, f64)
