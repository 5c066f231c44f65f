#include "cuda.h"

// What has no builtin that says which instruction it becomes.
#define address(p) ((u32)(u64)(__attribute__((address_space(3))) const void *)(p))

__device__ static void copy16(const void *to, const void *from, int used) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(address(to)), "l"(from), "r"(used) : "memory");
}

#define commit() asm volatile("cp.async.commit_group;" ::: "memory")
#define wait(n) asm volatile("cp.async.wait_group %0;" ::"n"(n) : "memory")

__device__ static void load_matrices(u32 *r, const void *row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(address(row)) : "memory");
}

__device__ static void load_transposed(u32 *r, const void *row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(address(row)) : "memory");
}

__device__ static void multiply(float *d, const u32 *a, const u32 *b) {
  asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

typedef unsigned short bf16;

// Copies the next 16 columns of a and rows of b: a chunk of 8 a thread. Beyond
// the edges are zeros.
__device__ static void stage(bf16 (*as)[16], bf16 (*bs)[32], const bf16 *a, const bf16 *b, int at, int m, int n, int k) {
  int i = tid_x % 64;
  if (tid_x < 64) {
    int row = ctaid_y * 32 + i / 2, col = at + i % 2 * 8;
    int in = row < m && col < k;
    copy16(&as[i / 2][i % 2 * 8], in ? a + row * k + col : a, in ? 16 : 0);
  } else {
    int row = at + i / 4, col = ctaid_x * 32 + i % 4 * 8;
    int in = row < k && col < n;
    copy16(&bs[i / 4][i % 4 * 8], in ? b + row * n + col : b, in ? 16 : 0);
  }
  commit();
}

// c = a b, row-major, a is m x k and b k x n, n and k multiples of 8: a block of
// 4 warps has 32 x 32 of c, a warp 16 x 16. LEFT is how many copies may still be
// on their way when the tile is read: one, that of the next tile.
#define MATMUL(NAME, LEFT)                                                                          \
  kernel __launch_bounds__(128) NAME(const bf16 *a, const bf16 *b, float *c, int m, int n, int k) { \
    __shared__ __attribute__((aligned(16))) bf16 as[2][32][16], bs[2][16][32];                      \
    int warp = tid_x / 32, lane = tid_x % 32, top = warp / 2 * 16, left = warp % 2 * 16;            \
    float sums[2][4] = {};                                                                          \
    stage(as[0], bs[0], a, b, 0, m, n, k);                                                          \
    for (int at = 0; at < k; at += 16) {                                                            \
      int now = at / 16 % 2;                                                                        \
      stage(as[!now], bs[!now], a, b, at + 16, m, n, k);                                            \
      wait(LEFT);                                                                                   \
      __syncthreads();                                                                              \
      u32 x[4], y[4];                                                                               \
      load_matrices(x, &as[now][top + lane % 16][lane / 16 * 8]);                                   \
      load_transposed(y, &bs[now][lane % 16][left + lane / 16 * 8]);                                \
      multiply(sums[0], x, y);                                                                      \
      multiply(sums[1], x, y + 2);                                                                  \
      __syncthreads();                                                                              \
    }                                                                                               \
    for (int i = 0; i < 8; i++) {                                                                   \
      int row = ctaid_y * 32 + top + lane / 4 + i / 2 % 2 * 8;                                      \
      int col = ctaid_x * 32 + left + i / 4 * 8 + lane % 4 * 2 + i % 2;                             \
      if (row < m && col < n) c[row * n + col] = sums[i / 4][i % 4];                                \
    }                                                                                               \
  }

MATMUL(tensor_matmul, 1)
MATMUL(tensor_matmul_early, 2)
