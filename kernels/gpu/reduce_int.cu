// Sum, Prod, Max, Min, ArgMax and ArgMin of integers. Sums and products are
// int64 and wrap; those of bools are those of bytes.
#include "max.cuh"

template <class T> struct Sum {
  typedef T Element;
  typedef i64 Group;
  typedef i64 Total;
  typedef i64 Result;
  static constexpr int loads = 8;
  __device__ static Total none() { return 0; }
  __device__ static Group map(T x, T, i64) { return x; }
  __device__ static Group join(Group x, Group y) { return (i64)((u64)x + (u64)y); }
  __device__ static Total add(Total x, Total y) { return join(x, y); }
  __device__ static Total widen(Group x) { return x; }
  __device__ static Result result(Total x, const Result *before, f64, i32 accumulate) {
    return accumulate ? join(x, *before) : x;
  }
};

template <class T> struct Prod : Sum<T> {
  static constexpr int loads = 4;
  __device__ static i64 none() { return 1; }
  __device__ static i64 join(i64 x, i64 y) { return (i64)((u64)x * (u64)y); }
  __device__ static i64 add(i64 x, i64 y) { return join(x, y); }
  __device__ static i64 result(i64 x, const i64 *, f64, i32) { return x; }
};

#define ALL(T)              \
  REDUCE_WIDE(sum, Sum, T)  \
  REDUCE_WIDE(prod, Prod, T) \
  REDUCE_WIDE(max, Max, T)  \
  REDUCE_WIDE(argmax, ArgMax, T)

ALL(i64)
ALL(i32)
ALL(u8)
