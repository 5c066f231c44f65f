// Sequence: every element is made of its number, in float64.
#include "dtype.cuh"

template <class T, class I> INLINE void sequence(T *out, const Walk<I, 1> &w, f64 start, f64 step) {
  for (I i = thread<I>(); i < w.count; i += threads<I>()) {
    i64 at[1];
    w.offsets(i, at);
    out[at[0]] = narrow<T>(__builtin_fma((f64)i, step, start));
  }
}

#define SEQUENCE(T)                                                                                       \
  KERNEL sequence_##T##_index32(T *out, Walk<u32, 1> w, f64 start, f64 step) { sequence(out, w, start, step); } \
  KERNEL sequence_##T##_index64(T *out, Walk<u64, 1> w, f64 start, f64 step) { sequence(out, w, start, step); }

FOR_ALL(SEQUENCE)
SEQUENCE(f16)
SEQUENCE(bf16)
SEQUENCE(i32)
SEQUENCE(u8)
