// Matrix products on tensor cores, for bf16, f16 and tf32 with sums in
// float32. They run on compute capability 8.0 and up.
//
// A block makes 128 by 128 elements with 4 warps, each 64 by 64: shared memory
// could not feed the tensor cores with smaller ones. A stage of shared memory
// holds a panel of each operand: 128 rows or columns by 64 bytes along K. While
// one stage is multiplied two are on their way, copied past the registers.
// Panels lie as the operand does, along K or across, in chunks of 16 bytes;
// which chunk is where is permuted such that eight chunks that are written or
// read together are in different banks.
//
// Two blocks share a multiprocessor: 48 KB of shared memory and, by ptxas, at
// most 240 registers a thread from sm_80 to sm_120, none of them spilled.
#include "matmul.cuh"

// tensor_product is a product with what is special here.
struct tensor_product {
  product<void, float, void> p;
  int x_wide, y_wide; // chunks can be copied whole
  int half_out;       // out is of the operands' type
  int unused;
};

// What the element types differ in. A step of K is 32 bytes for all of them.
struct bf16 { static constexpr int size = 2; };
struct f16 { static constexpr int size = 2; };
struct tf32 { static constexpr int size = 4; };

#define MMA(T, SHAPE, NAME)                                                                             \
  INLINE void mma(T, f32 (&c)[4], const u32 (&a)[4], u32 b0, u32 b1) {                                  \
    asm("mma.sync.aligned." SHAPE ".row.col.f32." NAME "." NAME ".f32 "                                 \
        "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"                               \
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])                                                \
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));                                \
  }
MMA(bf16, "m16n8k16", "bf16")
MMA(f16, "m16n8k16", "f16")
MMA(tf32, "m16n8k8", "tf32")

// round prepares what has been loaded for mma, which would cut the digits of
// float32 that tf32 does not have.
INLINE u32 round(bf16, u32 v) { return v; }
INLINE u32 round(f16, u32 v) { return v; }
INLINE u32 round(tf32, u32 v) {
  asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(v) : "f"(__builtin_bit_cast(f32, v)));
  return v;
}

// pack rounds two sums to two neighbours.
INLINE u32 pack(bf16, f32 lo, f32 hi) {
  u32 v;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(v) : "f"(hi), "f"(lo));
  return v;
}
INLINE u32 pack(f16, f32 lo, f32 hi) {
  u32 v;
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(v) : "f"(hi), "f"(lo));
  return v;
}

INLINE u32 shared_address(const void *p) { return (u32)(u64)(const __attribute__((address_space(3))) void *)p; }

// copy begins to bring 16 bytes to shared memory.
INLINE void copy(u32 to, const void *from) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;"
               :: "r"(to), "l"((const __attribute__((address_space(1))) void *)from) : "memory");
}
// copy brings the first n of 16 bytes, and zeros.
INLINE void copy(u32 to, const void *from, int n) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;"
               :: "r"(to), "l"((const __attribute__((address_space(1))) void *)from), "r"(n) : "memory");
}
INLINE void commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }
// wait waits for all copies but those of the last group.
INLINE void wait() { asm volatile("cp.async.wait_group 1;" ::: "memory"); }

constexpr int side = 128, warp_rows = 64, warp_cols = 64; // of a block's and of a warp's tile
constexpr int warps_n = side / warp_cols, threads_of_block = side / warp_rows * warps_n * 32;
constexpr int panel_bytes = 64 * side, stage_bytes = 2 * panel_bytes, stages = 3;

// where is the offset in a panel of the chunk of row and column, which are x
// and the place along K where the panel lies along K, and the other way round
// where it lies across.
template <int size, bool along_k> INLINE int where(int row, int chunk) {
  if (along_k) return row * 64 + (chunk ^ (row / 2 % 4)) * 16;
  return row * side * size + (chunk ^ (size == 2 ? row % 8 : row % 4 * 2)) * 16;
}

