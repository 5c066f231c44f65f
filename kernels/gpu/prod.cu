// Prod of floats, by f64, in which no product of a few f32 overflows that the
// whole one does not. Any and All of all types: All is whether there is no
// element that is 0, and its alpha 1.
#include "reduce.cuh"

template <class T> struct Prod {
  typedef T Element;
  typedef f64 Group;
  typedef f64 Total;
  typedef T Result;
  static constexpr int loads = 4;
  __device__ static Total none() { return 1; }
  __device__ static Group map(T x, T, i64) { return x; }
  __device__ static Group join(Group x, Group y) { return x * y; }
  __device__ static Total add(Total x, Total y) { return x * y; }
  __device__ static Total widen(Group x) { return x; }
  __device__ static Result result(Total x, const Result *, f64, i32) { return (T)x; }
};

template <class T> struct Any {
  typedef T Element;
  typedef i32 Group;
  typedef i32 Total;
  typedef u8 Result;
  static constexpr int loads = 8;
  __device__ static Total none() { return 0; }
  __device__ static Group map(T x, T all, i64) { return (x != 0) != (all != 0); }
  __device__ static Group join(Group x, Group y) { return x | y; }
  __device__ static Total add(Total x, Total y) { return x | y; }
  __device__ static Total widen(Group x) { return x; }
  __device__ static Result result(Total x, const Result *, f64 all, i32) { return (x != 0) != (all != 0); }
};

REDUCE_WIDE(prod, Prod, f32)
REDUCE_WIDE(prod, Prod, f64)
REDUCE_WIDE(any, Any, f32)
REDUCE_WIDE(any, Any, f64)
REDUCE_WIDE(any, Any, i64)
REDUCE_WIDE(any, Any, i32)
REDUCE_WIDE(any, Any, u8)
