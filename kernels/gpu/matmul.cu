// Matrix products in float32 and float64 without tensor cores.
//
// A block of threads makes a tile of the output. It walks along K in steps of
// BK: a slice of each operand goes from global memory to registers while the
// slice before it is multiplied, then to the other half of shared memory, so
// that one barrier a step is enough. In shared memory both operands lie with
// K outermost, and a thread reads what it multiplies 16 bytes at a time.
//
// Every element of the output is one chain of fused multiply-adds in order of
// K, whatever the tile and however the operands lie: the bits depend on where
// the host cuts K alone.
#include "matmul.cuh"

// What a thread loads at once, 0 where it may not.
INLINE void load(float (&d)[4], const float *p, bool ok) {
  asm volatile("{\n\t.reg .pred q;\n\tsetp.ne.s32 q, %5, 0;\n\t"
               "mov.f32 %0, 0f00000000;\n\tmov.f32 %1, 0f00000000;\n\t"
               "mov.f32 %2, 0f00000000;\n\tmov.f32 %3, 0f00000000;\n\t"
               "@q ld.global.v4.f32 {%0, %1, %2, %3}, [%4];\n\t}"
               : "=f"(d[0]), "=f"(d[1]), "=f"(d[2]), "=f"(d[3])
               : "l"(p), "r"((int)ok));
}

INLINE void load(float (&d)[1], const float *p, bool ok) {
  asm volatile("{\n\t.reg .pred q;\n\tsetp.ne.s32 q, %2, 0;\n\tmov.f32 %0, 0f00000000;\n\t"
               "@q ld.global.f32 %0, [%1];\n\t}"
               : "=f"(d[0]) : "l"(p), "r"((int)ok));
}

INLINE void load(double (&d)[2], const double *p, bool ok) {
  asm volatile("{\n\t.reg .pred q;\n\tsetp.ne.s32 q, %3, 0;\n\t"
               "mov.f64 %0, 0d0000000000000000;\n\tmov.f64 %1, 0d0000000000000000;\n\t"
               "@q ld.global.v2.f64 {%0, %1}, [%2];\n\t}"
               : "=d"(d[0]), "=d"(d[1]) : "l"(p), "r"((int)ok));
}

INLINE void load(double (&d)[1], const double *p, bool ok) {
  asm volatile("{\n\t.reg .pred q;\n\tsetp.ne.s32 q, %2, 0;\n\tmov.f64 %0, 0d0000000000000000;\n\t"
               "@q ld.global.f64 %0, [%1];\n\t}"
               : "=d"(d[0]) : "l"(p), "r"((int)ok));
}