// panel brings an operand to shared memory, some chunks a thread. x is the dim
// that is not K.
template <int size, bool along_k> struct panel {
  static constexpr int V = 16 / size;                    // elements of a chunk
  static constexpr int K = 64 / size;                    // of the panel
  static constexpr int row = along_k ? 4 : side / V;     // chunks of a row
  static constexpr int between = threads_of_block / row; // rows from one chunk of a thread to the next
  static constexpr int chunks = panel_bytes / 16 / threads_of_block;

  const char *at;
  i64 next, step, element; // bytes from one chunk, panel, element to the next
  int k, x_left;           // of the first chunk: place along K, and how many x are there from its x on
  int to;
  bool wide, whole; // chunks can be copied in one go; and are all there where K goes on as far

  METHOD panel(const void *from, i64 sx, i64 sk, i64 left, bool wide, int thread) : wide(wide) {
    int r = thread / row, c = thread % row;
    int x = along_k ? r : c * V;
    k = along_k ? c * V : r;
    at = (const char *)from + (x * sx + k * sk) * size;
    next = between * (along_k ? sx : sk) * size;
    step = 64 * sk; // 64 bytes along K are 64/size elements
    element = (along_k ? sk : sx) * size;
    x_left = left < side ? (int)left - x : side - x;
    whole = wide && x_left >= (along_k ? (chunks - 1) * between + 1 : V);
    to = where<size, along_k>(r, c);
  }

  // fetch begins to bring the next panel, of which left elements along K are
  // there; left may be negative. What is not there is zero.
  METHOD void fetch(u32 shared, int left) {
    if (whole && left >= K) {
      const char *p = at;
#pragma unroll
      for (int i = 0; i < chunks; i++, p += next) copy(shared + to + i * between * row * 16, p);
    } else {
#pragma unroll 1
      for (int i = 0; i < chunks; i++) {
        int x = x_left - (along_k ? i * between : 0), l = left - k - (along_k ? 0 : i * between);
        int n = x > 0 && l > 0 ? along_k ? l : x : 0;
        n = n < V ? n : V;
        if (wide)
          copy(shared + to + i * between * row * 16, at + i * next, n * size);
        else
          one_by_one(shared + to + i * between * row * 16, at + i * next, n);
      }
    }
    at += step;
  }

  // one_by_one brings the first n elements of a chunk.
  METHOD void one_by_one(u32 s, const char *p, int n) {
    u32 w[4] = {};
#pragma unroll
    for (int v = 0; v < V; v++, p += element)
      if (v < n) w[v * size / 4] |= size == 2 ? *(const unsigned short *)p << v % 2 * 16 : *(const u32 *)p;
    asm volatile("st.shared.v4.b32 [%0], {%1, %2, %3, %4};" :: "r"(s), "r"(w[0]), "r"(w[1]), "r"(w[2]), "r"(w[3]) : "memory");
  }
};

// fragment loads 16 by 32 bytes of K of a panel, from x and the step of K on,
// as four matrices of 8 by 16 bytes. In x's order the other 8 x come before the
// other 16 bytes, as mma takes its first factor; in y's order after them, so
// that the two halves are two second factors.
template <class T, bool along_k, bool is_x> INLINE void fragment(u32 (&f)[4], u32 panel, int x, int step, int lane) {
  int matrix = lane / 8, row = lane % 8;
  int other_x = is_x ? matrix % 2 : matrix / 2, other_k = is_x ? matrix / 2 : matrix % 2;
  if (along_k) {
    u32 at = panel + where<T::size, true>(x + other_x * 8 + row, step * 2 + other_k);
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(f[0]), "=r"(f[1]), "=r"(f[2]), "=r"(f[3]) : "r"(at) : "memory");
  } else if (T::size == 2) {
    u32 at = panel + where<T::size, false>(step * 16 + other_k * 8 + row, x / 8 + other_x);
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(f[0]), "=r"(f[1]), "=r"(f[2]), "=r"(f[3]) : "r"(at) : "memory");
  } else {
#pragma unroll
    for (int i = 0; i < 4; i++) { // ldmatrix would tear elements of 32 bits apart
      int fx = x + (is_x ? i % 2 : i / 2) * 8 + lane / 4, fk = step * 8 + (is_x ? i / 2 : i % 2) * 4 + lane % 4;
      u32 at = panel + where<T::size, false>(fk, fx / 4) + fx % 4 * 4;
      asm volatile("ld.shared.b32 %0, [%1];" : "=r"(f[i]) : "r"(at) : "memory");
    }
  }
