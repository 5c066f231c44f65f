// What the kernels of attention share: the call, and the two products that they
// are made of. A block of 256 threads, 16 by 16, makes tiles of N by N scores,
// with R by R of them in the registers of a thread, which are read from tiles in
// shared memory.
#pragma once
#include "math.cuh"

#define SIDE 16
#define THREADS (SIDE * SIDE)
#define DEPTH 16 // elements of a row that are in shared memory at once

// heads is an operand [b, h, i, d]. Strides are in elements.
template <class T> struct Heads {
  T *at;
  i64 sb, sh, si, sd;

  __device__ T *row(i64 b, i64 h, i64 i) const { return at + b * sb + h * sh + i * si; }
};

// Attention is one call, which attention.go packs. What a kernel does not use
// is 0.
template <class T> struct Attention {
  Heads<const T> q, k, v;
  Heads<T> o;
  Heads<T> logsumexp; // its sd is unused
  Heads<const T> given; // do
  Heads<T> dq, dk, dv;
  T *own; // of each row the sum of do*o, dense
  Heads<const u8> mask; // of bools, or else of T; null: none
  i64 batch, heads, groups, queries, keys, width, value_width;
  f64 scale;
  i32 hides, causal;

  __device__ i64 group_of(i64 h) const { return h / (heads / groups); }

  // score returns that of a query and a key whose product is x; -Inf if the key
  // is not seen.
  __device__ T score(T x, i64 b, i64 h, i64 i, i64 j) const {
    const T none = -(T)__builtin_inff();
    if (i >= queries || j >= keys || (causal && j > i)) return none;
    x *= (T)scale;
    if (!mask.at) return x;
    i64 at = b * mask.sb + h * mask.sh + i * mask.si + j * mask.sd;
    if (hides) return mask.at[at] ? x : none;
    return x + ((const T *)mask.at)[at];
  }
};

template <class T> constexpr int R = sizeof(T) == 4 ? 4 : 2;
template <class T> constexpr int N = SIDE * R<T>;

// Rows of an operand from one on, as many as there are up to N.
template <class T> struct Rows {
  const T *at;
  i64 step, next, count; // from a row to the next, from an element to the next
};

template <class T, class U> INLINE Rows<T> rows_of(const Heads<U> &x, i64 b, i64 h, i64 i, i64 end) {
  return {x.row(b, h, i), x.si, x.sd, end - i};
}

template <class T> using Chunk = T[DEPTH][N<T> + 1];
template <class T> using Tile = T[N<T>][N<T> + 1];

// A thread's part of a tile: its rows are neighbours, its columns SIDE apart.
template <class T> using Part = T[R<T>][R<T>];
template <class T> INLINE int row_of(int i) { return (int)tid_x / SIDE * R<T> + i; }
template <class T> INLINE int column_of(int c) { return (int)tid_x % SIDE + c * SIDE; }

template <class T> INLINE void clear(Part<T> &x) {
#pragma unroll
  for (int i = 0; i < R<T>; i++)
#pragma unroll
    for (int c = 0; c < R<T>; c++) x[i][c] = 0;
}

// products sets x to the products of rows of a and rows of b, of n elements each.
template <class T>
INLINE void products(Part<T> &x, const Rows<T> &a, const Rows<T> &b, i64 n, Chunk<T> &as, Chunk<T> &bs) {
  clear<T>(x);
  const int d = tid_x % DEPTH, first = tid_x / DEPTH;
#pragma nounroll
  for (i64 from = 0; from < n; from += DEPTH) {
    __syncthreads();
#pragma unroll
    for (int i = 0; i < R<T>; i++) {
      int r = first + i * SIDE;
      bool there = from + d < n;
      as[d][r] = there && r < a.count ? a.at[r * a.step + (from + d) * a.next] : (T)0;
      bs[d][r] = there && r < b.count ? b.at[r * b.step + (from + d) * b.next] : (T)0;
    }
    __syncthreads();
#pragma unroll 4
    for (int e = 0; e < DEPTH; e++) {
      T left[R<T>], right[R<T>];
#pragma unroll
      for (int i = 0; i < R<T>; i++) left[i] = as[e][row_of<T>(i)], right[i] = bs[e][column_of<T>(i)];
#pragma unroll
      for (int i = 0; i < R<T>; i++)
#pragma unroll
        for (int c = 0; c < R<T>; c++) x[i][c] = fused(left[i], right[c], x[i][c]);
    }
  }
}

// add_weighted adds to x the rows of b, weighted by the rows of w, of which N
// columns from first on are taken; n is how many b has.
template <class T>
INLINE void add_weighted(Part<T> &x, const Tile<T> &w, const Rows<T> &b, i64 first, i64 n, Chunk<T> &bs) {
#pragma nounroll
  for (int from = 0; from < N<T> && from < b.count; from += DEPTH) {
    __syncthreads();
#pragma unroll
    for (int i = 0; i < R<T>; i++) {
      int at = tid_x + i * THREADS, r = from + at / N<T>, c = at % N<T>;
      bs[at / N<T>][c] = r < b.count && first + c < n ? b.at[r * b.step + (first + c) * b.next] : (T)0;
    }
    __syncthreads();
#pragma unroll 4
    for (int e = 0; e < DEPTH; e++) {
      T left[R<T>], right[R<T>];
#pragma unroll
      for (int i = 0; i < R<T>; i++) left[i] = w[row_of<T>(i)][from + e], right[i] = bs[e][column_of<T>(i)];
#pragma unroll
      for (int i = 0; i < R<T>; i++)
#pragma unroll
        for (int c = 0; c < R<T>; c++) x[i][c] = fused(left[i], right[c], x[i][c]);
    }
  }
}

// keep brings x to a tile. A thread then reads and writes its own part of it,
// in loops that are not unrolled: what is done to a score is long.
template <class T> INLINE void keep(Tile<T> &tile, const Part<T> &x) {
#pragma unroll
  for (int i = 0; i < R<T>; i++)
#pragma unroll
    for (int c = 0; c < R<T>; c++) tile[row_of<T>(i)][column_of<T>(c)] = x[i][c];
}

// put stores x, times by[i] in row i, in rows of out of n elements from first on.
template <class T>
INLINE void put(const Part<T> &x, const T (&by)[R<T>], T *out, i64 step, i64 next, i64 count, i64 first, i64 n) {
#pragma unroll
  for (int i = 0; i < R<T>; i++)
#pragma unroll
    for (int c = 0; c < R<T>; c++) {
      i64 r = row_of<T>(i), column = first + column_of<T>(c);
      if (r < count && column < n) out[r * step + column * next] = x[i][c] * by[i];
    }
}

// Work is a tile of one head, of so many tiles and parts of N columns, by the
// number of the work.
template <class T> struct Work {
  i64 b, h, first, column;

  __device__ Work(u64 number, i64 heads, i64 tiles, i64 parts) {
    column = number % parts * N<T>;
    number /= parts;
    first = number % tiles * N<T>;
    number /= tiles;
    h = number % heads;
    b = number / heads;
  }
};

template <class T> INLINE i64 tiles(i64 n) { return (n + N<T> - 1) / N<T>; }
template <class T> INLINE i64 parts(i64 n) { return n > 0 ? tiles<T>(n) : 1; }
