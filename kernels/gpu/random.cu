// Random numbers by Philox4x32-10. A number depends on seed, offset and its
// place alone: a thread makes those of one block of four words.
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

// Numbers of a block: raw is an integer of as many bits as T has digits.
template <class T> struct Raw;
template <> struct Raw<f32> {
  static constexpr f32 unit = 0x1p-24f;
  __device__ static u32 of(const Words &w, int j) { return w.at[j] >> 8; }
};
template <> struct Raw<f64> {
  static constexpr f64 unit = 0x1p-53;
  __device__ static u64 of(const Words &w, int j) { return ((u64)w.at[2 * j + 1] << 32 | w.at[2 * j]) >> 11; }
};

template <class T> struct Uniform {
  __device__ static void make(const Words &w, T (&x)[width<T>]) {
#pragma unroll
    for (int j = 0; j < width<T>; j++) x[j] = (T)Raw<T>::of(w, j) * Raw<T>::unit;
  }
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
  __device__ static void make(const Words &w, T (&x)[width<T>]) {
#pragma unroll
    for (int j = 0; j < width<T>; j += 2) {
      T u = (T)(Raw<T>::of(w, j) + 1) * Raw<T>::unit, v = (T)Raw<T>::of(w, j + 1) * Raw<T>::unit;
      T s, c, r = root(-2 * logarithm(u));
      turn(v, s, c);
      x[j] = r * c;
      x[j + 1] = r * s;
    }
  }
};

// Element i, in the order of w, is x*scale + shift of number i.
template <template <class> class Make, class T, class I>
INLINE void fill(T *out, u64 seed, u64 offset, T scale, T shift, const Walk<I, 1> &w) {
  constexpr int V = width<T>;
  I blocks = w.count / V + (w.count % V != 0);
  for (I b = thread<I>(); b < blocks; b += threads<I>()) {
    T x[V];
    Make<T>::make(philox(seed, offset + b), x);
#pragma unroll
    for (int j = 0; j < V; j++) {
      I i = b * V + j;
      if (i >= w.count) break;
      i64 at[1];
      w.offsets(i, at);
      out[at[0]] = fused(x[j], scale, shift);
    }
  }
}

#define RANDOM(NAME, MAKE, T)                                                                                    \
  KERNEL NAME##_##T##_index32(T *out, u64 seed, u64 offset, Walk<u32, 1> w, T scale, T shift) {                  \
    fill<MAKE>(out, seed, offset, scale, shift, w);                                                              \
  }                                                                                                              \
  KERNEL NAME##_##T##_index64(T *out, u64 seed, u64 offset, Walk<u64, 1> w, T scale, T shift) {                  \
    fill<MAKE>(out, seed, offset, scale, shift, w);                                                              \
  }

#define BOTH(T)                \
  RANDOM(uniform, Uniform, T)  \
  RANDOM(normal, Normal, T)

FOR_FLOATS(BOTH)
