// gemm.h: the blocks of the matrix product, around the tiles of gemm_tile.h.
//
//	for rows of A, MC at a time
//	  for k, kc <= KC at a time            A block [MC, kc]: second-level cache
//	    for columns of B, NR at a time     B panel [kc, NR]: first-level cache
//	      for rows of the block, MR at a time: tile
//
// The B panel is packed just before it is used and always to the same place,
// which stays in the first-level cache: stores to the second cost 4 times as
// much. The A block is copied only if many panels will read it, since a copy
// to the second-level cache costs as much as 11 columns of the product. It is
// not transposed: the tile reads scalars of A, in either form.
//
// An element is summed up in order of k, in blocks of kc, wherever block edges
// of rows and columns lie; kc depends on k alone.

enum {
	KC = 272,         // KC * NR * 4 = 34 KiB, a panel beside 8 KiB of A in a cache of 48 KiB
	MC = 64 * MR,     // MC * KC * 4 = 544 KiB, half of a second-level cache of 1 MiB
	PITCH = KC + 16,  // of a copied row: no power of two, so that rows do not collide
	COPY_A = 256,     // columns from which copying A pays
	COPY_COLUMNS = 96,
	DIRECT_B = 256,    // rows up to which B is read where it lies
	MAX_STRIDE = 1000 // floats; rows further apart share too few cache sets and pages
};

// scratch is one thread's work space.
struct scratch {
	float a[MC * PITCH];
	float panel[KC * NR];
	float c[MR * NR], bias[MR * NR];
};

_Static_assert(sizeof(struct scratch) <= SCRATCH, "SCRATCH holds every ISA's struct scratch");

// gather copies x [rows, cols] with any strides to dense rows ld apart.
BODY void gather(float *out, int64_t ld, const float *x, int64_t rs, int64_t cs, int64_t rows, int64_t cols) {
	for (int64_t i = 0; i < rows; i++)
		for (int64_t j = 0; j < cols; j++) out[i * ld + j] = x[i * rs + j * cs];
}

BODY void scatter(float *out, int64_t rs, int64_t cs, const float *x, int64_t ld, int64_t rows, int64_t cols) {
	for (int64_t i = 0; i < rows; i++)
		for (int64_t j = 0; j < cols; j++) out[i * rs + j * cs] = x[i * ld + j];
}

// copy_rows copies x [rows, cols], columns side by side, and pads each row
// with 0 to width, a multiple of VL.
BODY void copy_rows(float *out, int64_t ld, const float *x, int64_t ldx, int64_t rows, int64_t cols, int64_t width) {
	for (int64_t i = 0; i < rows; i++, out += ld, x += ldx) {
		int64_t j = 0;
		for (; j + VL <= cols; j += VL) {
			__builtin_prefetch(x + 4 * ldx + j);
			store(out + j, load(x + j));
		}
		if (j < width) store(out + j, load_first(x + j, cols - j));
	}
}

// operand is a block of A or a panel of B as the tiles read it.
struct operand {
	const float *at;
	int64_t ld;
	enum form form; // of A
};

// block_of_a returns A's block, rows i to i+m and columns p to p+k, for a
// product with n columns.
FN struct operand block_of_a(const struct gemm *g, struct scratch *s, int64_t i, int64_t m, int64_t p, int64_t k, int64_t n) {
	const float *a = g->a + i * g->ars + p * g->acs;
	if (g->acs == 1) {
		if (n < COPY_A || g->ars <= MAX_STRIDE) return (struct operand){a, g->ars, ROWS};
		copy_rows(s->a, PITCH, a, g->ars, m, k, (k + VL - 1) / VL * VL);
		return (struct operand){s->a, PITCH, ROWS};
	}
	if (g->ars != 1) {
		gather(s->a, PITCH, a, g->ars, g->acs, m, k);
		return (struct operand){s->a, PITCH, ROWS};
	}
	if (n < COPY_COLUMNS) return (struct operand){a, g->acs, COLUMNS};
	// Dense [k, MR] for each MR rows.
	for (int64_t r = 0; r < m; r += MR) {
		float *out = s->a + r * k;
		if (m - r < MR) gather(out, MR, a + r, g->acs, 1, k, m - r);
		else for (int64_t q = 0; q < k; q++) memcpy(out + q * MR, a + r + q * g->acs, 4 * MR);
	}
	return (struct operand){s->a, MR, COLUMNS};
}

