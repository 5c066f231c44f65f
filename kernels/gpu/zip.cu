// Elementwise ops of two inputs, for the element types and ops that have no
// kernel of their own in elementwise.cu.
#include "activation.cuh"
#include "division.cuh"
#include "packs.cuh"
#include "power.cuh"

// The ops by number; zips in packs.go is the same list.
enum Zip : u32 {
  Add, Sub, Mul, Div, ReLUGrad, TanhGrad, SigmoidGrad, SiLUGrad, GELUGrad, GELUTanhGrad, LeakyReLUGrad, ELUGrad,
  SoftplusGrad, ClampGrad, Pow, Maximum, Minimum, FloorDivide, Remainder, And, Or, Xor
};

template <class T> INLINE T smaller(T x, T y) { return x < y || is_nan(x) ? x : y; }

// x is the gradient of the result for the ops that are gradients.
template <class T> INLINE void zip_pack(u32 op, Pack<T> &x, Pack<T> &y, Pack<T> &r, T a, T b) {
  switch (op) {
  case Add: return each(x, y, r, [](T x, T y) { return x + y; });
  case Sub: return each(x, y, r, [](T x, T y) { return x - y; });
  case Mul: return each(x, y, r, [](T x, T y) { return x * y; });
  case Div: return each(x, y, r, [](T x, T y) { return x / y; });
  case ReLUGrad: return each(x, y, r, [](T dy, T y) { return y > 0 || is_nan(y) ? dy : 0; });
  case TanhGrad: return each(x, y, r, [](T dy, T y) { return dy * ((1 - y) * (1 + y)); });
  case SigmoidGrad: return each(x, y, r, [](T dy, T y) { return dy * (y * (1 - y)); });
  case SiLUGrad: return one_by_one(x, y, r, [](T dy, T x) { return dy * silu_derivative(x); });
  case GELUGrad: return one_by_one(x, y, r, [](T dy, T x) { return dy * (normal_below(x) + x * normal_at(x)); });
  case GELUTanhGrad: return one_by_one(x, y, r, [](T dy, T x) { return dy * gelu_tanh_derivative(x); });
  case LeakyReLUGrad: return each(x, y, r, [=](T dy, T x) { return x > 0 ? dy : a * dy; });
  case ELUGrad: return one_by_one(x, y, r, [=](T dy, T x) { return x <= 0 ? dy * (a * exponential(x)) : dy; });
  case SoftplusGrad: return one_by_one(x, y, r, [=](T dy, T x) { return a * x > b ? dy : dy * sigmoid(a * x); });
  case ClampGrad: return each(x, y, r, [=](T dy, T x) { return a < x && x < b ? dy : 0; });
  case Pow: return one_by_one(x, y, r, [](T x, T y) { return raised(x, y); });
  case Maximum: return each(x, y, r, [](T x, T y) { return larger(x, y); });
  case Minimum: return each(x, y, r, [](T x, T y) { return smaller(x, y); });
  case FloorDivide: return one_by_one(x, y, r, [](T x, T y) { return floor_of_quotient(x, y); });
  default: return one_by_one(x, y, r, [](T x, T y) { return rest_of_floor(x, y); });
  }
}

// Integers wrap, as unsigned ones do. The sum of two bools is not 0 if one of
// them is not.
INLINE void zip_pack(u32 op, Pack<i64> &x, Pack<i64> &y, Pack<i64> &r, i64, i64) {
  switch (op) {
  case Add: return each(x, y, r, [](i64 x, i64 y) { return (i64)((u64)x + (u64)y); });
  case Sub: return each(x, y, r, [](i64 x, i64 y) { return (i64)((u64)x - (u64)y); });
  case Mul: return each(x, y, r, [](i64 x, i64 y) { return (i64)((u64)x * (u64)y); });
  case Pow: return one_by_one(x, y, r, [](i64 x, i64 y) { return raised(x, y); });
  case Maximum: return each(x, y, r, [](i64 x, i64 y) { return x > y ? x : y; });
  case Minimum: return each(x, y, r, [](i64 x, i64 y) { return x < y ? x : y; });
  case FloorDivide: return one_by_one(x, y, r, [](i64 x, i64 y) { return floor_of_quotient(x, y); });
  case Remainder: return one_by_one(x, y, r, [](i64 x, i64 y) { return rest_of_floor(x, y); });
  case And: return each(x, y, r, [](i64 x, i64 y) { return x & y; });
  case Or: return each(x, y, r, [](i64 x, i64 y) { return x | y; });
  default: return each(x, y, r, [](i64 x, i64 y) { return x ^ y; });
  }
}

#define ZIP(T)                                                                    \
  KERNEL zip_##T(Job<T, 2> job) {                                                 \
    for_packs<T>(job, job.type, [&](Pack<T>(&x)[2], Pack<T> &r) {                 \
      zip_pack(job.op, x[0], x[1], r, job.a, job.b);                              \
    });                                                                           \
  }
FOR_ALL(ZIP)
