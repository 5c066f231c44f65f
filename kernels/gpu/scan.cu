// Scans along one dim: CumSum, CumProd, and the gradient of the latter. An Op
// loads an element, joins what follows one another, and stores the join of all
// up to an element; none() changes nothing.
#include "reduce.cuh"

// The rows that a scan goes along: kept leads to the first element of each, of
// the output and up to three inputs.
struct Rows {
  void *out;
  const void *in[3];
  i64 stride[4]; // of the output and the inputs along the row
  u64 n;
};

#define IN(R, T, J, AT, K) ((const T *)(R).in[J])[AT[(J) + 1] + (i64)(K) * (R).stride[(J) + 1]]

template <class S, class A, class R> struct CumSum {
  typedef A Total;
  __device__ static A none() { return 0; }
  __device__ static A join(A x, A y) { return x + y; }
  __device__ static A load(const Rows &r, const i64 (&at)[4], u64 k) { return (A)IN(r, S, 0, at, k); }
  __device__ static void store(const Rows &r, const i64 (&at)[4], u64 k, A v) {
    ((R *)r.out)[at[0] + (i64)k * r.stride[0]] = (R)v;
  }
};

template <class S, class A, class R> struct CumProd : CumSum<S, A, R> {
  __device__ static A none() { return 1; }
  __device__ static A join(A x, A y) { return x * y; }
};

// Going backwards, r = dy[k] + x[k+1]*r. Steps r -> add + factor*r follow one
// another as one of them, and begin at 0.
struct Step {
  f64 factor, add;
};

template <class T> struct CumProdGrad {
  typedef Step Total;
  __device__ static Step none() { return {1, 0}; }
  __device__ static Step join(Step x, Step y) { return {x.factor * y.factor, y.add + y.factor * x.add}; }
  __device__ static Step load(const Rows &r, const i64 (&at)[4], u64 back) {
    u64 k = r.n - 1 - back;
    return {back ? (f64)IN(r, T, 1, at, k + 1) : 0, (f64)IN(r, T, 0, at, k)};
  }
  __device__ static void store(const Rows &r, const i64 (&at)[4], u64 back, Step v) {
    u64 k = r.n - 1 - back;
    f64 before = k ? (f64)IN(r, T, 2, at, k - 1) : 1;
    ((T *)r.out)[at[0] + (i64)k * r.stride[0]] = (T)(before * v.add);
  }
};

// serial: a thread takes a row.
template <class Op> INLINE void serial(const Rows &r, const Walk<u64, 4> &kept) {
  for (u64 i = thread<u64>(); i < kept.count; i += threads<u64>()) {
    i64 at[4];
    kept.offsets(i, at);
    typename Op::Total v = Op::none();
    for (u64 k = 0; k < r.n; k++) {
      v = Op::join(v, Op::load(r, at, k));
      Op::store(r, at, k, v);
    }
  }
}

#define SCAN_THREADS 256
#define EACH 4

// together: a block takes a row, EACH elements a thread at a time; the joins of
// the threads' are scanned in shared memory, in steps of doubled reach.
template <class Op> INLINE void together(const Rows &r, const Walk<u64, 4> &kept) {
  typedef typename Op::Total Total;
  __shared__ Total joined[SCAN_THREADS];
  for (u64 i = ctaid_x; i < kept.count; i += nctaid_x) {
    i64 at[4];
    kept.offsets(i, at);
    Total carry = Op::none();
    for (u64 base = 0; base < r.n; base += SCAN_THREADS * EACH) {
      Total mine[EACH];
      u64 first = base + tid_x * EACH;
#pragma unroll
      for (int j = 0; j < EACH; j++) {
        Total v = first + j < r.n ? Op::load(r, at, first + j) : Op::none();
        mine[j] = j ? Op::join(mine[j - 1], v) : v;
      }
      Total all = mine[EACH - 1];
      joined[tid_x] = all;
      __syncthreads();
#pragma nounroll
      for (u32 d = 1; d < SCAN_THREADS; d *= 2) {
        Total before = tid_x >= d ? joined[tid_x - d] : Op::none();
        __syncthreads();
        all = Op::join(before, all);
        joined[tid_x] = all;
        __syncthreads();
      }
      Total before = Op::join(carry, tid_x ? joined[tid_x - 1] : Op::none());
#pragma unroll
      for (int j = 0; j < EACH; j++)
        if (first + j < r.n) Op::store(r, at, first + j, Op::join(before, mine[j]));
      carry = Op::join(carry, joined[SCAN_THREADS - 1]);
      __syncthreads();
    }
  }
}

#define SCAN(NAME, ...)                                                                             \
  KERNEL NAME##_serial(Rows r, Walk<u64, 4> kept) { serial<__VA_ARGS__>(r, kept); }                \
  KERNEL __launch_bounds__(256) NAME##_together(Rows r, Walk<u64, 4> kept) { together<__VA_ARGS__>(r, kept); }

#define SUMS(T, A, R)                   \
  SCAN(cumsum_##T, CumSum<T, A, R>)     \
  SCAN(cumprod_##T, CumProd<T, A, R>)

SUMS(f32, f64, f32)
SUMS(f64, f64, f64)
SUMS(i64, i64, i64)
SUMS(i32, i64, i64)
SUMS(u8, i64, i64)
SCAN(cumprod_grad_f32, CumProdGrad<f32>)
SCAN(cumprod_grad_f64, CumProdGrad<f64>)
