// Reductions of any op. Every output has a fixed tree of additions, which
// depends on the dims alone.
//
// An Op maps elements to a Group, of which a few are joined, as many as it has
// loads, and the groups to a Total, which becomes the Result; none() is the
// total of nothing.
#pragma once
#include "tarn.cuh"

// What all kernels here take, beside the two walks: reduce.go packs it.
template <class Op> struct Operands {
  typename Op::Result *out;
  const typename Op::Element *in, *top; // top: of Count and Var, else null
  typename Op::Total *parts;            // of each chunk and output; null: one chunk, written to out
  u64 chunk;                            // elements of one output that one block takes
  f64 alpha;
  i32 accumulate, together;
};

// What map is given beside an element: top's for the output or, without, alpha.
template <class Op> INLINE typename Op::Element beside(const Operands<Op> &o, i64 at) {
  typedef typename Op::Element T;
  if constexpr ((T)0.5 != 0)
    return o.top ? o.top[at] : (T)o.alpha;
  else
    return o.top ? o.top[at] : (T)(i32)o.alpha;
}

// The operands of kept are in, out and top, that of reduced is in.

// part_of joins the elements from at to end, step apart, that belong to one
// output, U loads at a time; offset leads to an element.
template <class Op, int U, class I, class F>
INLINE typename Op::Total part_of(const typename Op::Element *in, typename Op::Element top, I at, I end, I step, F offset) {
  typename Op::Total total = Op::none();
#pragma nounroll
  for (; at < end && end - at > (U - 1) * step; at += U * step) {
    typename Op::Group g[U];
#pragma unroll
    for (int j = 0; j < U; j++) g[j] = Op::map(in[offset(at + j * step)], top, at + j * step);
#pragma unroll
    for (int d = 1; d < U; d *= 2)
#pragma unroll
      for (int j = 0; j < U; j += 2 * d) g[j] = Op::join(g[j], g[j + d]);
    total = Op::add(total, Op::widen(g[0]));
  }
#pragma nounroll
  for (; at < end; at += step) total = Op::add(total, Op::widen(Op::map(in[offset(at)], top, at)));
  return total;
}

// part is part_of along one dim or several.
template <class Op, class I>
INLINE typename Op::Total part(const typename Op::Element *in, typename Op::Element top, const Walk<I, 1> &reduced, I at,
                               I end, I step) {
  constexpr int most = sizeof(I) == 4 ? 4 : 1; // along several dims an index costs more than a load
  if (reduced.rank == 1) {
    i64 stride = reduced.stride[0][0];
    return part_of<Op, Op::loads>(in, top, at, end, step, [=](I i) { return (i64)i * stride; });
  }
  return part_of<Op, (Op::loads < most ? Op::loads : most)>(in, top, at, end, step, [&](I i) {
    i64 off[1];
    reduced.offsets(i, off);
    return off[0];
  });
}

template <class Op> INLINE typename Op::Total join_warp(typename Op::Total v) {
#pragma nounroll
  for (int d = WARP / 2; d > 0; d /= 2) v = Op::add(v, shuffle_xor(v, d));
  return v;
}

template <class Op, class I>
INLINE void finish(const Operands<Op> &o, const Walk<I, 3> &kept, I i, const i64 (&at)[3], typename Op::Total total) {
  if (o.parts)
    o.parts[(u64)ctaid_y * kept.count + i] = total;
  else
    o.out[at[1]] = Op::result(total, o.out + at[1], o.alpha, o.accumulate);
}

// rows: neighbouring threads take neighbouring elements of one output. A warp
// has an output of its own, or all warps of a block one together.
template <class Op, class I> INLINE void rows(Operands<Op> o, const Walk<I, 3> &kept, const Walk<I, 1> &reduced) {
  __shared__ typename Op::Total sums[8];
  I first = o.together ? (I)ctaid_x : (I)ctaid_x * ntid_y + tid_y;
  I next = o.together ? (I)nctaid_x : (I)nctaid_x * ntid_y;
  I lane = o.together ? tid_y * WARP + tid_x : tid_x;
  I step = o.together ? WARP * ntid_y : WARP;
  I begin = (I)ctaid_y * (I)o.chunk, left = reduced.count - begin;
  I end = begin + (left < (I)o.chunk ? left : (I)o.chunk);
  for (I i = first; i < kept.count; i += next) {
    i64 at[3];
    kept.offsets(i, at);
    typename Op::Element top = beside(o, at[2]);
    typename Op::Total v = join_warp<Op>(part<Op>(o.in + at[0], top, reduced, begin + lane, end, step));
    if (!o.together) {
      if (tid_x == 0) finish(o, kept, i, at, v);
      continue;
    }
    if (tid_x == 0) sums[tid_y] = v;
    __syncthreads();
    if (tid_y == 0 && tid_x == 0) {
#pragma nounroll
      for (u32 j = 1; j < ntid_y; j++) v = Op::add(v, sums[j]);
      finish(o, kept, i, at, v);
    }
    __syncthreads();
  }
}

