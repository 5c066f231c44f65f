// Where: each element from one of two operands, as a bool says. Elements are
// moved as bits, by their size.
#include "packs.cuh"

// A vector at p, or the element there in all places.
template <int V, class E> INLINE Vec<E, V> vector_at(const E *p, bool one) {
  if (!one) return *(const Vec<E, V> *)p;
  Vec<E, V> v;
  E x = *p;
  for (int j = 0; j < V; j++) v.at[j] = x;
  return v;
}

template <class E> INLINE void where_packs(const Job<u64, 3> &job) {
  constexpr int V = pack<E>;
  E *out = (E *)job.out;
  const u8 *condition = (const u8 *)job.in[0];
  const E *x = (const E *)job.in[1], *y = (const E *)job.in[2];
  bool one_c = job.splat & 2, one_x = job.splat & 4, one_y = job.splat & 8;
#pragma nounroll
  for (u32 i = thread<u32>(); i < job.walk.count; i += threads<u32>()) {
    i64 at[4], left = job.count - (i64)i * V;
    job.walk.offsets(i, at);
    if (!job.vectors) {
      out[at[0]] = condition[at[1]] ? x[at[2]] : y[at[3]];
    } else if (left < V) {
#pragma nounroll
      for (int j = 0; j < left; j++) {
        bool c = condition[at[1] + (one_c ? 0 : j)];
        out[at[0] + j] = c ? x[at[2] + (one_x ? 0 : j)] : y[at[3] + (one_y ? 0 : j)];
      }
    } else {
      Vec<u8, V> c = vector_at<V>(condition + at[1], one_c);
      Vec<E, V> a = vector_at<V>(x + at[2], one_x), b = vector_at<V>(y + at[3], one_y), v;
      for (int j = 0; j < V; j++) v.at[j] = c.at[j] ? a.at[j] : b.at[j];
      *(Vec<E, V> *)(out + at[0]) = v;
    }
  }
}

#define WHERE(E) \
  KERNEL where_##E(Job<u64, 3> job) { where_packs<E>(job); }
WHERE(u8)
WHERE(u16)
WHERE(u32)
WHERE(u64)
