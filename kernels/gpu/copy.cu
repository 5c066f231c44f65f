// Copy of elements that keep their type: they are moved as bits. A dense copy is
// the driver's, and convert.cu has the rest.
#include "dtype.cuh"

// w counts vectors of 16 bytes, count is that of elements. A source may be one
// element over and over.
template <class T> INLINE void copy_vectors(T *out, const T *x, i64 count, const Walk<u32, 2> &w, u32 splat) {
  constexpr int V = width<T>;
  bool one = splat & 2;
  for (u32 i = thread<u32>(); i < w.count; i += threads<u32>()) {
    i64 at[2];
    w.offsets(i, at);
    i64 left = count - (i64)i * V;
    if (left < V) {
#pragma nounroll
      for (int j = 0; j < left; j++) out[at[0] + j] = x[at[1] + (one ? 0 : j)];
      continue;
    }
    typedef u32 Words __attribute__((ext_vector_type(4))); // a struct would be stored in parts
    Words v;
    if (one) {
      Vec<T, V> same;
      for (int j = 0; j < V; j++) same.at[j] = x[at[1]];
      v = __builtin_bit_cast(Words, same);
    } else {
      v = *(const Words *)(x + at[1]);
    }
    *(Words *)(out + at[0]) = v;
  }
}

template <class T, class I> INLINE void copy(T *out, const T *x, const Walk<I, 2> &w) {
  for (I i = thread<I>(); i < w.count; i += threads<I>()) {
    i64 at[2];
    w.offsets(i, at);
    out[at[0]] = x[at[1]];
  }
}

#define COPY(BITS, T)                                                                        \
  KERNEL copy_##BITS##_vectors(T *out, const T *x, i64 count, Walk<u32, 2> w, u32 splat) {   \
    copy_vectors(out, x, count, w, splat);                                                   \
  }                                                                                          \
  KERNEL copy_##BITS##_index32(T *out, const T *x, Walk<u32, 2> w) { copy(out, x, w); }      \
  KERNEL copy_##BITS##_index64(T *out, const T *x, Walk<u64, 2> w) { copy(out, x, w); }

COPY(b8, u8)
COPY(b16, u16)
COPY(b32, u32)
COPY(b64, u64)

#define TILE 32
#define TILE_ROWS 8

// transpose copies matrices whose rows are dense in the source and whose
// columns are in the destination: out[b + c*cols' place + r] = x[b' + r*row' + c].
// A tile goes through shared memory, so that both sides are touched along
// their dense dim. The odd row length keeps columns in different banks. w leads
// to the matrices of a batch; the tiles of all are numbered as one.
template <class T>
INLINE void transpose(T *out, const T *x, u32 rows, u32 cols, i64 out_stride, i64 x_stride, const Walk<u32, 2> &w,
                      Divider<u32> across, Divider<u32> down) {
  __shared__ T tile[TILE][TILE + 1];
  u32 q = across.quotient(ctaid_x), b = down.quotient(q);
  u32 c0 = (ctaid_x - q * across.by) * TILE, r0 = (q - b * down.by) * TILE;
  i64 at[2];
  w.offsets(b, at);
#pragma unroll
  for (u32 j = tid_y; j < TILE; j += TILE_ROWS) {
    u32 r = r0 + j, c = c0 + tid_x;
    if (r < rows && c < cols) tile[j][tid_x] = x[at[1] + r * x_stride + c];
  }
  __syncthreads();
#pragma unroll
  for (u32 j = tid_y; j < TILE; j += TILE_ROWS) {
    u32 r = r0 + tid_x, c = c0 + j;
    if (r < rows && c < cols) out[at[0] + c * out_stride + r] = tile[tid_x][j];
  }
}

#define TRANSPOSE(BITS, T)                                                                              \
  KERNEL __launch_bounds__(TILE *TILE_ROWS)                                                             \
      transpose_##BITS(T *out, const T *x, i64 out_stride, i64 x_stride, Walk<u32, 2> w, u32 rows, u32 cols, \
                       Divider<u32> across, Divider<u32> down) {                                        \
    transpose(out, x, rows, cols, out_stride, x_stride, w, across, down);                               \
  }

TRANSPOSE(b8, u8)
TRANSPOSE(b16, u16)
TRANSPOSE(b32, u32)
TRANSPOSE(b64, u64)
