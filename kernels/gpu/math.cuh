// Exponential, logarithm and what is made of them, by polynomials: exp and log
// within 2 units in the last place, the others within 4, and what IEEE says at
// 0, infinity and NaN. No table, no approximate
// instruction: a device computes the bits that the interpreter does.
#pragma once
#include "tarn.cuh"

INLINE f32 root(f32 x) { return __nvvm_sqrt_rn_f(x); }
INLINE f64 root(f64 x) { return __nvvm_sqrt_rn_d(x); }

INLINE f32 fused(f32 x, f32 y, f32 z) { return __builtin_fmaf(x, y, z); }
INLINE f64 fused(f64 x, f64 y, f64 z) { return __builtin_fma(x, y, z); }

template <class T> struct Format;

// LN2_HI has so few bits that its product with an exponent is exact.
template <> struct Format<f32> {
  typedef i32 Bits;
  static constexpr int fraction = 23, bias = 127, expTerms = 7, logTerms = 5;
  static constexpr f32 expMost = 90, expLeast = -105, ln2Hi = 0x1.62e4p-1f, ln2Lo = 0x1.7f7d1cp-20f;
  static constexpr f32 leastNormal = 0x1p-126f, lift = 0x1p25f, expm1Most = 89, expm1Least = -40;
  static constexpr i32 liftBits = 25, rootHalf = 0x3f3504f3;
};

template <> struct Format<f64> {
  typedef i64 Bits;
  static constexpr int fraction = 52, bias = 1023, expTerms = 13, logTerms = 11;
  static constexpr f64 expMost = 720, expLeast = -760, ln2Hi = 0x1.62e42feep-1, ln2Lo = 0x1.a39ef35793c76p-33;
  static constexpr f64 leastNormal = 0x1p-1022, lift = 0x1p54, expm1Most = 710, expm1Least = -60;
  static constexpr i64 liftBits = 54, rootHalf = 0x3fe6a09e667f3bcd;
};

INLINE f32 nearest(f32 x) { return __builtin_rintf(x); }
INLINE f64 nearest(f64 x) { return __builtin_rint(x); }
INLINE f32 toward_zero(f32 x) { return __builtin_truncf(x); }
INLINE f64 toward_zero(f64 x) { return __builtin_trunc(x); }
INLINE f32 down(f32 x) { return __builtin_floorf(x); }
INLINE f64 down(f64 x) { return __builtin_floor(x); }
INLINE f32 up(f32 x) { return __builtin_ceilf(x); }
INLINE f64 up(f64 x) { return __builtin_ceil(x); }

// 2^e, e within the range of normal numbers.
template <class T> INLINE T power(int e) {
  return __builtin_bit_cast(T, (typename Format<T>::Bits)(e + Format<T>::bias) << Format<T>::fraction);
}

// A variable and not a function, which clang would keep in the PTX.
template <int N> constexpr f64 factorial = N * factorial<N - 1>;
template <> constexpr f64 factorial<0> = 1;

// exp(r) for |r| <= ln(2)/2: Taylor's polynomial, cut where the next term is
// below half a unit. With Least 1 it is (exp(r)-1)/r.
template <class T, int K, int Least = 0> INLINE T taylor(T r, T sum) {
  if constexpr (K < Least) {
    return sum;
  } else {
    constexpr T c = (T)(1 / factorial<K>);
    return taylor<T, K - 1, Least>(r, fused(sum, r, c));
  }
}

// exp(x) = 2^n exp(r). The power is applied in two steps, so that only the
// second can leave the normal range, and rounds.
template <class T> INLINE T exponential(T x) {
  typedef Format<T> F;
  x = x > F::expMost ? F::expMost : x; // and NaN stays
  x = x < F::expLeast ? F::expLeast : x;
  T n = nearest(x * (T)1.4426950408889634074);
  T r = fused(n, -F::ln2Hi, x);
  r = fused(n, -F::ln2Lo, r);
  T y = taylor<T, F::expTerms - 1>(r, (T)(1 / factorial<F::expTerms>));
  int e = (int)n, half = e >> 1;
  return y * power<T>(half) * power<T>(e - half);
}

