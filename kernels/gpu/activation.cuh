// Activations and their derivatives, as far as more than one line makes them.
#pragma once
#include "erf.cuh"

// x*sigmoid(x). Where exp(x) is a denormal its root has more digits.
template <class T> INLINE T silu(T x) {
  bool far = x < (T)(Format<T>::expLeast * 0.8);
  T e = exponential(far ? x / 2 : -magnitude(x));
  if (far) return x * e * e;
  return x * ((x < 0 ? e : (T)1) / (1 + e));
}

// log(1+exp(a*x))/a, in which the exponential does not overflow.
template <class T> INLINE T softplus(T x, T a, T b) {
  T y = a * x;
  if (y > b) return x;
  return ((y > 0 ? y : 0) + logarithm_of_1_more(exponential(-magnitude(y)))) / a;
}

// gelu_bend is twice what GELU's approximation takes the tanh of, since
// (1+tanh(y))/2 is sigmoid(2y); gelu_slope is its derivative.
template <class T> INLINE T gelu_bend(T x) {
  return x * fused(x * x, (T)(0.044715 * 1.59576912160573071176), (T)1.59576912160573071176);
}
template <class T> INLINE T gelu_slope(T x) {
  return fused(x * x, (T)(3 * 0.044715 * 1.59576912160573071176), (T)1.59576912160573071176);
}

// sigmoids sets s to sigmoid(x) and c to 1-s, neither by a difference.
template <class T> INLINE void sigmoids(T x, T &s, T &c) {
  T e = exponential(-magnitude(x)), big = 1 / (1 + e), small = e * big;
  s = x < 0 ? small : big;
  c = x < 0 ? big : small;
}

template <class T> INLINE T silu_derivative(T x) {
  T s, c;
  sigmoids(x, s, c);
  return s * (1 + x * c);
}

// Where s*c is 0 the slope may have overflown.
template <class T> INLINE T gelu_tanh_derivative(T x) {
  T s, c;
  sigmoids(gelu_bend(x), s, c);
  T both = s * c;
  return both == 0 && magnitude(x) < infinity<T> ? s : s + x * both * gelu_slope(x);
}
