// Sine and cosine: x less the nearest multiple of pi/2, and Taylor's polynomials
// on what is left.
#pragma once
#include "math.cuh"

// pi/2 as a sum of three numbers. The first has so few bits that its product
// with n <= 2^20 is taken off x exactly.
template <class T> struct Turn;
template <> struct Turn<f32> {
  static constexpr f32 first = 0x1.921fb6p+0f, second = -0x1.777a5cp-25f, third = -0x1.ee59dap-50f;
  static constexpr int terms = 4; // after the first, of both polynomials
};
template <> struct Turn<f64> {
  static constexpr f64 first = 0x1.921fb54442d18p+0, second = 0x1.1a62633145c07p-54, third = -0x1.f1976b7ed8fbcp-110;
  static constexpr int terms = 8;
};

// 2/pi in binary: a word of zeros and the bits behind the point.
__constant__ u64 two_over_pi[20] = {
    0x0000000000000000, 0xa2f9836e4e441529, 0xfc2757d1f534ddc0, 0xdb6295993c439041, 0xfe5163abdebbc561,
    0xb7246e3a424dd2e0, 0x06492eea09d1921c, 0xfe1deb1cb129a73e, 0xe88235f52ebb4484, 0xe99c7026b45f7e41,
    0x3991d639835339f4, 0x9c845f8bbdf9283b, 0x1ff897ffde05980f, 0xef2f118b5a0a6d1f, 0x6d367ecf27cb09b7,
    0x4f463f669e5fea2d, 0x7527bac7ebe5f17b, 0x3d0739f78a5292ea, 0x6bfb5fb11f8d5d08, 0x56033046fc7b6bab};

INLINE u64 two_over_pi_from(u32 bit) {
  u64 word = two_over_pi[bit / 64];
  u32 shift = bit % 64;
  return shift == 0 ? word : word << shift | two_over_pi[bit / 64 + 1] >> (64 - shift);
}

// rest_of_large returns what is left of a finite x of 2^20 or more, by M. Payne
// and R. Hanek's method, and sets n to the number of quarter turns, modulo 4.
// Of the bits of 2/pi only those matter whose product with x is neither a
// multiple of 4 quarters nor too small to be seen.
INLINE f64 rest_of_large(f64 x, i32 &n) {
  u64 bits = __builtin_bit_cast(u64, x);
  i32 e = (i32)(bits >> 52 & 0x7ff) - 1075; // x = m 2^e, e at least -32
  u64 m = (bits & 0xfffffffffffff) | 0x10000000000000;
  u32 from = e + 62;
  u64 w0 = two_over_pi_from(from), w1 = two_over_pi_from(from + 64), w2 = two_over_pi_from(from + 128);
  u64 low = w1 * m, p1 = low + high(w2, m), p2 = w2 * m;
  u64 p0 = w0 * m + high(w1, m) + (p1 < low);
  n = (i32)(p0 >> 62); // the point is behind two bits
  u64 hi = p0 << 2 | p1 >> 62, lo = p1 << 2 | p2 >> 62;
  bool over = hi >> 63; // more than half a quarter
  if (over) {
    n++;
    hi = ~hi + (lo == 0);
    lo = -lo;
  }
  i32 zeros = __builtin_clzll(hi | 1);
  hi = zeros == 0 ? hi : hi << zeros | lo >> (64 - zeros);
  f64 r = (f64)hi * power<f64>(-64 - zeros) * Turn<f64>::first;
  n = x < 0 ? -n : n;
  return over != (x < 0) ? -r : r;
}

INLINE f32 rest_of_large(f32 x, i32 &n) { return (f32)rest_of_large((f64)x, n); }

// The polynomials' tails in z = r*r: from K factorial on, signs in turn.
template <class T, int K, int Least> INLINE T alternating(T z, T sum) {
  if constexpr (K < Least) {
    return sum;
  } else {
    constexpr T c = (T)((K / 2 % 2 ? -1 : 1) / factorial<K>);
    return alternating<T, K - 2, Least>(z, fused(sum, z, c));
  }
}

// sine_of returns sin(x + quarters*pi/2).
template <class T> INLINE T sine_of(T x, i32 quarters) {
  i32 n;
  T r;
  if (magnitude(x) <= 0x1p20) {
    T turns = nearest(x * (T)0.63661977236758134308);
    n = (i32)turns;
    r = fused(turns, -Turn<T>::first, x);
    r = fused(turns, -Turn<T>::second, r);
    r = fused(turns, -Turn<T>::third, r);
  } else {
    if (!(magnitude(x) < infinity<T>)) return x - x;
    r = rest_of_large(x, n);
  }
  n += quarters;
  T z = r * r, y;
  constexpr int most = 2 * Turn<T>::terms;
  if (n & 1) {
    constexpr T c = (T)((Turn<T>::terms + 1) % 2 ? -1 : 1) / (T)factorial<most + 2>;
    y = fused(z, alternating<T, most, 2>(z, c), (T)1);
  } else {
    constexpr T c = (T)(Turn<T>::terms % 2 ? -1 : 1) / (T)factorial<most + 1>;
    y = fused(r * z, alternating<T, most - 1, 3>(z, c), r);
  }
  return n & 2 ? -y : y;
}

template <class T> INLINE T sine(T x) { return x == 0 ? x : sine_of(x, 0); }
template <class T> INLINE T cosine(T x) { return sine_of(x, 1); }
