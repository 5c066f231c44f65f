// Elementwise ops whose result is a bool. Those of one input get it twice.
#include "math.cuh"
#include "packs.cuh"

// The ops by number; comparisons in packs.go is the same list.
enum Comparison : u32 { Equal, NotEqual, Less, LessEqual, Greater, GreaterEqual, Not, IsNaN, IsInf };

INLINE bool is_infinite(i64) { return false; } // which no op asks
template <class T> INLINE bool is_infinite(T x) { return magnitude(x) == infinity<T>; }

template <class T> INLINE void compare_pack(u32 op, Pack<T> &x, Pack<T> &y, Vec<bool, pack<T>> &r) {
  switch (op) {
  case Equal: return each(x, y, r, [](T x, T y) { return x == y; });
  case NotEqual: return each(x, y, r, [](T x, T y) { return x != y; });
  case Less: return each(x, y, r, [](T x, T y) { return x < y; });
  case LessEqual: return each(x, y, r, [](T x, T y) { return x <= y; });
  case Greater: return each(x, y, r, [](T x, T y) { return x > y; });
  case GreaterEqual: return each(x, y, r, [](T x, T y) { return x >= y; });
  case Not: return each(x, r, [](T x) { return x == 0; });
  case IsNaN: return each(x, r, [](T x) { return is_nan(x); });
  default: return each(x, r, [](T x) { return is_infinite(x); });
  }
}

#define COMPARE(T)                                                                     \
  KERNEL compare_##T(Job<T, 2> job) {                                                  \
    for_packs<bool>(job, B8, [&](Pack<T>(&x)[2], Vec<bool, pack<T>> &r) {              \
      compare_pack<T>(job.op, x[0], x[1], r);                                          \
    });                                                                                \
  }
FOR_ALL(COMPARE)
