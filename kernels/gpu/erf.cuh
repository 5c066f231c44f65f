// The error function and the normal distribution. Near 0 erf(x)/x is a
// polynomial in x*x; further out erfc(x)*exp(x*x) is one in 1/(x+c), which all
// larger x make small. The coefficients were fitted at Chebyshev's nodes to values of
// 60 digits, for the relative error; it is below 2^-29 in f32 and 2^-57 in f64.
#pragma once
#include "math.cuh"

// near has erf(x)/x for |x| <= 1, far erfc(x)*exp(x*x)/t for x >= 1/2, with
// t = 1/(x+shift); from the highest power. Beyond most exp(-x*x) is 0.
template <class T> struct ErrorFunction;
template <> struct ErrorFunction<f32> {
  static constexpr int nears = 7, fars = 12;
  static constexpr f32 shift = 2, most = 16;
  static constexpr f32 near[nears] = {
      0x1.4a5690p-14f, -0x1.a45088p-11f, 0x1.541270p-8f, -0x1.b7fabap-6f, 0x1.ce2d10p-4f, -0x1.81273ep-2f,
      0x1.20dd74p+0f};
  static constexpr f32 far[fars] = {
      0x1.9d7b50p+7f, -0x1.85926ep+8f, 0x1.d9f92ap+7f, -0x1.07d398p+4f, -0x1.642c26p+4f, -0x1.0e10cap+2f,
      -0x1.80e17cp-1f, 0x1.5c1d74p+1f, 0x1.68d864p+1f, 0x1.f98652p+0f, 0x1.20dd6ep+0f, 0x1.20dd76p-1f};
};
template <> struct ErrorFunction<f64> {
  static constexpr int nears = 14, fars = 23;
  static constexpr f64 shift = 3, most = 40;
  static constexpr f64 near[nears] = {
      -0x1.29b9f1b3df556p-38, 0x1.7f072188e194dp-34, -0x1.4e607b41a6416p-30, 0x1.fc4356498c2d9p-27,
      -0x1.5f6d925a0bc7ap-23, 0x1.b9e6509b9867dp-20, -0x1.f4d2561aeafd4p-17, 0x1.f9a326c233146p-14,
      -0x1.c02db3feeb579p-11, 0x1.565bcd0e6502dp-8, -0x1.b82ce312889bap-6, 0x1.ce2f21a042bdep-4,
      -0x1.812746b0379e7p-2, 0x1.20dd750429b6dp+0};
  static constexpr f64 far[fars] = {
      0x1.914a63605d838p+28, -0x1.37613f06359d5p+30, 0x1.b5262f0fb3778p+30, -0x1.6cd47495da152p+30,
      0x1.90f7243cc7a02p+29, -0x1.31dff2d12e412p+28, 0x1.5299cc8647492p+26, -0x1.1fb9fea419b73p+24,
      0x1.81651a489d308p+21, -0x1.7377a68f9f44ap+18, 0x1.4290d23238966p+15, -0x1.7cec1314202dbp+12,
      -0x1.784cb1a5635e3p+10, -0x1.c9e7020321429p+8, 0x1.40d360db41fcfp+6, 0x1.57ff3be9ef870p+7,
      0x1.f2764e4e228f6p+6, 0x1.0d1e510887a9ep+6, 0x1.ee3ae63851856p+4, 0x1.96376c8dd7050p+3,
      0x1.32eb4c546c4d1p+2, 0x1.b14c2f863e925p+0, 0x1.20dd750429b6dp-1};
};

template <class T, int K = 0> INLINE T error_near(T z, T sum = 0) {
  if constexpr (K == ErrorFunction<T>::nears) {
    return sum;
  } else {
    constexpr T c = ErrorFunction<T>::near[K];
    return error_near<T, K + 1>(z, K == 0 ? c : fused(sum, z, c));
  }
}

template <class T, int K = 0> INLINE T error_far(T t, T sum = 0) {
  if constexpr (K == ErrorFunction<T>::fars) {
    return sum * t;
  } else {
    constexpr T c = ErrorFunction<T>::far[K];
    return error_far<T, K + 1>(t, K == 0 ? c : fused(sum, t, c));
  }
}

// bell returns exp(-x*x*scale), for a scale that is a power of two. The
// rounding error of the square is made good: it is as large as the exponent is.
template <class T> INLINE T bell(T x, T scale) {
  T h = x * x, l = fused(x, x, -h);
  T e = exponential(-scale * h);
  return fused(e, -scale * l, e);
}

template <class T> INLINE T at_most(T x, T most) { return x > most ? most : x; } // NaN stays

template <class T> INLINE T error_function(T x) {
  T a = at_most(magnitude(x), ErrorFunction<T>::most);
  if (a < 1) return x * error_near<T>(x * x);
  return with_sign(1 - bell(a, (T)1) * error_far<T>(1 / (a + ErrorFunction<T>::shift)), x);
}

// normal_at is the density of the normal distribution, normal_below what of it
// lies below x.
template <class T> INLINE T normal_at(T x) {
  return bell(at_most(magnitude(x), ErrorFunction<T>::most), (T)0.5) * (T)0.39894228040143267794;
}

template <class T> INLINE T normal_below(T x) {
  T a = at_most(magnitude(x), ErrorFunction<T>::most);
  T u = a * (T)0.70710678118654752440;
  if (u < (T)0.5) return fused(x * (T)0.35355339059327376220, error_near<T>(u * u), (T)0.5);
  T tail = bell(a, (T)0.5) * error_far<T>(1 / (u + ErrorFunction<T>::shift)) / 2;
  return x < 0 ? tail : 1 - tail;
}