// panel_of_b returns B's panel, rows p to p+k and columns j to j+n, for a
// product with m rows. All its rows can be read up to a multiple of VL.
FN struct operand panel_of_b(const struct gemm *g, struct scratch *s, int64_t p, int64_t k, int64_t j, int64_t n, int64_t m) {
	const float *b = g->b + p * g->brs + j * g->bcs;
	int64_t width = (n + VL - 1) / VL * VL;
	if (g->bcs == 1) {
		if (n == width && m <= DIRECT_B && g->brs <= MAX_STRIDE) return (struct operand){b, g->brs, 0};
		copy_rows(s->panel, width, b, g->brs, k, n, width);
	} else {
		if (n < width) memset(s->panel, 0, 4 * k * width);
		if (g->brs == 1) transpose(s->panel, width, b, g->bcs, n, k);
		else gather(s->panel, width, b, g->brs, g->bcs, k, n);
	}
	return (struct operand){s->panel, width, 0};
}

// run_tile calls the body of t for rows rows. C or a bias whose columns are not side
// by side is brought through a dense copy.
FN void run_tile(struct tile *t, const struct gemm *g, struct scratch *s, enum form form, int64_t i, int64_t rows, int64_t j) {
	tile_body *body = tiles[rows - 1][form][(t->n + VL - 1) / VL - 1];
	t->c = g->c + i * g->crs + j * g->ccs;
	if (t->bias) {
		t->bias = g->bias + i * g->biasrs + j * g->biascs;
		if (g->biascs != 1) {
			gather(s->bias, NR, t->bias, g->biasrs, g->biascs, rows, t->n);
			t->bias = s->bias;
		}
	}
	if (g->ccs == 1) {
		body(t);
		return;
	}
	float *c = t->c;
	if (t->add) gather(s->c, NR, c, g->crs, g->ccs, rows, t->n);
	t->c = s->c;
	body(t);
	scatter(c, g->crs, g->ccs, s->c, NR, rows, t->n);
}

// gemm_block is isa.gemm.
BODY void gemm_block(const struct gemm *g, int64_t i0, int64_t i1, int64_t j0, int64_t j1, float *memory) {
	struct scratch *s = (struct scratch *)memory;
	int64_t blocks = (g->k + KC - 1) / KC;
	int64_t kc = blocks ? ((g->k + blocks - 1) / blocks + 3) / 4 * 4 : 1; // as even as steps of 4 allow
	for (int64_t ic = i0; ic < i1; ic += MC) {
		int64_t m = i1 - ic < MC ? i1 - ic : MC;
		for (int64_t p = 0; p == 0 || p < g->k; p += kc) {
			int64_t k = g->k - p < kc ? g->k - p : kc;
			int last = p + k == g->k;
			struct operand a = block_of_a(g, s, ic, m, p, k, j1 - j0);
			struct tile t = {
				.k = k, .lda = a.ld, .ldc = g->ccs == 1 ? g->crs : NR,
				.ldbias = g->biascs == 1 ? g->biasrs : NR,
				.add = p > 0 || g->accumulate, .relu = last && g->relu,
			};
			int64_t step = a.form == ROWS ? a.ld : a.at == s->a ? k : 1; // between rows of tiles, per row
			for (int64_t j = j0; j < j1; j += NR) {
				t.n = j1 - j < NR ? j1 - j : NR;
				struct operand b = panel_of_b(g, s, p, k, j, t.n, m);
				t.b = b.at, t.ldb = b.ld;
				const float *ahead = b.at == s->panel && j + NR < j1 ? g->b + p * g->brs + (j + NR) * g->bcs : NULL;
				for (int64_t i = 0; i < m; i += MR) {
					t.ahead = b.at, t.ldahead = 0;
					if (ahead && g->bcs == 1 && i < k) t.ahead = ahead + i * g->brs, t.ldahead = g->brs;
					if (ahead && g->brs == 1 && i < NR * MR) t.ahead = ahead + i / MR * g->bcs, t.ldahead = NR;
					t.a = a.at + i * step;
					t.bias = last ? g->bias : NULL;
					run_tile(&t, g, s, a.form, ic + i, m - i < MR ? m - i : MR, j);
				}
			}
		}
	}
}
