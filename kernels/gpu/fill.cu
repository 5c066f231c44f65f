// Fill: every element becomes the same bits.
#include "dtype.cuh"

// Elements that lie dense, 16 bytes a thread; out is a multiple of 16.
template <class T> INLINE void fill_vectors(T *out, u64 count, T v) {
  Vec<T, width<T>> all;
  for (int j = 0; j < width<T>; j++) all.at[j] = v;
  u64 vectors = count / width<T>;
  for (u64 i = thread<u64>(); i < vectors; i += threads<u64>()) ((Vec<T, width<T>> *)out)[i] = all;
  u64 rest = vectors * width<T> + thread<u64>();
  if (rest < count) out[rest] = v;
}

template <class T, class I> INLINE void fill_strided(T *out, const Walk<I, 1> &w, T v) {
  for (I i = thread<I>(); i < w.count; i += threads<I>()) {
    i64 at[1];
    w.offsets(i, at);
    out[at[0]] = v;
  }
}

// Dense bytes are the driver's.
#define FILL_STRIDED(BITS, T)                                                                  \
  KERNEL fill_##BITS##_index32(T *out, Walk<u32, 1> w, u64 v) { fill_strided(out, w, (T)v); }  \
  KERNEL fill_##BITS##_index64(T *out, Walk<u64, 1> w, u64 v) { fill_strided(out, w, (T)v); }

#define FILL(BITS, T)                                                                                 \
  KERNEL fill_##BITS##_vectors(T *out, u64 count, u64 v) { fill_vectors(out, count, (T)v); }  \
  FILL_STRIDED(BITS, T)

FILL_STRIDED(b8, u8)
FILL(b16, u16)
FILL(b32, u32)
FILL(b64, u64)
