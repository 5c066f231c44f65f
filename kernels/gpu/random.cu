// Random numbers by Philox4x32-10. A number depends on seed, offset and its
// place alone: a thread makes those of one block of four words.
#include "dtype.cuh"
#include "math.cuh"

struct Words {
  u32 at[4];
};

INLINE Words philox(u64 seed, u64 counter) {
  u32 c0 = (u32)counter, c1 = (u32)(counter >> 32), c2 = 0, c3 = 0;
  u32 k0 = (u32)seed, k1 = (u32)(seed >> 32);
#pragma unroll
  for (int r = 0; r < 10; r++) {
    u64 p = 0xD2511F53ull * c0, q = 0xCD9E8D57ull * c2;
    c0 = (u32)(q >> 32) ^ c1 ^ k0;
    c1 = (u32)q;
    c2 = (u32)(p >> 32) ^ c3 ^ k1;
    c3 = (u32)p;
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
  return {{c0, c1, c2, c3}};
}

// Long word j of a block.
INLINE u64 long_word(const Words &w, int j) { return (u64)w.at[2 * j + 1] << 32 | w.at[2 * j]; }

// Numbers of [0,1): raw is an integer of as many bits as an S has digits, of
// which a block makes count.
template <class S> constexpr int digits = 24;
template <> constexpr int digits<f64> = 53;
template <> constexpr int digits<f16> = 11;
template <> constexpr int digits<bf16> = 8;
template <class S> constexpr int count = 4;
template <> constexpr int count<f64> = 2;
template <class S> constexpr Compute<S> unit = (Compute<S>)(1.0 / (1ull << digits<S>));

template <class S> INLINE u64 raw(const Words &w, int j) {
  if constexpr (count<S> == 2) {
    return long_word(w, j) >> (64 - digits<S>);
  } else {
    return w.at[j] >> (32 - digits<S>);
  }
}

// A product and a sum, each rounded: not fused, as the CPU's are not.
INLINE f32 times_plus(f32 x, f32 y, f32 z) { return __nvvm_add_rn_f(__nvvm_mul_rn_f(x, y), z); }
INLINE f64 times_plus(f64 x, f64 y, f64 z) { return __nvvm_add_rn_d(__nvvm_mul_rn_d(x, y), z); }

// A maker makes N elements of a block of words: put(j, to) writes the j-th.
template <class S> struct Uniform {
  static constexpr int N = count<S>;
  Compute<S> low, size;
  S x[N];
  __device__ void make(const Words &w) {
#pragma unroll
    for (int j = 0; j < N; j++) x[j] = narrow<S>(times_plus((Compute<S>)raw<S>(w, j) * unit<S>, size, low));
  }
  __device__ void put(int j, S *out, const i64 (&at)[1]) const { out[at[0]] = x[j]; }
};

// Taylor's polynomials of sin(x)/x and cos(x) in z = x^2, |x| <= pi/4.
template <class T, int K, int Least> INLINE T alternating(T z, T sum) {
  if constexpr (K < Least) {
    return sum;
  } else {
    constexpr T c = (T)((K / 2 % 2 ? -1 : 1) / factorial<K>);
    return alternating<T, K - 2, Least>(z, fused(sum, z, c));
  }
}

template <class T> constexpr int turnTerms = sizeof(T) == 4 ? 10 : 18;

// turn sets s and c to the sine and cosine of v whole turns, 0 <= v < 1.
template <class T> INLINE void turn(T v, T &s, T &c) {
  T quarter = nearest(4 * v);
  T x = (v - quarter / 4) * (T)6.283185307179586477, z = x * x; // the difference is exact
  T sx = x * alternating<T, turnTerms<T> - 1, 1>(z, 0), cx = alternating<T, turnTerms<T>, 0>(z, 0);
  int q = (int)quarter & 3;
  s = q & 1 ? cx : sx;
  c = q & 1 ? sx : cx;
  s = q & 2 ? -s : s;
  c = q == 1 || q == 2 ? -c : c;
}

// Box and Muller: two numbers of a distance and a direction.
template <class T> struct Normal {
  static constexpr int N = count<T>;
  T mean, deviation;
  T x[N];
  __device__ void make(const Words &w) {
#pragma unroll
    for (int j = 0; j < N; j += 2) {
      T u = (T)(raw<T>(w, j) + 1) * unit<T>, v = (T)raw<T>(w, j + 1) * unit<T>;
      T s, c, r = root(-2 * logarithm(u));
      turn(v, s, c);
      x[j] = fused(r * c, deviation, mean);
      x[j + 1] = fused(r * s, deviation, mean);
    }
  }
  __device__ void put(int j, T *out, const i64 (&at)[1]) const { out[at[0]] = x[j]; }
};

// Whole numbers from low on, of which there are size.
template <class T> struct Whole {
  static constexpr int N = 2;
  i64 low;
  u64 size;
  T x[N];
  __device__ void make(const Words &w) {
#pragma unroll
    for (int j = 0; j < N; j++) x[j] = narrow<T>((i64)((u64)low + high(long_word(w, j), size)));
  }
  __device__ void put(int j, T *out, const i64 (&at)[1]) const { out[at[0]] = x[j]; }
};

// The bits one, where the word is below a bound: p's element times 2^32 or, with
// no p, a number of which that is known.
template <class B, class P> struct Bernoulli {
  static constexpr int N = 4;
  const P *p;
  u64 below, one;
  Words words;
  __device__ void make(const Words &w) { words = w; }
  __device__ void put(int j, B *out, const i64 (&at)[2]) const {
    bool is = p ? (f64)words.at[j] < (f64)p[at[1]] * 0x1p32 : words.at[j] < below;
    out[at[0]] = is ? (B)one : 0;
  }
};

// x times 0 where the word is below a bound, else times kept.
template <class S> struct Dropout {
  static constexpr int N = 4;
  const S *x;
  u64 below;
  Compute<S> kept;
  Words words;
  __device__ void make(const Words &w) { words = w; }
  __device__ void put(int j, S *out, const i64 (&at)[2]) const {
    out[at[0]] = narrow<S>(widen(x[at[1]]) * (words.at[j] < below ? 0 : kept));
  }
};

// Element i, in the order of w, is the one that a maker makes of its number.
template <class Maker, class T, class I, int N>
INLINE void numbers(Maker maker, T *out, u64 seed, u64 offset, const Walk<I, N> &w) {
  constexpr int V = Maker::N;
  I blocks = w.count / V + (w.count % V != 0);
  for (I b = thread<I>(); b < blocks; b += threads<I>()) {
    maker.make(philox(seed, offset + b));
#pragma unroll
    for (int j = 0; j < V; j++) {
      I i = b * V + j;
      if (i >= w.count) break;
      i64 at[N];
      w.offsets(i, at);
      maker.put(j, out, at);
    }
  }
}

#define UNIFORM_OF(T, I, BITS)                                                                                    \
  KERNEL uniform_##T##_index##BITS(T *out, u64 seed, u64 offset, Walk<I, 1> w, Compute<T> low, Compute<T> size) { \
    numbers(Uniform<T>{low, size}, out, seed, offset, w);                                                         \
  }
