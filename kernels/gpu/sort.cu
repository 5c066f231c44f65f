// Sort along one dim. Elements become keys of 64 bits in their order, beside
// their indices, by which equal ones stay in order: no two are the same. Tiles
// are sorted in shared memory, and merged in pairs as often as it takes.
#include "tarn.cuh"

// The rows that are sorted: kept leads to the first element of each, of the
// input, the values and the indices.
struct Rows {
  const void *in;
  void *values;
  i64 *indices;
  i64 stride[3]; // along the row
  u64 n, k;      // elements of a row, and how many of them are wanted
};

// What a row is sorted as; rows follow one another.
struct Entries {
  u64 *keys;
  u32 *indices;
};

// -0 is 0, and NaN beyond all.
INLINE u64 key_of(f64 x) {
  u64 bits = __builtin_bit_cast(u64, x);
  if (is_nan(x)) return ~0ull;
  if (x == 0) return 1ull << 63;
  return bits >> 63 ? ~bits : bits | 1ull << 63;
}
INLINE u64 key_of(f32 x) { return key_of((f64)x); }
INLINE u64 key_of(i64 x) { return (u64)x ^ 1ull << 63; }
INLINE u64 key_of(i32 x) { return key_of((i64)x); }
INLINE u64 key_of(u8 x) { return x; }

INLINE bool before(u64 key, u32 index, u64 key2, u32 index2) { return key < key2 || (key == key2 && index < index2); }

#define TILE 1024

// tiles sorts each tile of each row by a bitonic network of size elements, a
// power of two; the places behind a row's end hold what sorts behind it.
template <class T> INLINE void tiles(const Rows &r, const Walk<u64, 3> &kept, Entries to, u64 flip, u32 size) {
  __shared__ u64 keys[TILE];
  __shared__ u32 indices[TILE];
  u64 each = (r.n + size - 1) / size;
  for (u64 tile = ctaid_x; tile < kept.count * each; tile += nctaid_x) {
    u64 row = tile / each, first = tile % each * size;
    i64 at[3];
    kept.offsets(row, at);
    for (u32 i = tid_x; i < size; i += ntid_x) {
      u64 k = first + i;
      bool mine = k < r.n;
      keys[i] = mine ? key_of(((const T *)r.in)[at[0] + (i64)k * r.stride[0]]) ^ flip : ~0ull;
      indices[i] = mine ? (u32)k : ~0u;
    }
    __syncthreads();
#pragma nounroll
    for (u32 span = 2; span <= size; span *= 2)
#pragma nounroll
      for (u32 d = span / 2; d > 0; d /= 2) {
        for (u32 pair = tid_x; pair < size / 2; pair += ntid_x) {
          u32 i = 2 * pair - (pair & (d - 1)), j = i + d;
          bool up = (i & span) == 0;
          u64 x = keys[i], y = keys[j];
          u32 ix = indices[i], iy = indices[j];
          if (before(y, iy, x, ix) == up) {
            keys[i] = y, keys[j] = x;
            indices[i] = iy, indices[j] = ix;
          }
        }
        __syncthreads();
      }
    for (u32 i = tid_x; i < size; i += ntid_x)
      if (first + i < r.n) {
        to.keys[row * r.n + first + i] = keys[i];
        to.indices[row * r.n + first + i] = indices[i];
      }
    __syncthreads();
  }
}

// merge makes of each two sorted runs of a row one: an element's place is its own
// in its run and how many of the other run are before it.
KERNEL merge(Entries from, Entries to, u64 n, u64 count, u64 run) {
  for (u64 i = thread<u64>(); i < count; i += threads<u64>()) {
    u64 row = i / n * n, k = i - row, own = k / run * run, pair = k / (2 * run) * (2 * run);
    u64 other = own == pair ? own + run : pair;
    u64 lo = other < n ? other : n, start = lo, hi = lo + run < n ? lo + run : n;
    u64 key = from.keys[i];
    u32 index = from.indices[i];
    while (lo < hi) {
      u64 middle = (lo + hi) / 2;
      if (before(from.keys[row + middle], from.indices[row + middle], key, index))
        lo = middle + 1;
      else
        hi = middle;
    }
    u64 place = row + pair + (k - own) + (lo - start);
    to.keys[place] = key;
    to.indices[place] = index;
  }
}

// pick writes the first k of each row.
template <class T> INLINE void pick(const Rows &r, const Walk<u64, 3> &kept, Entries from) {
  for (u64 i = thread<u64>(); i < kept.count * r.k; i += threads<u64>()) {
    u64 row = i / r.k, k = i % r.k;
    i64 at[3];
    kept.offsets(row, at);
    i64 index = from.indices[row * r.n + k];
    ((T *)r.values)[at[1] + (i64)k * r.stride[1]] = ((const T *)r.in)[at[0] + index * r.stride[0]];
    r.indices[at[2] + (i64)k * r.stride[2]] = index;
  }
}

#define SORT(T)                                                                                                \
  KERNEL __launch_bounds__(256) tiles_##T(Rows r, Entries to, u64 flip, u64 size, Walk<u64, 3> kept) {         \
    tiles<T>(r, kept, to, flip, (u32)size);                                                                    \
  }                                                                                                            \
  KERNEL pick_##T(Rows r, Entries from, Walk<u64, 3> kept) { pick<T>(r, kept, from); }

SORT(f32)
SORT(f64)
SORT(i64)
SORT(i32)
SORT(u8)

// scatter writes in to out at the indices along a dim of n. Operands of w: in,
// indices, and the first element of the row of out.
template <class T> INLINE void scatter(T *out, const T *in, const i64 *indices, i64 stride, u64 n, const Walk<u64, 3> &w) {
  for (u64 i = thread<u64>(); i < w.count; i += threads<u64>()) {
    i64 at[3];
    w.offsets(i, at);
    i64 k = indices[at[1]];
    if ((u64)k < n) out[at[2] + k * stride] = in[at[0]];
  }
}

#define SCATTER(T)                                                                                         \
  KERNEL scatter_##T(T *out, const T *in, const i64 *indices, i64 stride, u64 n, Walk<u64, 3> w) {        \
    scatter(out, in, indices, stride, n, w);                                                               \
  }

FOR_FLOATS(SCATTER)
