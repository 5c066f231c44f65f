// Copy, with conversion of the element type. Elements that keep their type are
// moved as bits; a dense copy of those is the driver's.
#include "tarn.cuh"

template <class D, class S> INLINE D convert(S x) { return (D)x; }

// As many elements as make 16 bytes of the narrower type: the wider one then
// takes two vectors.
template <class D, class S> constexpr int group = 16 / (sizeof(D) < sizeof(S) ? sizeof(D) : sizeof(S));

// w counts groups, count is that of elements. A source may be one element over
// and over.
template <class D, class S>
INLINE void copy_vectors(D *out, const S *x, i64 count, const Walk<u32, 2> &w, u32 splat) {
  constexpr int V = group<D, S>;
  constexpr int VS = V < width<S> ? V : width<S>, VD = V < width<D> ? V : width<D>;
  bool one = splat & 2;
  for (u32 i = thread<u32>(); i < w.count; i += threads<u32>()) {
    i64 at[2];
    w.offsets(i, at);
    i64 left = count - (i64)i * V;
    if (left < V) {
#pragma nounroll
      for (int j = 0; j < left; j++) out[at[0] + j] = convert<D>(x[at[1] + (one ? 0 : j)]);
      continue;
    }
    D v[V];
    if (one) {
      D same = convert<D>(x[at[1]]);
      for (int j = 0; j < V; j++) v[j] = same;
    } else {
      for (int p = 0; p < V; p += VS) {
        Vec<S, VS> a = *(const Vec<S, VS> *)(x + at[1] + p);
        for (int j = 0; j < VS; j++) v[p + j] = convert<D>(a.at[j]);
      }
    }
    for (int p = 0; p < V; p += VD) {
      Vec<D, VD> b;
      for (int j = 0; j < VD; j++) b.at[j] = v[p + j];
      *(Vec<D, VD> *)(out + at[0] + p) = b;
    }
  }
}

template <class D, class S, class I> INLINE void copy(D *out, const S *x, const Walk<I, 2> &w) {
  for (I i = thread<I>(); i < w.count; i += threads<I>()) {
    i64 at[2];
    w.offsets(i, at);
    out[at[0]] = convert<D>(x[at[1]]);
  }
}

#define COPY(NAME, D, S)                                                                     \
  KERNEL copy_##NAME##_vectors(D *out, const S *x, i64 count, Walk<u32, 2> w, u32 splat) {   \
    copy_vectors(out, x, count, w, splat);                                                   \
  }                                                                                          \
  KERNEL copy_##NAME##_index32(D *out, const S *x, Walk<u32, 2> w) { copy(out, x, w); }      \
  KERNEL copy_##NAME##_index64(D *out, const S *x, Walk<u64, 2> w) { copy(out, x, w); }

COPY(b32, u32, u32)
COPY(b64, u64, u64)
COPY(f32_f64, f32, f64)
COPY(f32_i64, f32, i64)
COPY(f64_f32, f64, f32)
COPY(f64_i64, f64, i64)
COPY(i64_f32, i64, f32)
COPY(i64_f64, i64, f64)

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

TRANSPOSE(b32, u32)
TRANSPOSE(b64, u64)
