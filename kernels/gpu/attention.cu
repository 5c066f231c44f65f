// Attention, and its gradient, by tiles of scores that are never stored (Dao and
// others, 2022). A block makes the rows of a tile of queries, or the gradients of
// a tile of keys, and goes over the other side in order: no sum is shared between
// blocks. Where a row has more columns than a tile, other blocks make the rest,
// and the scores anew.
#include "attention.cuh"

// The largest, and the sum, over the threads that share a row.
template <class T> INLINE T row_most(T x) {
#pragma unroll
  for (int d = SIDE / 2; d > 0; d /= 2) x = larger(x, shuffle_xor(x, d));
  return x;
}

template <class T> INLINE T row_sum(T x) {
#pragma unroll
  for (int d = SIDE / 2; d > 0; d /= 2) x += shuffle_xor(x, d);
  return x;
}

template <class T> INLINE void forward(const Attention<T> &a) {
  __shared__ Chunk<T> as, bs;
  __shared__ Tile<T> weights;
  const T none = -(T)__builtin_inff();
  const i64 across = parts<T>(a.value_width), down = tiles<T>(a.queries);
  const u64 all = (u64)(a.batch * a.heads) * down * across;
  for (u64 number = ctaid_x; number < all; number += nctaid_x) {
    Work<T> w(number, a.heads, down, across);
    i64 group = a.group_of(w.h);
    Rows<T> queries = rows_of<T>(a.q, w.b, w.h, w.first, a.queries);
    Part<T> out;
    clear<T>(out);
    T top[R<T>], sum[R<T>];
#pragma unroll
    for (int i = 0; i < R<T>; i++) top[i] = none, sum[i] = 0;
    i64 end = a.causal && w.first + N<T> < a.keys ? w.first + N<T> : a.keys;
#pragma nounroll
    for (i64 key = 0; key < end; key += N<T>) {
      Part<T> s;
      products<T>(s, queries, rows_of<T>(a.k, w.b, group, key, a.keys), a.width, as, bs);
      __syncthreads(); // the weights of before have been read
      keep<T>(weights, s);
#pragma unroll
      for (int i = 0; i < R<T>; i++) {
        T *row = weights[row_of<T>(i)];
        T most = none, part = 0;
#pragma nounroll
        for (int c = 0; c < R<T>; c++) {
          T x = a.score(row[column_of<T>(c)], w.b, w.h, w.first + row_of<T>(i), key + column_of<T>(c));
          row[column_of<T>(c)] = x;
          most = larger(most, x);
        }
        most = larger(top[i], row_most(most));
        T relative = most == none ? (T)0 : most; // or -Inf less -Inf
        T shrink = exponential(top[i] - relative);
        top[i] = most;
#pragma unroll
        for (int c = 0; c < R<T>; c++) out[i][c] *= shrink;
#pragma nounroll
        for (int c = 0; c < R<T>; c++) {
          T p = exponential(row[column_of<T>(c)] - relative);
          row[column_of<T>(c)] = p;
          part += p;
        }
        sum[i] = sum[i] * shrink + row_sum(part);
      }
      add_weighted<T>(out, weights, rows_of<T>(a.v, w.b, group, key, a.keys), w.column, a.value_width, bs);
    }
    T by[R<T>];
#pragma unroll
    for (int i = 0; i < R<T>; i++) {
      by[i] = sum[i] == 0 ? (T)0 : 1 / sum[i];
      if (w.column == 0 && tid_x % SIDE == 0 && row_of<T>(i) < queries.count)
        *a.logsumexp.row(w.b, w.h, w.first + row_of<T>(i)) = top[i] + logarithm(sum[i]);
    }
    put<T>(out, by, a.o.row(w.b, w.h, w.first), a.o.si, a.o.sd, queries.count, w.column, a.value_width);
  }
}

// own_sums is the first kernel of the gradient: the sum of do*o of each row, a
// warp's each.
template <class T> INLINE void own_sums(const Attention<T> &a) {
  const u64 all = (u64)(a.batch * a.heads) * a.queries;
  for (u64 n = (u64)ctaid_x * ntid_y + tid_y; n < all; n += (u64)nctaid_x * ntid_y) {
    i64 i = n % a.queries, h = n / a.queries % a.heads, b = n / a.queries / a.heads;
    const T *x = a.given.row(b, h, i), *y = a.o.row(b, h, i);
    T sum = 0;
    for (i64 e = tid_x; e < a.value_width; e += WARP) sum = fused(x[e * a.given.sd], y[e * a.o.sd], sum);
    sum = row_sum(sum);
    sum += shuffle_xor(sum, SIDE);
    if (tid_x == 0) a.own[n] = sum;
  }
}

// Query is what the weights of a query are made from.
template <class T> struct Query {
  T logsumexp, own;

  __device__ void load(const Attention<T> &a, i64 b, i64 h, i64 i) {
    logsumexp = own = 0;
    if (i >= a.queries) return;
    logsumexp = *a.logsumexp.row(b, h, i);
    if (logsumexp == -(T)__builtin_inff()) logsumexp = -logsumexp; // weights of 0, not of -Inf less -Inf
    own = a.own[(b * a.heads + h) * a.queries + i];
  }
};

