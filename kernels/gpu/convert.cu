// Copy from one element type to another. There are 56 such pairs. A kernel is
// for all sources that are computed with in one type, and finds out by a switch
// how to load and to store: all threads go the same way, and memory is what they
// wait for.
#include "dtype.cuh"

// Type mirrors kernels.DType.
enum Type : u32 { Float32 = 1, Float64, Int64, Float16, BFloat16, Int32, Uint8, Bool };

#define V 8 // elements that are taken at a time; convertWidth in convert.go

// N neighbours at p + at become v, or from v what lies there.
template <class T, class C, int N> INLINE void load(C (&v)[N], const void *p, i64 at) {
  constexpr int W = N < width<T> ? N : width<T>;
  for (int j = 0; j < N; j += W) {
    Vec<T, W> a = *(const Vec<T, W> *)((const T *)p + at + j);
    for (int i = 0; i < W; i++) v[j + i] = widen(a.at[i]);
  }
}
template <class T, class C, int N> INLINE void store(void *p, i64 at, const C (&v)[N]) {
  constexpr int W = N < width<T> ? N : width<T>;
  for (int j = 0; j < N; j += W) {
    Vec<T, W> a;
    for (int i = 0; i < W; i++) a.at[i] = narrow<T>(v[j + i]);
    *(Vec<T, W> *)((T *)p + at + j) = a;
  }
}

template <int N> INLINE void load(f32 (&v)[N], const void *p, i64 at, u32 type) {
  switch (type) {
  case Float16: return load<f16>(v, p, at);
  case BFloat16: return load<bf16>(v, p, at);
  default: return load<f32>(v, p, at);
  }
}
template <int N> INLINE void load(f64 (&v)[N], const void *p, i64 at, u32) { load<f64>(v, p, at); }
template <int N> INLINE void load(i64 (&v)[N], const void *p, i64 at, u32 type) {
  switch (type) {
  case Int64: return load<i64>(v, p, at);
  case Int32: return load<i32>(v, p, at);
  default: return load<u8>(v, p, at); // and Bool
  }
}

template <class C, int N> INLINE void store(void *p, i64 at, const C (&v)[N], u32 type) {
  switch (type) {
  case Float32: return store<f32>(p, at, v);
  case Float64: return store<f64>(p, at, v);
  case Float16: return store<f16>(p, at, v);
  case BFloat16: return store<bf16>(p, at, v);
  case Int64: return store<i64>(p, at, v);
  case Int32: return store<i32>(p, at, v);
  case Uint8: return store<u8>(p, at, v);
  default: return store<b8>(p, at, v);
  }
}

template <class C, class I> INLINE void convert(void *out, const void *x, const Walk<I, 2> &w, u32 to, u32 from) {
  for (I i = thread<I>(); i < w.count; i += threads<I>()) {
    i64 at[2];
    w.offsets(i, at);
    C v[1];
    load(v, x, at[1], from);
    store(out, at[0], v, to);
  }
}

// w counts groups of V, count is that of elements. A source may be one element
// over and over.
template <class C>
INLINE void convert_vectors(void *out, const void *x, i64 count, const Walk<u32, 2> &w, u32 splat, u32 to, u32 from) {
  bool one = splat & 2;
  for (u32 i = thread<u32>(); i < w.count; i += threads<u32>()) {
    i64 at[2];
    w.offsets(i, at);
    i64 left = count - (i64)i * V;
    C v[V], single[1];
    if (left >= V && !one) {
      load(v, x, at[1], from);
    } else {
      load(single, x, at[1], from);
      for (int j = 0; j < V; j++) v[j] = single[0];
    }
    if (left >= V) {
      store(out, at[0], v, to);
      continue;
    }
#pragma nounroll
    for (int j = 0; j < left; j++) {
      load(single, x, at[1] + (one ? 0 : j), from);
      store(out, at[0] + j, single, to);
    }
  }
}

#define CONVERT(C)                                                                                             \
  KERNEL convert_##C##_vectors(void *out, const void *x, i64 count, Walk<u32, 2> w, u32 splat, u32 to, u32 from) { \
    convert_vectors<C>(out, x, count, w, splat, to, from);                                                     \
  }                                                                                                            \
  KERNEL convert_##C##_index32(void *out, const void *x, Walk<u32, 2> w, u32 to, u32 from) {                   \
    convert<C>(out, x, w, to, from);                                                                           \
  }                                                                                                            \
  KERNEL convert_##C##_index64(void *out, const void *x, Walk<u64, 2> w, u32 to, u32 from) {                   \
    convert<C>(out, x, w, to, from);                                                                           \
  }

CONVERT(f32)
CONVERT(f64)
CONVERT(i64)
