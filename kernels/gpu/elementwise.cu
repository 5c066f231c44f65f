// Elementwise ops of one and two inputs. Each has three kernels: for operands
// that lie in vectors of 16 bytes, dense or one element over and over, and for
// any strides with indices of 32 and of 64 bits.
#include "math.cuh"

template <class T> struct Add {
  __device__ static T of(T x, T y) { return x + y; }
};
template <> struct Add<i64> { // which wraps, as u64 does
  __device__ static i64 of(i64 x, i64 y) { return (i64)((u64)x + (u64)y); }
};
template <class T> struct Sub {
  __device__ static T of(T x, T y) { return x - y; }
};
template <> struct Sub<i64> {
  __device__ static i64 of(i64 x, i64 y) { return (i64)((u64)x - (u64)y); }
};
template <class T> struct Mul {
  __device__ static T of(T x, T y) { return x * y; }
};
template <> struct Mul<i64> {
  __device__ static i64 of(i64 x, i64 y) { return (i64)((u64)x * (u64)y); }
};
template <class T> struct Div {
  __device__ static T of(T x, T y) { return x / y; }
};
template <class T> struct ReLUGrad {
  __device__ static T of(T dy, T y) { return y > 0 || is_nan(y) ? dy : 0; }
};

template <class T> struct Affine {
  __device__ static T of(T x, T alpha, T beta) { return fused(alpha, x, beta); }
};
template <class T> struct Exp {
  __device__ static T of(T x, T, T) { return exponential(x); }
};
template <class T> struct Log {
  __device__ static T of(T x, T, T) { return logarithm(x); }
};
template <class T> struct Sqrt {
  __device__ static T of(T x, T, T) { return root(x); }
};
template <class T> struct ReLU {
  __device__ static T of(T x, T, T) { return x < 0 ? 0 : x; }
};

// A vector at p, or the element at p in all places.
template <class T> INLINE Vec<T, width<T>> load(const T *p, bool splat) {
  if (!splat) return *(const Vec<T, width<T>> *)p;
  Vec<T, width<T>> v;
  T x = *p;
  for (int j = 0; j < width<T>; j++) v.at[j] = x;
  return v;
}

// w counts vectors; count is that of the elements. Bit j of splat says that
// operand j is one element along the vector.
template <template <class> class Op, class T>
INLINE void binary_vectors(T *out, const T *x, const T *y, i64 count, const Walk<u32, 3> &w, u32 splat) {
  constexpr int V = width<T>;
  bool one_x = splat & 2, one_y = splat & 4;
  for (u32 i = thread<u32>(); i < w.count; i += threads<u32>()) {
    i64 at[3];
    w.offsets(i, at);
    i64 left = count - (i64)i * V;
    if (left < V) {
#pragma nounroll
      for (int j = 0; j < left; j++) out[at[0] + j] = Op<T>::of(x[at[1] + (one_x ? 0 : j)], y[at[2] + (one_y ? 0 : j)]);
      continue;
    }
    Vec<T, V> a = load(x + at[1], one_x), b = load(y + at[2], one_y), v;
    for (int j = 0; j < V; j++) v.at[j] = Op<T>::of(a.at[j], b.at[j]);
    *(Vec<T, V> *)(out + at[0]) = v;
  }
}

template <template <class> class Op, class T, class I>
INLINE void binary(T *out, const T *x, const T *y, const Walk<I, 3> &w) {
  for (I i = thread<I>(); i < w.count; i += threads<I>()) {
    i64 at[3];
    w.offsets(i, at);
    out[at[0]] = Op<T>::of(x[at[1]], y[at[2]]);
  }
}

template <template <class> class Op, class T>
INLINE void unary_vectors(T *out, const T *x, i64 count, const Walk<u32, 2> &w, u32 splat, T alpha, T beta) {
  constexpr int V = width<T>;
  bool one_x = splat & 2;
  for (u32 i = thread<u32>(); i < w.count; i += threads<u32>()) {
    i64 at[2];
    w.offsets(i, at);
    i64 left = count - (i64)i * V;
    if (left < V) {
#pragma nounroll
      for (int j = 0; j < left; j++) out[at[0] + j] = Op<T>::of(x[at[1] + (one_x ? 0 : j)], alpha, beta);
      continue;
    }
    Vec<T, V> a = load(x + at[1], one_x), v;
    for (int j = 0; j < V; j++) v.at[j] = Op<T>::of(a.at[j], alpha, beta);
    *(Vec<T, V> *)(out + at[0]) = v;
  }
}

template <template <class> class Op, class T, class I>
INLINE void unary(T *out, const T *x, const Walk<I, 2> &w, T alpha, T beta) {
  for (I i = thread<I>(); i < w.count; i += threads<I>()) {
    i64 at[2];
    w.offsets(i, at);
    out[at[0]] = Op<T>::of(x[at[1]], alpha, beta);
  }
}

#define BINARY(NAME, OP, T)                                                                            \
  KERNEL NAME##_##T##_vectors(T *out, const T *x, const T *y, i64 count, Walk<u32, 3> w, u32 splat) {  \
    binary_vectors<OP>(out, x, y, count, w, splat);                                                    \
  }                                                                                                    \
  KERNEL NAME##_##T##_index32(T *out, const T *x, const T *y, Walk<u32, 3> w) { binary<OP>(out, x, y, w); } \
  KERNEL NAME##_##T##_index64(T *out, const T *x, const T *y, Walk<u64, 3> w) { binary<OP>(out, x, y, w); }

#define UNARY(NAME, OP, T)                                                                             \
  KERNEL NAME##_##T##_vectors(T *out, const T *x, i64 count, Walk<u32, 2> w, u32 splat, T a, T b) {    \
    unary_vectors<OP>(out, x, count, w, splat, a, b);                                                  \
  }                                                                                                    \
  KERNEL NAME##_##T##_index32(T *out, const T *x, Walk<u32, 2> w, T a, T b) { unary<OP>(out, x, w, a, b); } \
  KERNEL NAME##_##T##_index64(T *out, const T *x, Walk<u64, 2> w, T a, T b) { unary<OP>(out, x, w, a, b); }

#define FLOATS(T)              \
  BINARY(div, Div, T)          \
  BINARY(relu_grad, ReLUGrad, T) \
  UNARY(affine, Affine, T)     \
  UNARY(exp, Exp, T)           \
  UNARY(log, Log, T)           \
  UNARY(sqrt, Sqrt, T)         \
  UNARY(relu, ReLU, T)

#define NUMBERS(T)    \
  BINARY(add, Add, T) \
  BINARY(sub, Sub, T) \
  BINARY(mul, Mul, T)

FOR_FLOATS(FLOATS)
FOR_ALL(NUMBERS)