template <class T> INLINE void query_gradients(const Attention<T> &a) {
  __shared__ Chunk<T> as, bs;
  __shared__ Tile<T> scores, slopes;
  const i64 across = parts<T>(a.width), down = tiles<T>(a.queries);
  const u64 all = (u64)(a.batch * a.heads) * down * across;
  for (u64 number = ctaid_x; number < all; number += nctaid_x) {
    Work<T> w(number, a.heads, down, across);
    i64 group = a.group_of(w.h);
    Rows<T> queries = rows_of<T>(a.q, w.b, w.h, w.first, a.queries);
    Rows<T> given = rows_of<T>(a.given, w.b, w.h, w.first, a.queries);
    Part<T> out;
    clear<T>(out);
    i64 end = a.causal && w.first + N<T> < a.keys ? w.first + N<T> : a.keys;
#pragma nounroll
    for (i64 key = 0; key < end; key += N<T>) {
      Rows<T> keys = rows_of<T>(a.k, w.b, group, key, a.keys);
      Part<T> s, dp;
      products<T>(s, queries, keys, a.width, as, bs);
      products<T>(dp, given, rows_of<T>(a.v, w.b, group, key, a.keys), a.value_width, as, bs);
      __syncthreads();
      keep<T>(scores, s);
      keep<T>(slopes, dp);
#pragma nounroll
      for (int i = 0; i < R<T>; i++) {
        int row = row_of<T>(i);
        Query<T> of;
        of.load(a, w.b, w.h, w.first + row);
#pragma nounroll
        for (int c = 0; c < R<T>; c++) {
          T *slope = &slopes[row][column_of<T>(c)];
          T x = a.score(scores[row][column_of<T>(c)], w.b, w.h, w.first + row, key + column_of<T>(c));
          *slope = exponential(x - of.logsumexp) * (*slope - of.own);
        }
      }
      add_weighted<T>(out, slopes, keys, w.column, a.width, bs);
    }
    T by[R<T>];
#pragma unroll
    for (int i = 0; i < R<T>; i++) by[i] = (T)a.scale;
    put<T>(out, by, a.dq.row(w.b, w.h, w.first), a.dq.si, a.dq.sd, queries.count, w.column, a.width);
  }
}

template <class T> INLINE void key_gradients(const Attention<T> &a) {
  __shared__ Chunk<T> as, bs;
  __shared__ Tile<T> weights, slopes;
  const i64 across = parts<T>(a.width > a.value_width ? a.width : a.value_width), down = tiles<T>(a.keys);
  const i64 share = a.groups > 0 ? a.heads / a.groups : 0;
  const u64 all = (u64)(a.batch * a.groups) * down * across;
  for (u64 number = ctaid_x; number < all; number += nctaid_x) {
    Work<T> w(number, a.groups, down, across);
    Rows<T> keys = rows_of<T>(a.k, w.b, w.h, w.first, a.keys), values = rows_of<T>(a.v, w.b, w.h, w.first, a.keys);
    Part<T> dk, dv;
    clear<T>(dk);
    clear<T>(dv);
#pragma nounroll
    for (i64 h = w.h * share; h < (w.h + 1) * share; h++) {
#pragma nounroll
      for (i64 query = a.causal ? w.first : 0; query < a.queries; query += N<T>) {
        Rows<T> queries = rows_of<T>(a.q, w.b, h, query, a.queries), given = rows_of<T>(a.given, w.b, h, query, a.queries);
        Part<T> s, dp;
        products<T>(s, keys, queries, a.width, as, bs);
        products<T>(dp, values, given, a.value_width, as, bs);
        __syncthreads();
        keep<T>(weights, s);
        keep<T>(slopes, dp);
#pragma nounroll
        for (int c = 0; c < R<T>; c++) {
          int column = column_of<T>(c);
          Query<T> of;
          of.load(a, w.b, h, query + column);
#pragma nounroll
          for (int i = 0; i < R<T>; i++) {
            T *weight = &weights[row_of<T>(i)][column], *slope = &slopes[row_of<T>(i)][column];
            *weight = exponential(a.score(*weight, w.b, h, query + column, w.first + row_of<T>(i)) - of.logsumexp);
            *slope = *weight * (*slope - of.own);
          }
        }
        add_weighted<T>(dv, weights, given, w.column, a.value_width, bs);
        add_weighted<T>(dk, slopes, queries, w.column, a.width, bs);
      }
    }
    T by[R<T>], one[R<T>];
#pragma unroll
    for (int i = 0; i < R<T>; i++) by[i] = (T)a.scale, one[i] = 1;
    put<T>(dk, by, a.dk.row(w.b, w.h, w.first), a.dk.si, a.dk.sd, keys.count, w.column, a.width);
    put<T>(dv, one, a.dv.row(w.b, w.h, w.first), a.dv.si, a.dv.sd, keys.count, w.column, a.value_width);
  }
}

// One block at a time is enough for a multiprocessor: told of none, ptxas spills
// registers to make room for a second.
#define BLOCK __attribute__((launch_bounds(THREADS, 1)))

#define ATTENTION(T)                                                                           \
  KERNEL BLOCK attention_##T(const Attention<T> a) { forward(a); }                             \
  KERNEL BLOCK attention_grad_##T##_own(const Attention<T> a) { own_sums(a); }                 \
  KERNEL BLOCK attention_grad_##T##_queries(const Attention<T> a) { query_gradients(a); }      \
  KERNEL BLOCK attention_grad_##T##_keys(const Attention<T> a) { key_gradients(a); }

FOR_FLOATS(ATTENTION)
