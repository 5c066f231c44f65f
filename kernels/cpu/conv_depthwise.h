// conv_depthwise.h: convolutions whose groups have one channel each.
//
// The rows of a plane that some rows of the result need are first copied, with
// the zeros of the padding, and every sw-th pixel side by side, so that each tap
// reads whole vectors wherever the window lies.

// band is that copy: for a row of the plane, for each remainder, a line.
struct band {
	float *lines;
	int64_t lowest;    // column of the plane that index 0 of remainder 0 is
	int64_t length;    // of a line
	int64_t first, n;  // rows
};

FN struct band make_band(const struct conv *v, const float *plane, int64_t i0, int64_t i1, float *memory) {
	int64_t reach = (v->nkh - 1) * v->ddh, lowest = v->dw0 + (v->ddw < 0 ? (v->nkw - 1) * v->ddw : 0);
	struct band b = {memory, lowest, tarn_line_length(v), i0 * v->sh + v->dh0 + (reach < 0 ? reach : 0), 0};
	b.n = (i1 - 1 - i0) * v->sh + tarn_absolute(reach) + 1;
	float *to = memory;
	for (int64_t r = b.first; r < b.first + b.n; r++)
		for (int64_t q = 0; q < v->sw; q++, to += b.length) {
			if (r < 0 || r >= v->h) memset(to, 0, 4 * b.length);
			else copy_line(to, plane + r * v->src_row, lowest + q, v->sw, v->w, b.length);
		}
	return b;
}

// find_taps sets where each tap finds its pixels, from that of row and tap 0 on.
static void find_taps(int64_t *at, const struct conv *v) {
	int64_t lowest = v->ddw < 0 ? (v->nkw - 1) * v->ddw : 0, top = v->ddh < 0 ? (v->nkh - 1) * v->ddh : 0;
	for (int64_t k = 0; k < v->nkh; k++)
		for (int64_t l = 0; l < v->nkw; l++) {
			int64_t column = l * v->ddw - lowest;
			*at++ = ((k * v->ddh - top) * v->sw + column % v->sw) * tarn_line_length(v) + column / v->sw;
		}
}

// line_of returns row i of the result in b, where tap offsets are counted from.
FN const float *line_of(const struct band *b, const struct conv *v, int64_t i, int64_t i0) { return b->lines + (i - i0) * v->sh * v->sw * b->length; }

// depthwise is isa.depthwise: planes [u0,u1) of the result, image by image.
BODY void depthwise(const struct conv *v, int64_t u0, int64_t u1, float *memory) {
	int64_t *at = (int64_t *)memory, taps = v->nkh * v->nkw, most = tarn_rows_in_band(v);
	find_taps(at, v);
	memory += 2 * taps;
	for (int64_t u = u0; u < u1; u++) {
		int64_t n = u / v->groups, c = u % v->groups;
		const float *plane = v->src + n * v->src_image + c * v->src_group, *w = v->g.a + c * v->a_group;
		float *dst = v->dst + n * v->dst_image + c * v->dst_group;
		vf bias = all(v->g.bias ? v->g.bias[c * v->g.biasrs] : 0);
		for (int64_t i0 = 0; i0 < v->gh; i0 += most) {
			int64_t i1 = below(i0 + most, v->gh);
			struct band b = make_band(v, plane, i0, i1, memory);
			for (int64_t i = i0; i < i1; i++)
				for (int64_t j = 0; j < v->gw; j += NR) {
					const float *x = line_of(&b, v, i, i0) + j;
					vf sum[NV] = {bias, bias};
					for (int64_t t = 0; t < taps; t++)
						UNROLLED for (int q = 0; q < NV; q++) sum[q] = fma_scalar(sum[q], w + t, load(x + at[t] + q * VL));
					UNROLLED for (int q = 0; q < NV; q++) {
						float *to = dst + i * v->dst_row + (j + q * VL) * v->dst_step;
						int64_t left = below(v->gw - j - q * VL, VL);
						if (v->dst_step == 1) {
							if (left > 0) store_first(to, sum[q], left);
						} else {
							for (int64_t e = 0; e < left; e++) to[e * v->dst_step] = sum[q][e];
						}
					}
				}
		}
	}
}

enum { LANES_OF_TAPS = 4 };

// depthwise_weight is isa.depthwise_weight: the gradient of the weights of groups
// [c0,c1); the sums of rows are vectors, those of bands float64.
BODY void depthwise_weight(const struct conv *v, int64_t c0, int64_t c1, float *dw, float *memory) {
	int64_t *at = (int64_t *)memory, taps = v->nkh * v->nkw, most = tarn_rows_in_band(v);
	double *sums = (double *)(at + taps);
	find_taps(at, v);
	memory += 4 * taps;
	for (int64_t c = c0; c < c1; c++) {
		memset(sums, 0, 8 * taps);
		for (int64_t n = 0; n < v->images; n++)
			for (int64_t i0 = 0; i0 < v->gh; i0 += most) {
				int64_t i1 = below(i0 + most, v->gh);
				struct band b = make_band(v, v->src + n * v->src_image + c * v->src_group, i0, i1, memory);
				const float *dy = v->dst + n * v->dst_image + c * v->dst_group;
				for (int64_t t = 0; t < taps; t += LANES_OF_TAPS) {
					vf sum[LANES_OF_TAPS] = {{0}};
					for (int64_t i = i0; i < i1; i++) {
						const float *x[LANES_OF_TAPS];
						UNROLLED for (int q = 0; q < LANES_OF_TAPS; q++) x[q] = line_of(&b, v, i, i0) + at[below(t + q, taps - 1)];
						for (int64_t j = 0; j < v->gw; j += VL) {
							// What lies beyond the row may be infinite.
							int64_t left = below(v->gw - j, VL);
							vf d = left == VL ? load(dy + i * v->dst_row + j) : load_first(dy + i * v->dst_row + j, left);
							UNROLLED for (int q = 0; q < LANES_OF_TAPS; q++) sum[q] += d * (left == VL ? load(x[q] + j) : load_first(x[q] + j, left));
						}
					}
					for (int64_t q = 0; q < LANES_OF_TAPS && t + q < taps; q++)
						for (int e = 0; e < VL; e++) sums[t + q] += (double)sum[q][e];
				}
			}
		for (int64_t t = 0; t < taps; t++) dw[c * taps + t] = (float)sums[t];
	}
}
