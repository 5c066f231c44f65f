// Division with rest. The functions of package kernels of the same meaning say
// what it gives at the edges.
#pragma once
#include "math.cuh"

// Digits are a float's fraction as an integer; a step brings down so many bits
// of the dividend as leave room in it.
template <class T> struct Digits;
template <> struct Digits<f32> {
  typedef u32 Word;
  static constexpr int step = 8;
};
template <> struct Digits<f64> {
  typedef u64 Word;
  static constexpr int step = 11;
};
INLINE int leading_zeros(u32 x) { return __builtin_clz(x); }
INLINE int leading_zeros(u64 x) { return __builtin_clzll(x); }

// split returns the fraction of a finite x > 0 and sets e to its exponent in
// units of the smallest denormal: x = fraction * 2^e of them. The fraction of a
// denormal is short, and e is 0.
template <class T> INLINE typename Digits<T>::Word split(T x, int &e) {
  typedef typename Digits<T>::Word Word;
  constexpr Word one = (Word)1 << Format<T>::fraction;
  Word bits = __builtin_bit_cast(Word, x);
  e = (int)(bits >> Format<T>::fraction);
  if (e == 0) return bits;
  e--;
  return (bits & (one - 1)) | one;
}

// truncated_rest returns x less the multiple of y, rounded toward 0: C's fmod,
// exact, by long division.
template <class T> INLINE T truncated_rest(T x, T y) {
  typedef typename Digits<T>::Word Word;
  T a = magnitude(x), b = magnitude(y);
  if (!(a < infinity<T>) || !(b > 0)) return quiet_nan<T>;
  if (a < b) return x;
  int ea, eb;
  Word ma = split(a, ea), mb = split(b, eb);
  Word r = ma % mb;
#pragma nounroll
  for (int left = ea - eb; left > 0 && r != 0; left -= Digits<T>::step) {
    r = (r << (left < Digits<T>::step ? left : Digits<T>::step)) % mb;
  }
  // The rest is r * 2^eb of the smallest denormal.
  int room = r == 0 ? 0 : leading_zeros(r) - (int)(8 * sizeof(Word) - 1 - Format<T>::fraction);
  int up = room < eb ? room : eb;
  r <<= up;
  int e = eb - up;
  Word bits = r >> Format<T>::fraction ? r + ((Word)e << Format<T>::fraction) : r;
  return with_sign(__builtin_bit_cast(T, bits), x);
}

template <class T> INLINE T rest_of_floor(T x, T y) {
  T r = truncated_rest(x, y);
  return r != 0 && (r < 0) != (y < 0) ? r + y : r;
}

// The quotient of an exact multiple is whole but for what divisions round; in
// f64 that is nothing of an f32.
template <class T> INLINE T floor_of_quotient(T x, T y) {
  if (y == 0) return x / y;
  T r = truncated_rest(x, y);
  f64 q = ((f64)x - (f64)r) / (f64)y;
  if (r != 0 && (r < 0) != (y < 0)) q -= 1;
  if (q == 0) return with_sign((T)0, x / y);
  return (T)nearest(q);
}

INLINE i64 rest_of_floor(i64 x, i64 y) {
  if (y == 0) return x;
  if (y == -1) return 0; // the least number would overflow
  i64 r = x % y;
  return r != 0 && (r < 0) != (y < 0) ? r + y : r;
}

INLINE i64 floor_of_quotient(i64 x, i64 y) {
  if (y == 0) return -1;
  if (y == -1) return (i64)-(u64)x;
  i64 q = x / y;
  return q * y != x && (x < 0) != (y < 0) ? q - 1 : q;
}