#pragma unroll
  for (int i = 0; i < 4; i++) f[i] = round(T{}, f[i]);
}

// put stores 4 sums side by side.
template <class T> INLINE void put(const tensor_product &t, i64 row, i64 col, i64 out, const f32 *s) {
  const auto &p = t.p;
  f32 v[4];
  const f32 *b = p.bias + ctaid_z * p.bbatch + row * p.bm + col * p.bn;
  bool whole = col + 4 <= p.n;
  for (int i = 0; i < 4; i++) {
    v[i] = s[i];
    if (p.bias && (whole || col + i < p.n)) v[i] += b[i * p.bn];
    if (p.rectify && v[i] < 0) v[i] = 0;
  }
  whole = whole && p.on == 1;
  if constexpr (T::size == 2) {
    if (t.half_out) {
      unsigned short *o = (unsigned short *)p.out + out;
      u32 lo = pack(T{}, v[0], v[1]), hi = pack(T{}, v[2], v[3]);
      if (whole && (u64)o % 8 == 0) {
        *(u64 *)o = (u64)hi << 32 | lo;
        return;
      }
      for (int i = 0; i < 4; i++)
        if (col + i < p.n) o[i * p.on] = (unsigned short)((i < 2 ? lo : hi) >> i % 2 * 16);
      return;
    }
  }
  f32 *o = (f32 *)p.out + out;
  if (whole && (u64)o % 16 == 0) {
    *(Vec<f32, 4> *)o = Vec<f32, 4>{v[0], v[1], v[2], v[3]};
    return;
  }
  for (int i = 0; i < 4; i++)
    if (col + i < p.n) o[i * p.on] = v[i];
}

typedef f32 warp_sums[warp_rows / 16][warp_cols / 8][4]; // as mma leaves them

// finish_tile stores the sums. They go through shared memory, the rows of half
// of the warps at a time, to be stored in whole rows.
template <class T> INLINE void finish_tile(const tensor_product &t, const warp_sums &sums, f32 *memory) {
  const auto &p = t.p;
  constexpr int LD = side + 8; // the padding keeps eight rows that a warp writes in different banks
  static_assert(warp_rows * LD * sizeof(f32) <= stages * stage_bytes, "the rows fit");
  const int thread = tid_x, warp = thread / 32, lane = thread % 32;
  int tile_row, tile_col;
  place(p.tiles_m, p.tiles_n, tile_row, tile_col);
#pragma unroll 1
  for (int first = 0; first < side; first += warp_rows) {
    __syncthreads();
    if (warp / warps_n * warp_rows == first) {
#pragma unroll
      for (int i = 0; i < warp_rows / 16; i++)
#pragma unroll
        for (int j = 0; j < warp_cols / 8; j++)
#pragma unroll
          for (int h = 0; h < 2; h++) {
            int at = (i * 16 + h * 8 + lane / 4) * LD + warp % warps_n * warp_cols + j * 8 + lane % 4 * 2;
            f32 *to = (f32 *)__builtin_assume_aligned(&memory[at], 8);
            to[0] = sums[i][j][h * 2];
            to[1] = sums[i][j][h * 2 + 1];
          }
    }
    __syncthreads();
#pragma unroll 1
    for (int e = thread; e < warp_rows * side / 4; e += threads_of_block) {
      int at = e / (side / 4), from = e % (side / 4) * 4;
      i64 r = (i64)tile_row * side + first + at, c = (i64)tile_col * side + from;
      if (r < p.m && c < p.n)
        put<T>(t, r, c, ctaid_z * p.obatch + r * p.om + c * p.on,
               (const f32 *)__builtin_assume_aligned(&memory[at * LD + from], 16));
    }
  }
}