INLINE float multiply_add(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
INLINE double multiply_add(double a, double b, double c) { return __builtin_fma(a, b, c); }

// wide is 16 bytes of elements.
template <typename T> struct wide;
template <> struct wide<float> {
  static constexpr int n = 4;
  typedef float type __attribute__((ext_vector_type(4)));
};
template <> struct wide<double> {
  static constexpr int n = 2;
  typedef double type __attribute__((ext_vector_type(2)));
};

// tile is how a block shares out its work: WM by WN warps, each of LM by LN
// lanes, each with CM by CN chunks of C by C elements, which lie LM*C rows and
// LN*C columns apart so that lanes side by side read shared memory side by side.
template <typename T, int WM_, int WN_, int LM_, int LN_, int CM_, int CN_, int BK_> struct tile {
  typedef T type;
  static constexpr int C = wide<T>::n, WM = WM_, WN = WN_, LM = LM_, LN = LN_, CM = CM_, CN = CN_, BK = BK_;
  static constexpr int BM = WM * LM * CM * C, BN = WN * LN * CN * C, threads = WM * WN * 32;
  static_assert(LM * LN == 32, "a warp has 32 lanes");
};

// slice brings BK by BX elements of an operand from global to shared memory;
// x is the dim that is not K. Each thread has N vectors of V elements along K
// or along x, whichever is dense. With V = 1 any strides will do.
template <typename T, int BX, int BK, int V, int threads> struct slice {
  static constexpr int N = BX * BK / V / threads;
  static constexpr int along_k = threads / (BK / V); // x from one vector of a thread to its next
  static constexpr int along_x = threads / (BX / V); // K from one to the next
  // The padding makes stores along K hit different banks.
  static constexpr int LD = BX + 16 / sizeof(T);
  static_assert(N * V * threads == BX * BK, "the threads share a slice out evenly");
  static_assert(along_k * (BK / V) == threads && along_x * (BX / V) == threads, "whole rows");

  const T *at;
  i64 next, step; // elements from one vector to the next, from one slice to the next
  int k;          // K of the first vector within the slice
  int to;         // where the first vector goes
  bool is_along_k;
  int inside; // how many vectors have an x that there is
  T held[N][V];

  METHOD slice(const T *from, i64 sx, i64 sk, i64 left, bool along, int thread) : is_along_k(along) {
    int x = along ? thread / (BK / V) : thread % (BX / V) * V;
    k = along ? thread % (BK / V) * V : thread / (BX / V);
    at = from + x * sx + k * sk;
    next = along ? along_k * sx : along_x * sk;
    step = BK * sk;
    to = k * LD + x;
    inside = 0;
    for (int i = 0; i < N; i++) inside += x + (along ? i * along_k : 0) < left;
  }

  // fetch loads the next slice, of which left steps of K are there; left may be
  // negative.
  METHOD void fetch(int left) {
    int n = k < left ? inside : 0; // how many vectors there are
    if (N > 1 && !is_along_k && n > 0) n = (left - k + along_x - 1) >> __builtin_ctz(along_x);
    const T *p = at;
#pragma unroll
    for (int i = 0; i < N; i++, p += next) load(held[i], p, i < n);
    at += step;
  }

  METHOD void store(T *s) {
    if (is_along_k) {
#pragma unroll
      for (int i = 0; i < N; i++)
#pragma unroll
        for (int v = 0; v < V; v++) s[to + v * LD + i * along_k] = held[i][v];
    } else {
      typedef T vector __attribute__((ext_vector_type(V)));
#pragma unroll
      for (int i = 0; i < N; i++) *(vector *)&s[to + i * along_x * LD] = __builtin_bit_cast(vector, held[i]);
    }
  }
};

// finish is what is done to a sum before it is stored.
template <typename T> INLINE T finish(const product<T> &p, T sum, T bias, T old) {
  sum = p.accumulate ? sum + old : sum + bias;
  return p.rectify && sum < 0 ? 0 : sum;
}

// put stores C sums side by side, the first of them at row, col.
template <typename T, int C>
INLINE void put(const product<T> &p, T *out, const T *bias, i64 row, i64 col, bool whole, const T *sums) {
  T *o = out + row * p.om + col * p.on;
  const T *b = bias + row * p.bm + col * p.bn;
  if (whole && col + C <= p.n) {
    typename wide<T>::type v, old = {};
    if (p.accumulate) old = *(typename wide<T>::type *)o;
#pragma unroll
    for (int i = 0; i < C; i++) v[i] = finish(p, sums[i], bias ? b[i * p.bn] : (T)0, old[i]);
    *(typename wide<T>::type *)o = v;
    return;
  }
#pragma unroll
  for (int i = 0; i < C; i++)
    if (col + i < p.n)
      o[i * p.on] = finish(p, sums[i], bias ? b[i * p.bn] : (T)0, p.accumulate ? o[i * p.on] : (T)0);
}

// within finds the first row and column of a thread in the tile.
template <class S> INLINE void within(int thread, int &row, int &col) {
  int warp = thread / 32, lane = thread % 32;
  row = (warp / S::WN * S::LM * S::CM + lane / S::LN) * S::C;
  col = (warp % S::WN * S::LN * S::CN + lane % S::LN) * S::C;
}

// finish_tile stores the sums. They go through shared memory, as many rows of
// each thread at a time as fit, to be stored in whole rows.
template <class S, int room>
INLINE void finish_tile(const product<typename S::type> &p, const typename S::type (&sums)[S::CM * S::C][S::CN * S::C],
                        typename S::type *memory) {
  typedef typename S::type T;
  constexpr int C = S::C, LD = S::BN + C, lanes = S::WM * S::LM, rows = S::CM * C;
  constexpr int R = lanes * rows * LD <= room ? rows : lanes * rows / 2 * LD <= room ? rows / 2 : rows / 4;
  static_assert(lanes * R * LD <= room, "the rows fit");

  // Where block and thread are is read anew: it need not be kept in registers
  // while the sums are made.
  int tile_row, tile_col, tm, tn;
  const int thread = tid_again();
  place(p.tiles_m, p.tiles_n, tile_row, tile_col);
  within<S>(thread, tm, tn);
  const int lane = thread / 32 / S::WN * S::LM + thread % 32 / S::LN; // of those that share columns
  const i64 row = (i64)tile_row * S::BM, col = (i64)tile_col * S::BN;
  T *out = p.out + ctaid_z * p.obatch + ctaid_y * p.opart;
  const T *bias = p.bias ? p.bias + ctaid_z * p.bbatch : p.bias;
  const bool whole = p.on == 1 && ((i64)out & 15) == 0 && p.om % C == 0;
#pragma unroll 1
  for (int first = 0; first < rows; first += R) {
    __syncthreads();
#pragma unroll
    for (int i = 0; i < rows; i++)
      if (i / R * R == first)
#pragma unroll
        for (int c = 0; c < S::CN; c++) {
          T *to = (T *)__builtin_assume_aligned(&memory[(lane * R + i % R) * LD + tn + c * S::LN * C], 16);
#pragma unroll
          for (int j = 0; j < C; j++) to[j] = sums[i][c * C + j];
        }
    __syncthreads();
#pragma unroll 1
    for (int e = thread; e < lanes * R * S::BN / C; e += S::threads) {
      int at = e / (S::BN / C), l = at / R, i = first + at % R, tc = e % (S::BN / C) * C;
      i64 r = row + (l / S::LM * S::CM + i / C) * S::LM * C + l % S::LM * C + i % C;
      if (r < p.m && col + tc < p.n)
        put<T, C>(p, out, bias, r, col + tc, whole, (const T *)__builtin_assume_aligned(&memory[at * LD + tc], 16));
    }
  }
}

// multiply is the kernel. V is how many elements are loaded at once: 1, or as
// many as make 16 bytes where the dense dim of each operand is a multiple of
// it and everything lies on such addresses.
template <class S, int V> INLINE void multiply(const product<typename S::type> &p) {
  typedef typename S::type T;
  typedef slice<T, S::BM, S::BK, V, S::threads> xslice;
  typedef slice<T, S::BN, S::BK, V, S::threads> yslice;
  constexpr int C = S::C, BK = S::BK, xsize = BK * xslice::LD, ysize = BK * yslice::LD;
  __shared__ __attribute__((aligned(16))) T memory[2 * xsize + 2 * ysize];
  T *const xs = memory, *const ys = memory + 2 * xsize;

  int tile_row, tile_col;
  place(p.tiles_m, p.tiles_n, tile_row, tile_col);
  const i64 row = (i64)tile_row * S::BM, col = (i64)tile_col * S::BN, batch = ctaid_z, from = ctaid_y * p.kpart;
  int left = p.k - from < p.kpart ? p.k - from : p.kpart;
  const int thread = tid_x;
  xslice x(p.x + batch * p.xbatch + row * p.xm + from * p.xk, p.xm, p.xk, p.m - row, p.x_along_k, thread);
  yslice y(p.y + batch * p.ybatch + col * p.yn + from * p.yk, p.yn, p.yk, p.n - col, p.y_along_k, thread);

  int tm, tn;
  within<S>(thread, tm, tn);
  T sums[S::CM * C][S::CN * C];
#pragma unroll
  for (int i = 0; i < S::CM * C; i++)
#pragma unroll
    for (int j = 0; j < S::CN * C; j++) sums[i][j] = 0;

  x.fetch(left);
  y.fetch(left);
  x.store(xs);
  y.store(ys);
  __syncthreads();
#pragma unroll 1
  for (int now = 0; left > 0; left -= BK, now ^= 1) {
    x.fetch(left - BK);
    y.fetch(left - BK);
#pragma unroll
    for (int k = 0; k < BK; k++) {
      T a[S::CM * C], b[S::CN * C];
#pragma unroll
      for (int c = 0; c < S::CM; c++) {
        const T *q = (const T *)__builtin_assume_aligned(&xs[now * xsize + k * xslice::LD + tm + c * S::LM * C], 16);
#pragma unroll
        for (int i = 0; i < C; i++) a[c * C + i] = q[i];
      }
#pragma unroll
      for (int c = 0; c < S::CN; c++) {
        const T *q = (const T *)__builtin_assume_aligned(&ys[now * ysize + k * yslice::LD + tn + c * S::LN * C], 16);
#pragma unroll
        for (int i = 0; i < C; i++) b[c * C + i] = q[i];
      }
#pragma unroll
      for (int i = 0; i < S::CM * C; i++)
#pragma unroll
        for (int j = 0; j < S::CN * C; j++) sums[i][j] = multiply_add(a[i], b[j], sums[i][j]);
    }
    if (left > BK) {
      x.store(xs + (now ^ 1) * xsize);
      y.store(ys + (now ^ 1) * ysize);
      __syncthreads();
    }
  }
  finish_tile<S, 2 * xsize + 2 * ysize>(p, sums, memory);
}

//                    warps lanes chunks BK
typedef tile<float, 2, 4, 8, 4, 2, 2, 8> large_f32;    // 128 by 128, 256 threads with 8 by 8 sums
typedef tile<float, 2, 2, 4, 8, 2, 1, 16> medium_f32;  // 64 by 64, 128 threads with 8 by 4
typedef tile<float, 1, 2, 8, 4, 1, 1, 16> small_f32;   // 32 by 32, 64 threads with 4 by 4
typedef tile<double, 2, 2, 4, 8, 4, 2, 8> medium_f64;  // 64 by 64, 128 threads with 8 by 4
typedef tile<double, 1, 2, 8, 4, 2, 2, 16> small_f64;  // 32 by 32, 64 threads with 4 by 4

// blocks are those that a multiprocessor has the registers for at once. ptxas
// keeps within them from sm_75 to sm_120 without spilling any; the large tiles
// have none to spare of their 128.
#define MATMUL(name, S, V, blocks) \
  KERNEL __attribute__((launch_bounds(S::threads, blocks))) name(const product<S::type> p) { multiply<S, V>(p); }

MATMUL(matmul_f32_large_wide, large_f32, 4, 2)
MATMUL(matmul_f32_large_any, large_f32, 1, 2)
MATMUL(matmul_f32_medium_wide, medium_f32, 4, 4)
MATMUL(matmul_f32_medium_any, medium_f32, 1, 4)
MATMUL(matmul_f32_small_wide, small_f32, 4, 8)
MATMUL(matmul_f32_small_any, small_f32, 1, 8)
MATMUL(matmul_f64_medium_wide, medium_f64, 2, 3)
MATMUL(matmul_f64_medium_any, medium_f64, 1, 3)
MATMUL(matmul_f64_small_any, small_f64, 1, 6)

// gather adds the parts of each element up, in order.
template <typename T> INLINE void gather(const product<T> &p, const T *parts, int count) {
  unsigned at = ctaid_x * ntid_x + tid_x, n = p.n;
  if (at >= (unsigned)p.m * n) return;
  i64 row = at / n, col = at % n, batch = ctaid_z;
  T sum = 0;
  const T *q = parts + batch * p.m * p.n + at;
  for (int i = 0; i < count; i++, q += p.opart) sum += *q;
  T *o = p.out + batch * p.obatch + row * p.om + col * p.on;
  T bias = p.bias ? p.bias[batch * p.bbatch + row * p.bm + col * p.bn] : (T)0;
  *o = finish(p, sum, bias, p.accumulate ? *o : (T)0);
}

KERNEL __launch_bounds__(256) matmul_f32_gather(const product<float> p, const float *parts, int count) {
  gather(p, parts, count);
}

KERNEL __launch_bounds__(256) matmul_f64_gather(const product<double> p, const double *parts, int count) {
  gather(p, parts, count);
}
