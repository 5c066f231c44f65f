// Sum. Up to eight floats are added pairwise, and their sums in f64, so that
// the sum of any number of floats keeps its digits while few instructions are
// of the kind that most devices are slow at.
#include "reduce.cuh"

template <class T> struct Sum {
  typedef T Element;
  typedef T Group;
  typedef f64 Total;
  typedef T Result;
  static constexpr int loads = 8;
  __device__ static Total none() { return 0; }
  __device__ static Group map(T x, T, i64) { return x; }
  __device__ static Group join(Group x, Group y) { return x + y; }
  __device__ static Total add(Total x, Total y) { return x + y; }
  __device__ static Total widen(Group x) { return x; }
  __device__ static Result result(Total x, const Result *before, f64 alpha, i32 accumulate) {
    x = __nvvm_mul_rn_d(x, alpha);
    return (T)(accumulate ? x + (f64)*before : x);
  }
};

REDUCE(sum, Sum, f32)
REDUCE(sum, Sum, f64)