template <class T, bool x_along_k, bool y_along_k> INLINE void multiply(const tensor_product &t) {
  const auto &p = t.p;
  constexpr int size = T::size, K = 64 / size; // elements of a panel along K
  __shared__ __attribute__((aligned(128))) char memory[stages * stage_bytes];

  int tile_row, tile_col;
  place(p.tiles_m, p.tiles_n, tile_row, tile_col);
  const i64 row = (i64)tile_row * side, col = (i64)tile_col * side, batch = ctaid_z;
  const int thread = tid_x, warp = thread / 32, lane = thread % 32;
  panel<size, x_along_k> x((const char *)p.x + (batch * p.xbatch + row * p.xm) * size, p.xm, p.xk, p.m - row, t.x_wide, thread);
  panel<size, y_along_k> y((const char *)p.y + (batch * p.ybatch + col * p.yn) * size, p.yn, p.yk, p.n - col, t.y_wide, thread);
  const u32 shared = shared_address(memory);
  const int wm = warp / warps_n * warp_rows, wn = warp % warps_n * warp_cols; // the warp's first row and column

  warp_sums sums = {};
  int left = p.k, stage = 0, fill = (stages - 1) * stage_bytes; // offsets of what is read and of what is filled
#pragma unroll 1
  for (int s = 0; s < stages - 1; s++) {
    x.fetch(shared + s * stage_bytes, left - s * K);
    y.fetch(shared + s * stage_bytes + panel_bytes, left - s * K);
    commit();
  }
#pragma unroll 1
  for (; left > 0; left -= K) {
    wait();
    __syncthreads(); // all are done with the stage that is filled next, and see the one that is read next
    x.fetch(shared + fill, left - (stages - 1) * K);
    y.fetch(shared + fill + panel_bytes, left - (stages - 1) * K);
    commit();
    u32 xs = shared + stage, ys = xs + panel_bytes;
#pragma unroll
    for (int step = 0; step < 2; step++) {
      u32 a[warp_rows / 16][4], b[warp_cols / 16][4];
#pragma unroll
      for (int i = 0; i < warp_rows / 16; i++) fragment<T, x_along_k, true>(a[i], xs, wm + i * 16, step, lane);
#pragma unroll
      for (int j = 0; j < warp_cols / 16; j++) fragment<T, y_along_k, false>(b[j], ys, wn + j * 16, step, lane);
#pragma unroll
      for (int i = 0; i < warp_rows / 16; i++)
#pragma unroll
        for (int j = 0; j < warp_cols / 8; j++) mma(T{}, sums[i][j], a[i], b[j / 2][j % 2 * 2], b[j / 2][j % 2 * 2 + 1]);
    }
    fill = stage;
    stage = stage == (stages - 1) * stage_bytes ? 0 : stage + stage_bytes;
  }
  asm volatile("cp.async.wait_all;" ::: "memory"); // their stages are used otherwise now
  finish_tile<T>(t, sums, (f32 *)memory);
}

// x and y lie along K (k) or across (x).
#define TENSOR(T, XY, x_along_k, y_along_k)                                                  \
  KERNEL __attribute__((launch_bounds(threads_of_block, 2))) tensor_##T##_##XY(const tensor_product t) { \
    multiply<T, x_along_k, y_along_k>(t);                                                    \
  }
#define FORMS(T) TENSOR(T, kk, true, true) TENSOR(T, kx, true, false) TENSOR(T, xk, false, true) TENSOR(T, xx, false, false)

FORMS(bf16)
FORMS(f16)
FORMS(tf32)
