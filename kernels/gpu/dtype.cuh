// The element types beside f32, f64 and i64: how they lie in memory, and what
// is computed with in their place.
#pragma once
#include "tarn.cuh"

typedef unsigned short u16;

// IEEE's binary16, and the upper half of an f32. They are for storing alone.
struct f16 { u16 bits; };
struct bf16 { u16 bits; };

// A byte, 0 or 1.
struct b8 { u8 bits; };

// Compute is the type that a T is computed with: f32 for the half types, and
// i64 for all that is no float.
template <class T> struct compute { typedef i64 type; };
template <> struct compute<f32> { typedef f32 type; };
template <> struct compute<f64> { typedef f64 type; };
template <> struct compute<f16> { typedef f32 type; };
template <> struct compute<bf16> { typedef f32 type; };
template <class T> using Compute = typename compute<T>::type;

// widen returns the value of an element, which its compute type has exactly.
INLINE f32 widen(f32 x) { return x; }
INLINE f64 widen(f64 x) { return x; }
INLINE f32 widen(f16 x) {
  f32 y;
  asm("cvt.f32.f16 %0, %1;" : "=f"(y) : "h"(x.bits));
  return y;
}
INLINE f32 widen(bf16 x) { return __builtin_bit_cast(f32, (u32)x.bits << 16); }
INLINE i64 widen(i64 x) { return x; }
INLINE i64 widen(i32 x) { return x; }
INLINE i64 widen(u8 x) { return x; }
INLINE i64 widen(b8 x) { return x.bits; }

// narrow returns the element that x becomes, as kernels.Copy says: floats are
// rounded to nearest even, f64 to the half types by way of f32; integers keep
// their low bits; a bool is whether x is not 0.
template <class T> struct narrowed {
  template <class C> __device__ static T of(C x) { return (T)(i64)x; }
};
template <> struct narrowed<f32> {
  template <class C> __device__ static f32 of(C x) { return (f32)x; }
};
template <> struct narrowed<f64> {
  template <class C> __device__ static f64 of(C x) { return (f64)x; }
};
template <> struct narrowed<f16> {
  template <class C> __device__ static f16 of(C x) {
    f16 y;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(y.bits) : "f"((f32)x));
    return y;
  }
};
// Before sm_80 there is no instruction for it.
template <> struct narrowed<bf16> {
  template <class C> __device__ static bf16 of(C x) {
    f32 y = (f32)x;
    u32 bits = __builtin_bit_cast(u32, y);
    u32 rounded = (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
    return {(u16)(is_nan(y) ? 0x7fc0 : rounded)};
  }
};
template <> struct narrowed<b8> {
  template <class C> __device__ static b8 of(C x) { return {(u8)(x != 0)}; }
};
template <class T, class C> INLINE T narrow(C x) { return narrowed<T>::of(x); }
