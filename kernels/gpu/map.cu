// Elementwise ops of one input, for the element types and ops that have no
// kernel of their own in elementwise.cu.
#include "activation.cuh"
#include "packs.cuh"
#include "power.cuh"
#include "trigonometric.cuh"

// The ops by number; maps in packs.go is the same list.
enum Map : u32 {
  Affine, Exp, Log, Sqrt, ReLU, Neg, Abs, Sign, Floor, Ceil, Trunc, Round, Reciprocal, Rsqrt, Expm1, Log1p, Sin, Cos,
  Tanh, Sigmoid, Erf, SiLU, GELU, GELUTanh, LeakyReLU, ELU, Softplus, PowScalar, Clamp
};

template <class T> INLINE void map_pack(u32 op, Pack<T> &x, Pack<T> &r, T a, T b) {
  switch (op) {
  case Affine: return each(x, r, [=](T x) { return fused(a, x, b); });
  case Exp: return one_by_one(x, r, [](T x) { return exponential(x); });
  case Log: return one_by_one(x, r, [](T x) { return logarithm(x); });
  case Sqrt: return each(x, r, [](T x) { return root(x); });
  case ReLU: return each(x, r, [](T x) { return x < 0 ? 0 : x; });
  case Neg: return each(x, r, [](T x) { return -x; });
  case Abs: return each(x, r, [](T x) { return magnitude(x); });
  case Sign: return each(x, r, [](T x) { return (T)((x > 0) - (x < 0)); });
  case Floor: return each(x, r, [](T x) { return down(x); });
  case Ceil: return each(x, r, [](T x) { return up(x); });
  case Trunc: return each(x, r, [](T x) { return toward_zero(x); });
  case Round: return each(x, r, [](T x) { return nearest(x); });
  case Reciprocal: return each(x, r, [](T x) { return 1 / x; });
  case Rsqrt: return each(x, r, [](T x) { return 1 / root(x); });
  case Expm1: return one_by_one(x, r, [](T x) { return exponential_less_1(x); });
  case Log1p: return one_by_one(x, r, [](T x) { return logarithm_of_1_more(x); });
  case Sin: return one_by_one(x, r, [](T x) { return sine(x); });
  case Cos: return one_by_one(x, r, [](T x) { return cosine(x); });
  case Tanh: return one_by_one(x, r, [](T x) { return hyperbolic_tangent(x); });
  case Sigmoid: return one_by_one(x, r, [](T x) { return sigmoid(x); });
  case Erf: return one_by_one(x, r, [](T x) { return error_function(x); });
  case SiLU: return one_by_one(x, r, [](T x) { return silu(x); });
  case GELU: return one_by_one(x, r, [](T x) { return x * normal_below(x); });
  case GELUTanh: return one_by_one(x, r, [](T x) { return x * sigmoid(gelu_bend(x)); });
  case LeakyReLU: return each(x, r, [=](T x) { return x > 0 ? x : a * x; });
  case ELU: return one_by_one(x, r, [=](T x) { return x <= 0 ? a * exponential_less_1(x) : x; });
  case Softplus: return one_by_one(x, r, [=](T x) { return softplus(x, a, b); });
  case PowScalar: return one_by_one(x, r, [=](T x) { return raised(x, a); });
  default:
    return each(x, r, [=](T x) {
      x = x < a ? a : x;
      return x > b ? b : x;
    });
  }
}

// Integers wrap, as unsigned ones do.
INLINE void map_pack(u32 op, Pack<i64> &x, Pack<i64> &r, i64 a, i64 b) {
  switch (op) {
  case Neg: return each(x, r, [](i64 x) { return (i64)-(u64)x; });
  case Abs: return each(x, r, [](i64 x) { return x < 0 ? (i64)-(u64)x : x; });
  case Sign: return each(x, r, [](i64 x) { return (i64)((x > 0) - (x < 0)); });
  default:
    return each(x, r, [=](i64 x) {
      x = x < a ? a : x;
      return x > b ? b : x;
    });
  }
}

#define MAP(T)                                                                                           \
  KERNEL map_##T(Job<T, 1> job) {                                                                        \
    for_packs<T>(job, job.type, [&](Pack<T>(&x)[1], Pack<T> &r) { map_pack(job.op, x[0], r, job.a, job.b); }); \
  }
FOR_ALL(MAP)
