// Elementwise kernels that serve many ops and element types: a thread takes a
// pack of elements at a time, and what is done with it is a number among the
// arguments. So the code of an op stands once for each type that is computed
// with, and not for each element type and layout.
#pragma once
#include "dtype.cuh"

// The element types by the numbers that package kernels gives them.
enum Type : u32 { F32 = 1, F64, I64, F16, BF16, I32, U8, B8 };

// How many elements make a pack of a compute type.
template <class C> constexpr int pack = 4;
template <> constexpr int pack<f64> = 2;

template <class C> using Pack = Vec<C, pack<C>>;

// on_type calls f with a null pointer of the element type that has the number t,
// one of those that are computed with as the type of the first argument.
template <class F> INLINE void on_type(f32, u32 t, F f) {
  if (t == F32) f((f32 *)0);
  else if (t == F16) f((f16 *)0);
  else f((bf16 *)0);
}
template <class F> INLINE void on_type(f64, u32, F f) { f((f64 *)0); }
template <class F> INLINE void on_type(i64, u32 t, F f) {
  if (t == I64) f((i64 *)0);
  else if (t == I32) f((i32 *)0);
  else if (t == U8) f((u8 *)0);
  else f((b8 *)0);
}
template <class F> INLINE void on_type(bool, u32, F f) { f((b8 *)0); }

template <class P> struct element;
template <class E> struct element<E *> { typedef E type; };

// Job is the arguments of a kernel with N inputs of elements computed with as C.
// packs.go packs it.
template <class C, int N> struct Job {
  void *out;
  const void *in[N];
  i64 count;             // of elements
  Walk<u32, N + 1> walk; // over packs if vectors is set, else over elements
  u32 op, type;          // type is that of the inputs
  u32 vectors;           // all operands lie so that a pack is one vector or one element
  u32 splat;             // with vectors, bit j: operand j is one element along the pack
  C a, b;
};

// pack_at returns the pack that begins at p, of which only so many elements are
// there, or one element in all places.
template <class C, class E> INLINE Pack<C> pack_at(const E *p, bool one, i64 left) {
  constexpr int V = pack<C>;
  Pack<C> x;
  if (one) {
    C all = widen(*p);
    for (int j = 0; j < V; j++) x.at[j] = all;
  } else if (left >= V) {
    Vec<E, V> v = *(const Vec<E, V> *)p;
    for (int j = 0; j < V; j++) x.at[j] = widen(v.at[j]);
  } else {
    for (int j = 0; j < V; j++) x.at[j] = j < left ? (C)widen(p[j]) : (C)0;
  }
  return x;
}

// for_packs calls f(x, r) for all packs, which sets r from the inputs' x. The
// output's elements are those of type out_type that are computed with as R.
template <class R, class C, int N, class F> INLINE void for_packs(const Job<C, N> &job, u32 out_type, F f) {
  constexpr int V = pack<C>;
  u32 all = threads<u32>(), count = job.walk.count;
  u32 step = job.vectors ? all : all * V;
#pragma nounroll
  for (u32 i = thread<u32>(); i < count; i += step) {
    Pack<C> x[N];
    Vec<R, V> r;
    i64 at[V][N + 1], left = job.count - (i64)i * V;
    if (job.vectors) {
      job.walk.offsets(i, at[0]);
      on_type(C(), job.type, [&](auto *t) {
        for (int k = 0; k < N; k++) {
          x[k] = pack_at<C>((decltype(t))job.in[k] + at[0][1 + k], job.splat >> (1 + k) & 1, left);
        }
      });
    } else { // elements of neighbouring threads are neighbours
      for (int j = 0; j < V; j++) job.walk.offsets(i + j * all < count ? i + j * all : i, at[j]);
      on_type(C(), job.type, [&](auto *t) {
        for (int j = 0; j < V; j++) {
          for (int k = 0; k < N; k++) x[k].at[j] = widen(((decltype(t))job.in[k])[at[j][1 + k]]);
        }
      });
    }
    f(x, r);
    on_type(R(), out_type, [&](auto *t) {
      typedef decltype(t) P;
      typedef Vec<typename element<P>::type, V> Out;
      P out = (P)job.out;
      Out o;
      for (int j = 0; j < V; j++) o.at[j] = narrow<typename element<P>::type>(r.at[j]);
      if (job.vectors && left >= V) {
        *(Out *)(out + at[0][0]) = o;
      } else if (job.vectors) {
        for (int j = 0; j < V; j++) if (j < left) out[at[0][0] + j] = o.at[j];
      } else {
        for (int j = 0; j < V; j++) if (i + j * all < count) out[at[j][0]] = o.at[j];
      }
    });
  }
}

// each sets the elements of r to f of those of x, or of x and y. one_by_one does
// the same by a loop that holds the code of f once, for functions of many
// instructions: packs turn by an element each time round.
template <class C, class R, int V, class F> INLINE void each(Vec<C, V> &x, Vec<R, V> &r, F f) {
  for (int j = 0; j < V; j++) r.at[j] = f(x.at[j]);
}
template <class C, class R, int V, class F> INLINE void each(Vec<C, V> &x, Vec<C, V> &y, Vec<R, V> &r, F f) {
  for (int j = 0; j < V; j++) r.at[j] = f(x.at[j], y.at[j]);
}

template <class C, int V> INLINE void turn(Vec<C, V> &x, C last) {
  for (int j = 0; j < V - 1; j++) x.at[j] = x.at[j + 1];
  x.at[V - 1] = last;
}

template <class C, int V, class F> INLINE void one_by_one(Vec<C, V> &x, Vec<C, V> &r, F f) {
  r = x;
#pragma nounroll
  for (int j = 0; j < V; j++) turn(r, f(r.at[0]));
}
template <class C, int V, class F> INLINE void one_by_one(Vec<C, V> &x, Vec<C, V> &y, Vec<C, V> &r, F f) {
  r = x;
#pragma nounroll
  for (int j = 0; j < V; j++) {
    turn(r, f(r.at[0], y.at[0]));
    turn(y, y.at[0]);
  }
}
