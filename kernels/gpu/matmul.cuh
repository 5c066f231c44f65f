// What the matrix products share: the call, and which block makes which tile.
#pragma once
#include "tarn.cuh"

#define METHOD __device__ inline __attribute__((always_inline))

// product is one call, the struct product of matmul.go. Strides are in
// elements; out's columns have the smaller one. Where K is cut into parts, out
// is the workspace: one dense product for each part.
template <class T, class Bias = T, class Out = T> struct product {
  const T *x, *y;
  const Bias *bias; // may be null
  Out *out;
  i64 m, n, k;
  i64 xm, xk, yk, yn, om, on, bm, bn; // strides
  i64 xbatch, ybatch, obatch, bbatch; // from one product of a batch to the next
  i64 kpart, opart;                   // K of a part, and stride of out between parts
  int tiles_m, tiles_n;
  int x_along_k, y_along_k; // whether neighbouring threads load along K
  int rectify, accumulate;
};

// The coordinates of thread and block, read anew: what follows from them need
// not be kept in registers while a loop runs that has none to spare.
INLINE int tid_again() {
  int v;
  asm volatile("mov.u32 %0, %%tid.x;" : "=r"(v));
  return v;
}
INLINE u32 ctaid_again() {
  u32 v;
  asm volatile("mov.u32 %0, %%ctaid.x;" : "=r"(v));
  return v;
}

// place finds the tile of a block. Blocks that run at the same time share
// operands in the L2 cache: they go down 8 rows of tiles before they go right.
INLINE void place(int tiles_m, int tiles_n, int &row, int &col) {
  const int band = 8;
  u32 id = ctaid_again();
  int first = id / (band * tiles_n) * band, at = id % (band * tiles_n);
  int rows = tiles_m - first < band ? tiles_m - first : band;
  row = first + at % rows;
  col = at / rows;
}