// 1 - exp(x) for x <= 0. Near 0, where the difference would keep few digits, the
// polynomial has no 1 to begin with.
INLINE f64 one_minus_exp(f64 x) {
  constexpr int terms = Format<f64>::expTerms;
  if (x < -0.34) return 1 - exponential(x);
  return -x * taylor<f64, terms - 1, 1>(x, 1 / factorial<terms>);
}

// The tail of 2*atanh(s)/s/2 - 1 = z/3 + z^2/5 + ..., z = s*s.
template <class T, int K> INLINE T atanh_tail(T z, T sum) {
  if constexpr (K == 0) {
    return sum * z;
  } else {
    constexpr T c = (T)(1 / (2.0 * K + 1));
    return atanh_tail<T, K - 1>(z, fused(sum, z, c));
  }
}

// log(x) = e ln(2) + log(m), m from sqrt(1/2) to sqrt(2), and with m = 1+f
// log(m) = 2 atanh(f/(2+f)).
template <class T> INLINE T logarithm(T x) {
  typedef Format<T> F;
  typedef typename F::Bits Bits;
  bool tiny = x < F::leastNormal;
  Bits bits = __builtin_bit_cast(Bits, tiny ? x * F::lift : x);
  Bits e = (bits - F::rootHalf) >> F::fraction;
  T f = __builtin_bit_cast(T, (Bits)(bits - (e << F::fraction))) - 1;
  e -= tiny ? F::liftBits : 0;
  T s = f / (2 + f);
  T n = (T)e, twice = s + s;
  T tail = atanh_tail<T, F::logTerms - 1>(s * s, (T)(1 / (2.0 * F::logTerms + 1)));
  T y = fused(n, F::ln2Hi, twice + fused(twice, tail, n * F::ln2Lo));
  if (x == 0) return -(T)__builtin_inff();
  if (!(x > 0)) return (T)__builtin_nanf("");
  return x == (T)__builtin_inff() ? x : y;
}

template <class T> constexpr T infinity = (T)__builtin_inff();
template <class T> constexpr T quiet_nan = (T)__builtin_nanf("");

INLINE f32 magnitude(f32 x) { return __builtin_fabsf(x); }
INLINE f64 magnitude(f64 x) { return __builtin_fabs(x); }
INLINE f32 with_sign(f32 x, f32 sign) { return __builtin_copysignf(x, sign); }
INLINE f64 with_sign(f64 x, f64 sign) { return __builtin_copysign(x, sign); }

// exp(x)-1 = 2^n (exp(r)-1) + 2^n - 1. Half of it is computed, for the largest n.
template <class T> INLINE T exponential_less_1(T x) {
  typedef Format<T> F;
  T y = x > F::expm1Most ? F::expm1Most : x; // and NaN stays
  y = y < F::expm1Least ? F::expm1Least : y;
  T n = nearest(y * (T)1.4426950408889634074);
  T r = fused(n, -F::ln2Hi, y);
  r = fused(n, -F::ln2Lo, r);
  T p = r * taylor<T, F::expTerms - 1, 1>(r, (T)(1 / factorial<F::expTerms>));
  T scale = power<T>((int)n - 1);
  T sum = fused(p, scale, scale - (T)0.5) * 2;
  if (n == 0) sum = p; // half of a denormal would lose its last bit
  return x == 0 ? x : sum; // -0 too
}

// log(1+x): the logarithm of the rounded sum and, by its slope there, that of
// what rounding lost.
template <class T> INLINE T logarithm_of_1_more(T x) {
  T u = 1 + x, y = logarithm(u);
  if (u == 1) return x;
  if (u > 0 && u < infinity<T>) y += (x - (u - 1)) / u;
  return y;
}

// 1/(1+exp(-x)). e^-x may overflow where e^x still has digits.
template <class T> INLINE T sigmoid(T x) {
  T e = exponential(-magnitude(x));
  return (x < 0 ? e : (T)1) / (1 + e);
}

template <class T> INLINE T hyperbolic_tangent(T x) {
  T e = exponential_less_1(-2 * magnitude(x));
  return with_sign(-e / (2 + e), x);
}
