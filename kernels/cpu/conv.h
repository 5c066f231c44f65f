// conv.h: convolutions as products, on the tiles of gemm_tile.h.
//
// A [m,k] holds the weights, B [k,n] what they meet: row (channel, tap), column
// a pixel of the result. B is never made: its panels are packed straight from
// the image, pixels outside of it as 0, and take the place of panel_of_b. The
// columns are those of all images in one sequence, so that small planes fill
// tiles too; a tile that crosses a plane or a row is stored by way of a copy.

// spot is a stretch of columns that the result has side by side, dst_step apart.
struct spot { int64_t at, n, offset; };

static int64_t spots_of(struct spot *s, const struct conv *v, const struct run *r, int64_t runs) {
	int64_t count = 0;
	for (int64_t q = 0; q < runs; q++, r++) {
		int64_t offset = r->image * v->dst_image + r->i * v->dst_row + r->j * v->dst_step;
		struct spot *last = s + count - 1;
		if (count && last->offset + last->n * v->dst_step == offset) last->n += r->n;
		else s[count++] = (struct spot){r->at, r->n, offset};
	}
	return count;
}

// move_spots copies rows of C between the result and a dense copy of NR columns.
FN void move_spots(float *c, int64_t ldc, int64_t step, const struct spot *s, int64_t spots, float *copy, int64_t rows, int out) {
	for (; spots > 0; spots--, s++)
		for (int64_t i = 0; i < rows; i++) {
			float *at = c + i * ldc + s->offset, *in = copy + i * NR + s->at;
			if (step != 1) {
				for (int64_t q = 0; q < s->n; q++) {
					if (out) at[q * step] = in[q];
					else in[q] = at[q * step];
				}
				continue;
			}
			for (int64_t q = 0; q < s->n; q += VL) {
				int64_t n = below(s->n - q, VL);
				if (out) store_first(at + q, load_first(in + q, n), n);
				else store_first(in + q, load_first(at + q, n), n);
			}
		}
}

static int64_t even_blocks(int64_t k) {
	int64_t blocks = (k + KC - 1) / KC;
	return blocks ? ((k + blocks - 1) / blocks + 3) / 4 * 4 : 1;
}

// conv_block is isa.conv.
BODY void conv_block(const struct conv *v, int64_t j0, int64_t j1, float *memory) {
	struct scratch *s = (struct scratch *)memory;
	const struct gemm *g = &v->g;
	int64_t kc = even_blocks(g->k);
	struct run runs[NR];
	struct spot spots[NR];
	for (int64_t ic = 0; ic < g->m; ic += MC) {
		int64_t m = below(g->m - ic, MC);
		for (int64_t p = 0; p == 0 || p < g->k; p += kc) {
			int64_t k = below(g->k - p, kc);
			struct operand a = block_of_a(g, s, ic, m, p, k, j1 - j0);
			struct tile t = {.k = k, .lda = a.ld, .ldbias = NR, .add = p > 0, .ahead = s->panel, .b = s->panel};
			int64_t step = a.form == ROWS ? a.ld : a.at == s->a ? k : 1;
			for (int64_t j = j0; j < j1; j += NR) {
				t.n = below(j1 - j, NR);
				int64_t width = (t.n + VL - 1) / VL * VL, n = runs_of(runs, v, j, t.n);
				patches(s->panel, width, v, p, k, runs, n, t.n);
				t.ldb = width;
				n = spots_of(spots, v, runs, n);
				int direct = n == 1 && v->dst_step == 1;
				for (int64_t i = 0; i < m; i += MR) {
					int64_t rows = below(m - i, MR);
					float *c = v->dst + (ic + i) * v->dst_channel;
					t.a = a.at + i * step;
					t.bias = NULL;
					if (g->bias && p + k == g->k) {
						for (int64_t r = 0; r < rows; r++)
							UNROLLED for (int q = 0; q < NV; q++) store(s->bias + r * NR + q * VL, all(g->bias[(ic + i + r) * g->biasrs]));
						t.bias = s->bias;
					}
					t.c = direct ? c + spots[0].offset : s->c;
					t.ldc = direct ? v->dst_channel : NR;
					if (!direct && t.add) move_spots(c, v->dst_channel, v->dst_step, spots, n, s->c, rows, 0);
					tiles[rows - 1][a.form][(t.n + VL - 1) / VL - 1](&t);
					if (!direct) move_spots(c, v->dst_channel, v->dst_step, spots, n, s->c, rows, 1);
				}
			}
		}
	}
}

// conv_weight is isa.conv_weight: rows [i0,i1) of patches x dy', which is the
// weight's gradient transposed. The pixels of an image are summed up in blocks,
// images in order. Sums go to sums [rows,m], and from there to dw.
BODY void conv_weight(const struct conv *v, int64_t i0, int64_t i1, float *sums, float *dw, float *memory) {
	struct scratch *s = (struct scratch *)memory;
	int64_t plane = v->gh * v->gw, kc = even_blocks(plane), outputs = v->g.m;
	struct run runs[KC];
	for (int64_t ic = i0; ic < i1; ic += MC) {
		int64_t m = below(i1 - ic, MC);
		struct tile t = {.b = s->panel, .ahead = s->panel, .lda = PITCH, .ldc = outputs};
		for (int64_t image = 0; image < v->images; image++)
			for (int64_t p = 0; p < plane; p += kc, t.add = 1) {
				int64_t k = t.k = below(plane - p, kc);
				patches(s->a, PITCH, v, ic, m, runs, runs_of(runs, v, image * plane + p, k), k);
				for (int64_t j = 0; j < outputs; j += NR) {
					t.n = below(outputs - j, NR);
					int64_t width = t.ldb = (t.n + VL - 1) / VL * VL;
					if (t.n < width) memset(s->panel, 0, 4 * k * width);
					transpose(s->panel, width, v->dst + image * v->dst_image + j * v->dst_channel + p, v->dst_channel, t.n, k);
					for (int64_t i = 0; i < m; i += MR) {
						t.a = s->a + i * PITCH;
						t.c = sums + (ic + i) * outputs + j;
						tiles[below(m - i, MR) - 1][ROWS][width / VL - 1](&t);
					}
				}
			}
	}
	transpose(dw + i0, v->g.k, sums + i0 * outputs, outputs, i1 - i0, outputs);
}