#define NORMAL_OF(T, I, BITS)                                                                             \
  KERNEL normal_##T##_index##BITS(T *out, u64 seed, u64 offset, Walk<I, 1> w, T mean, T deviation) {      \
    numbers(Normal<T>{mean, deviation}, out, seed, offset, w);                                            \
  }
#define WHOLE_OF(T, I, BITS)                                                                              \
  KERNEL whole_##T##_index##BITS(T *out, u64 seed, u64 offset, Walk<I, 1> w, i64 low, u64 size) {         \
    numbers(Whole<T>{low, size}, out, seed, offset, w);                                                   \
  }
#define BERNOULLI_OF(B, P, I, BITS)                                                                       \
  KERNEL bernoulli_##B##_##P##_index##BITS(B *out, const P *p, u64 seed, u64 offset, Walk<I, 2> w,        \
                                           u64 below, u64 one) {                                          \
    numbers(Bernoulli<B, P>{p, below, one}, out, seed, offset, w);                                        \
  }

#define DROPOUT_OF(T, I, BITS)                                                                            \
  KERNEL dropout_##T##_index##BITS(T *out, const T *x, u64 seed, u64 offset, Walk<I, 2> w, u64 below,     \
                                   Compute<T> kept) {                                                     \
    numbers(Dropout<T>{x, below, kept}, out, seed, offset, w);                                            \
  }

#define UNIFORM(T) UNIFORM_OF(T, u32, 32) UNIFORM_OF(T, u64, 64)
#define NORMAL(T) NORMAL_OF(T, u32, 32) NORMAL_OF(T, u64, 64)
#define WHOLE(T) WHOLE_OF(T, u32, 32) WHOLE_OF(T, u64, 64)
#define DROPOUT(T) DROPOUT_OF(T, u32, 32) DROPOUT_OF(T, u64, 64)
#define BERNOULLI(B)                                              \
  BERNOULLI_OF(B, f32, u32, 32) BERNOULLI_OF(B, f32, u64, 64)     \
  BERNOULLI_OF(B, f64, u32, 32) BERNOULLI_OF(B, f64, u64, 64)

UNIFORM(f32)
UNIFORM(f64)
UNIFORM(f16)
UNIFORM(bf16)
FOR_FLOATS(NORMAL)
FOR_ALL(WHOLE)
WHOLE(i32)
WHOLE(u8)
BERNOULLI(u8)
BERNOULLI(u32)
BERNOULLI(u64)
DROPOUT(f32)
DROPOUT(f64)
DROPOUT(f16)
DROPOUT(bf16)