// cols: neighbouring threads take neighbouring outputs, and the rows of a
// block share out the elements of each.
template <class Op, class I> INLINE void cols(Operands<Op> o, const Walk<I, 3> &kept, const Walk<I, 1> &reduced) {
  __shared__ typename Op::Total sums[8][WARP];
  I begin = (I)ctaid_y * (I)o.chunk, left = reduced.count - begin;
  I end = begin + (left < (I)o.chunk ? left : (I)o.chunk);
  for (I block = ctaid_x; block * ntid_x < kept.count; block += nctaid_x) {
    I i = block * ntid_x + tid_x;
    bool mine = i < kept.count;
    i64 at[3];
    kept.offsets(mine ? i : 0, at);
    typename Op::Total v = Op::none();
    if (mine) {
      typename Op::Element top = beside(o, at[2]);
      v = part<Op, I>(o.in + at[0], top, reduced, begin + tid_y, end, ntid_y);
    }
    if (ntid_y > 1) {
      sums[tid_y][tid_x] = v;
      __syncthreads();
      if (tid_y == 0) {
#pragma nounroll
        for (u32 j = 1; j < ntid_y; j++) v = Op::add(v, sums[j][tid_x]);
      }
      __syncthreads();
    }
    if (mine && tid_y == 0) finish(o, kept, i, at, v);
  }
}

// chunks: a warp joins the parts of an output; o.chunk is how many there are.
template <class Op> INLINE void chunks(Operands<Op> o, const Walk<u64, 3> &kept) {
  for (u64 i = (u64)ctaid_x * ntid_y + tid_y; i < kept.count; i += (u64)nctaid_x * ntid_y) {
    typename Op::Total v = Op::none();
#pragma unroll 2
    for (u64 c = tid_x; c < o.chunk; c += WARP) v = Op::add(v, o.parts[c * kept.count + i]);
    v = join_warp<Op>(v);
    i64 at[3];
    kept.offsets(i, at);
    if (tid_x == 0) o.out[at[1]] = Op::result(v, o.out + at[1], o.alpha, o.accumulate);
  }
}

// Blocks have at most 256 threads. Those of 64-bit indices do not say so: told of
// a limit, ptxas spills registers to get below the next.
#define BLOCK __launch_bounds__(256)

#define REDUCE(NAME, OP, T)                                                                                     \
  KERNEL BLOCK NAME##_##T##_rows_index32(Operands<OP<T>> o, Walk<u32, 3> k, Walk<u32, 1> r) { rows(o, k, r); }  \
  KERNEL NAME##_##T##_rows_index64(Operands<OP<T>> o, Walk<u64, 3> k, Walk<u64, 1> r) { rows(o, k, r); }  \
  KERNEL BLOCK NAME##_##T##_cols_index32(Operands<OP<T>> o, Walk<u32, 3> k, Walk<u32, 1> r) { cols(o, k, r); }  \
  KERNEL NAME##_##T##_cols_index64(Operands<OP<T>> o, Walk<u64, 3> k, Walk<u64, 1> r) { cols(o, k, r); }  \
  KERNEL BLOCK NAME##_##T##_chunks(Operands<OP<T>> o, Walk<u64, 3> k) { chunks(o, k); }

// REDUCE_WIDE makes the kernels of 64-bit indices alone, for ops that are not
// worth the text of both.
#define REDUCE_WIDE(NAME, OP, T)                                                                          \
  KERNEL NAME##_##T##_rows_index64(Operands<OP<T>> o, Walk<u64, 3> k, Walk<u64, 1> r) { rows(o, k, r); }  \
  KERNEL NAME##_##T##_cols_index64(Operands<OP<T>> o, Walk<u64, 3> k, Walk<u64, 1> r) { cols(o, k, r); }  \
  KERNEL BLOCK NAME##_##T##_chunks(Operands<OP<T>> o, Walk<u64, 3> k) { chunks(o, k); }
