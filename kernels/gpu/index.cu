// Elements by their indices along one dim: Gather, Scatter, ScatterAdd. An index
// that is no place is told of, and neither read nor written by.
#include "row.cuh"

// Places are what indices name: n of them, stride elements apart.
struct Places {
  i64 stride;
  u64 n;
  Fault *fault;
  u32 op, parts;

  __device__ bool has(i64 k) const {
    if ((u64)k < n) return true;
    report(fault, op, (i64)n, k);
    return false;
  }
};

// The operands of the walk are the output, the input where the index is 0, and
// the indices.
template <class T, class I> INLINE void gather(T *out, const T *in, const i64 *index, const Places &p, const Walk<I, 3> &w) {
  for (I i = thread<I>(); i < w.count; i += threads<I>()) {
    i64 at[3];
    w.offsets(i, at);
    i64 k = index[at[2]];
    out[at[0]] = p.has(k) ? in[at[1] + k * p.stride] : (T)0;
  }
}

// w counts vectors of 16 bytes, each with one index.
template <class T> INLINE void gather_vectors(T *out, const T *in, const i64 *index, const Places &p, const Walk<u32, 3> &w) {
  typedef u32 Words __attribute__((ext_vector_type(4))); // a struct would be stored in parts
  for (u32 i = thread<u32>(); i < w.count; i += threads<u32>()) {
    i64 at[3];
    w.offsets(i, at);
    i64 k = index[at[2]];
    Words v = 0;
    if (p.has(k)) v = *(const Words *)(in + at[1] + k * p.stride);
    *(Words *)(out + at[0]) = v;
  }
}

#define GATHER(BITS, T)                                                                                         \
  KERNEL gather_##BITS##_vectors(T *out, const T *in, const i64 *index, Places p, Walk<u32, 3> w) {             \
    gather_vectors(out, in, index, p, w);                                                                       \
  }                                                                                                             \
  KERNEL gather_##BITS##_index32(T *out, const T *in, const i64 *index, Places p, Walk<u32, 3> w) {             \
    gather(out, in, index, p, w);                                                                               \
  }                                                                                                             \
  KERNEL gather_##BITS##_index64(T *out, const T *in, const i64 *index, Places p, Walk<u64, 3> w) {             \
    gather(out, in, index, p, w);                                                                               \
  }

GATHER(b8, u8)
GATHER(b16, unsigned short)
GATHER(b32, u32)
GATHER(b64, u64)

// Line is how the input and the indices go along the dim, so many times.
struct Line {
  i64 in, index;
  u64 length;
};

#define AHEAD 4

// A thread goes along the dim for one place beside it, so that what meets in one
// element comes in the order of the indices. Where such places are few, parts of
// a power of two share one: each has the elements whose index leaves its number.
template <class T, class F>
INLINE void scatter(T *out, const T *in, const i64 *index, const Places &p, const Line &line, const Walk<u64, 3> &beside, F put) {
  u64 count = beside.count * p.parts;
  for (u64 i = thread<u64>(); i < count; i += threads<u64>()) {
    u64 part = i / beside.count;
    i64 at[3];
    beside.offsets(i - part * beside.count, at);
    out += at[0], in += at[1], index += at[2];
#pragma nounroll
    for (u64 j = 0; j < line.length; j += AHEAD) {
      i64 k[AHEAD]; // loaded together, so that they are waited for once
#pragma unroll
      for (int a = 0; a < AHEAD; a++) k[a] = j + a < line.length ? index[(i64)(j + a) * line.index] : (i64)part;
#pragma unroll
      for (int a = 0; a < AHEAD; a++) {
        bool mine = ((u32)k[a] & (p.parts - 1)) == part && j + a < line.length;
        if (mine && p.has(k[a])) put(out[k[a] * p.stride], in[(i64)(j + a) * line.in]);
      }
    }
    out -= at[0], in -= at[1], index -= at[2];
  }
}

#define SCATTER(NAME, T, PUT)                                                                                          \
  KERNEL NAME(T *out, const T *in, const i64 *index, Places p, Line line, Walk<u64, 3> beside) {                       \
    scatter(out, in, index, p, line, beside, [](T &y, T x) { PUT; });                                                  \
  }

SCATTER(scatter_b8, u8, y = x)
SCATTER(scatter_b16, unsigned short, y = x)
SCATTER(scatter_b32, u32, y = x)
SCATTER(scatter_b64, u64, y = x)
SCATTER(scatter_add_f32, f32, y += x)
SCATTER(scatter_add_f64, f64, y += x)
SCATTER(scatter_add_i64, i64, y += x)
SCATTER(scatter_add_i32, i32, y = (i32)((u32)y + (u32)x))
SCATTER(scatter_add_u8, u8, y += x)
