// gemm_tile.h: the micro-kernel of the matrix product.
//
// A tile is MR rows x NV vectors of C, kept in registers while k runs; each
// step loads NV vectors of B and multiplies them by MR scalars of A.
//
//	AVX-512   8 x 32: 16 of 32 registers. 16 FMAs a step cover the latency
//	          (4 cycles x 2 ports = 8) twice; 12 and 14 rows gain nothing and
//	          64 rows, a common batch, divide by 8.
//	others    6 x 16 and 6 x 8: 12 sums + 2 of B + 1 of A fit 16 registers.
//
// Fewer rows or one vector at the edges are kernels of their own, made by the
// same text with other constants: there is no scalar edge. Columns beyond the
// edge are computed on what B's packing padded with 0 and are not stored.

#if VB == 64
#define MR 8
#else
#define MR 6
#endif
enum { NV = 2, NR = NV * VL };

// tile is one call: c [mr, n] (+)= a [mr, k] x b [k, nv vectors].
struct tile {
	const float *a, *b;
	float *c;
	int64_t k, n;          // n columns are stored, 0 < n <= nv * VL
	int64_t lda, ldb, ldc; // between rows; lda between columns in form COLUMNS
	const float *bias;     // [mr, n], NULL for none
	int64_t ldbias;
	int add, relu; // add to c; rectify
	const float *ahead; // MR rows of nv vectors to fetch into the second-level cache
	int64_t ldahead;
};

typedef void tile_body(const struct tile *t);

// The forms of A: element (i, p) is at a[i*lda + p] or at a[p*lda + i].
enum form { ROWS, COLUMNS };

// steps does count steps of k. Rows are reached from three pointers, each with
// offsets 0, lda and 2 lda, for which x86 has address modes: with one pointer
// a row gcc runs out of registers. The empty asm keeps it from undoing this.
FN void steps(vf sum[MR][NV], const float *a[3], int64_t lda, const float **b, int64_t ldb,
              const int form, const int mr, const int nv, const int count) {
	UNROLLED for (int p = 0; p < count; p++) {
		__asm__("" : "+r"(a[0]), "+r"(a[1]), "+r"(a[2]), "+r"(*b));
		vf column[NV];
		UNROLLED for (int j = 0; j < nv; j++) column[j] = load(*b + j * VL);
		UNROLLED for (int i = 0; i < mr; i++) {
			const float *x = form == ROWS ? a[i / 3] + i % 3 * lda + p : a[0] + i;
			// The fused broadcast costs a load per FMA; half of the rows is
			// what the load ports have room for, and in form ROWS those with
			// the plain address, since others would be split up again.
			if (form == ROWS ? i % 3 == 0 : i % 2 == 0) {
				UNROLLED for (int j = 0; j < nv; j++) sum[i][j] = fma_scalar(sum[i][j], x, column[j]);
			} else {
				vf row = all(*x);
				UNROLLED for (int j = 0; j < nv; j++) sum[i][j] += row * column[j];
			}
		}
		*b += ldb;
		if (form == COLUMNS) a[0] += lda;
	}
	if (form == ROWS) UNROLLED for (int i = 0; i < 3; i++) a[i] += count;
}

// finish adds what is in C or the bias and stores the sums.
FN void finish(vf sum[MR][NV], const struct tile *t, const int mr, const int nv) {
	if (t->n == nv * VL) {
#define EACH UNROLLED for (int i = 0; i < mr; i++) UNROLLED for (int j = 0; j < nv; j++)
		if (t->add) EACH sum[i][j] += load(t->c + i * t->ldc + j * VL);
		if (t->bias) EACH sum[i][j] += load(t->bias + i * t->ldbias + j * VL);
		if (t->relu) EACH sum[i][j] = relu(sum[i][j]);
		EACH store(t->c + i * t->ldc + j * VL, sum[i][j]);
#undef EACH
		return;
	}
	UNROLLED for (int j = 0; j < nv; j++) {
		int64_t n = t->n - j * VL;
		if (n <= 0) break;
		if (n > VL) n = VL;
		UNROLLED for (int i = 0; i < mr; i++) {
			float *c = t->c + i * t->ldc + j * VL;
			if (t->add) sum[i][j] += load_first(c, n);
			if (t->bias) sum[i][j] += load_first(t->bias + i * t->ldbias + j * VL, n);
			if (t->relu) sum[i][j] = relu(sum[i][j]);
			store_first(c, sum[i][j], n);
		}
	}
}

// multiply is the tile for constant form, mr and nv. The rows of C are
// fetched one every 4 steps while the first steps run: by the time of finish
// they are there, and a burst of them would hold up the loads of A.
FN void multiply(const struct tile *t, const int form, const int mr, const int nv) {
	const float *a[3] = {t->a, t->a, t->a}, *b = t->b;
	if (form == ROWS) a[1] += 3 * t->lda, a[2] += 6 * t->lda;
	int64_t lda = t->lda, ldb = t->ldb, k = t->k;
	vf sum[MR][NV];
	UNROLLED for (int i = 0; i < mr; i++)
		UNROLLED for (int j = 0; j < nv; j++) sum[i][j] = (vf){0};
	const float *c = t->c, *ahead = t->ahead;
	for (int i = 0; i < mr && k >= 4; i++, k -= 4, c += t->ldc, ahead += t->ldahead) {
		UNROLLED for (int j = 0; j < nv; j++) __builtin_prefetch(c + j * VL, 1);
		UNROLLED for (int j = 0; j < nv; j++) __builtin_prefetch(ahead + j * VL, 0, 2);
		steps(sum, a, lda, &b, ldb, form, mr, nv, 4);
	}
	for (; k >= 4; k -= 4) steps(sum, a, lda, &b, ldb, form, mr, nv, 4);
	for (; k > 0; k--) steps(sum, a, lda, &b, ldb, form, mr, nv, 1);
	finish(sum, t, mr, nv);
}

#define TILES(mr)                                                                        \
	BODY void rows_##mr##x1(const struct tile *t) { multiply(t, ROWS, mr, 1); }          \
	BODY void rows_##mr##x2(const struct tile *t) { multiply(t, ROWS, mr, 2); }          \
	BODY void columns_##mr##x1(const struct tile *t) { multiply(t, COLUMNS, mr, 1); }    \
	BODY void columns_##mr##x2(const struct tile *t) { multiply(t, COLUMNS, mr, 2); }
#define ENTRIES(mr) {{rows_##mr##x1, rows_##mr##x2}, {columns_##mr##x1, columns_##mr##x2}}

TILES(1) TILES(2) TILES(3) TILES(4) TILES(5) TILES(6)
#if MR == 8
TILES(7) TILES(8)
#endif

// tiles is indexed by rows - 1, form and vectors - 1.
static tile_body *const tiles[MR][2][NV] = {
	ENTRIES(1), ENTRIES(2), ENTRIES(3), ENTRIES(4), ENTRIES(5), ENTRIES(6),
#if MR == 8
	ENTRIES(7), ENTRIES(8),
#endif
};
#undef TILES
#undef ENTRIES
