#include "cuda.h"

// Philox4x32-10: four words for each counter.
kernel philox(u32 *out, u64 seed, u64 offset, int n) {
  int i = ctaid_x * ntid_x + tid_x;
  if (i >= n) return;
  u32 k0 = (u32)seed, k1 = (u32)(seed >> 32);
  u32 c0 = (u32)(offset + i), c1 = (u32)((offset + i) >> 32), c2 = 0, c3 = 0;
  for (int r = 0; r < 10; r++) {
    u64 p = 0xD2511F53ull * c0, q = 0xCD9E8D57ull * c2;
    c0 = (u32)(q >> 32) ^ c1 ^ k0;
    c1 = (u32)q;
    c2 = (u32)(p >> 32) ^ c3 ^ k1;
    c3 = (u32)p;
    k0 += 0x9E3779B9;
    k1 += 0xBB67AE85;
  }
  typedef u32 four __attribute__((ext_vector_type(4)));
  ((four *)out)[i] = four{c0, c1, c2, c3};
}

// Each lane leaves the loop at another time; every third has gone before.
kernel collatz(const u32 *in, u32 *steps, u32 *ballots, int n) {
  int i = ctaid_x * ntid_x + tid_x;
  if (i >= n || i % 3 == 0) return;
  u32 v = in[i], count = 0;
  while (v != 1) {
    if (v % 2 == 0) {
      v /= 2;
    } else {
      v = 3 * v + 1;
    }
    if (++count > 100) break;
  }
  steps[i] = count;
  u32 here = __nvvm_activemask();
  ballots[i] = __nvvm_vote_ballot_sync(here, count > 20);
}

// A private array with indices that are known only when it runs.
kernel histogram(const unsigned char *in, int *out, int n) {
  int counts[8];
  for (int k = 0; k < 8; k++) counts[k] = 0;
  for (int i = tid_x; i < n; i += ntid_x) counts[in[i] & 7]++;
  for (int k = 0; k < 8; k++) __nvvm_atom_add_gen_i(&out[k], counts[k]);
}
