// x to the power of y, within 8 units in the last place: the logarithm is kept as
// a sum of two numbers, since an error of it grows with y*log(x), up to 745.
#pragma once
#include "math.cuh"

// Pair is the sum of two numbers of which the second is rounding's share.
template <class T> struct Pair { T hi, lo; };

// pair_of is that of x + y, |x| >= |y|.
template <class T> INLINE Pair<T> pair_of(T x, T y) {
  T s = x + y;
  return {s, y - (s - x)};
}

template <class T> INLINE Pair<T> product(Pair<T> x, Pair<T> y) {
  T p = x.hi * y.hi;
  return pair_of(p, fused(x.hi, y.hi, -p) + fused(x.hi, y.lo, x.lo * y.hi));
}

template <class T> struct Third;
template <> struct Third<f32> { static constexpr f32 hi = 0x1.555556p-2f, lo = -0x1.555556p-27f; };
template <> struct Third<f64> { static constexpr f64 hi = 0x1.5555555555555p-2, lo = 0x1.5555555555555p-56; };

// z/5 + z^2/7 + ...
template <class T, int K> INLINE T past_third(T z, T sum) {
  if constexpr (K == 1) {
    return sum * z;
  } else {
    constexpr T c = (T)(1 / (2.0 * K + 1));
    return past_third<T, K - 1>(z, fused(sum, z, c));
  }
}

// log of a finite x > 0 as logarithm has it, each step with its rounding error:
// log(m) = 2s + 2s z (1/3 + z/5 + ...), z = s*s.
template <class T> INLINE Pair<T> logarithm_pair(T x) {
  typedef Format<T> F;
  typedef typename F::Bits Bits;
  bool tiny = x < F::leastNormal;
  Bits bits = __builtin_bit_cast(Bits, tiny ? x * F::lift : x);
  Bits e = (bits - F::rootHalf) >> F::fraction;
  T f = __builtin_bit_cast(T, (Bits)(bits - (e << F::fraction))) - 1;
  e -= tiny ? F::liftBits : 0;

  T d = 2 + f, lost = (2 - d) + f, q = f / d;
  Pair<T> s = {q, (fused(-q, d, f) - q * lost) / d};
  Pair<T> z = product(s, s);
  T tail = past_third<T, F::logTerms>(z.hi, (T)(1 / (2.0 * F::logTerms + 3)));
  Pair<T> u = product(product(z, pair_of(Third<T>::hi, tail + Third<T>::lo)), s);
  Pair<T> half = pair_of(s.hi, u.hi);
  half.lo += s.lo + u.lo;
  T n = (T)e;
  Pair<T> y = {2 * half.hi, 0};
  if (e != 0) y = pair_of(n * F::ln2Hi, 2 * half.hi);
  return pair_of(y.hi, y.lo + fused(n, F::ln2Lo, 2 * half.lo));
}

// What C's pow says of the signs, zeros, infinities and NaN.
template <class T> INLINE T raised(T x, T y) {
  typedef Format<T> F;
  if (x == 1 || y == 0) return 1;
  if (is_nan(x) || is_nan(y)) return x + y;
  T a = magnitude(x), result;
  if (a == 0 || a == infinity<T>) {
    result = (a == 0) == (y < 0) ? infinity<T> : 0;
  } else if (magnitude(y) == infinity<T>) {
    result = a == 1 ? 1 : (a > 1) == (y > 0) ? infinity<T> : 0;
  } else {
    Pair<T> l = logarithm_pair(a);
    T p = y * l.hi, rest = fused(y, l.hi, -p) + y * l.lo;
    result = exponential(p);
    if (result < infinity<T> && p > F::expLeast) result = fused(result, rest, result);
  }
  if (with_sign((T)1, x) > 0) return result;
  T half = y / 2;
  if (toward_zero(y) != y) return a == 0 || a == infinity<T> ? result : quiet_nan<T>;
  return toward_zero(half) == half ? result : -result;
}

// PowInt of package kernels.
INLINE i64 raised(i64 x, i64 y) {
  if (y < 0) return x == 1 ? 1 : x == -1 ? 1 - 2 * (y & 1) : 0;
  u64 p = 1, b = (u64)x;
#pragma nounroll
  for (; y > 0; y >>= 1) {
    p = y & 1 ? p * b : p;
    b *= b;
  }
  return (i64)p;
}
