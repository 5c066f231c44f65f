// conv_depthwise_weight.h: the gradient of the weights of groups that have one
// channel each, on the bands of conv_depthwise.h.

enum { LANES_OF_TAPS = 4 };

// add_to_lanes adds the lanes of x, each to a sum of its own.
FN void add_to_lanes(double *sums, vf x) {
	float lanes[VL];
	store(lanes, x);
	for (int e = 0; e < VL; e++) sums[e] += (double)lanes[e];
}

// weigh_square adds what rows [i0,i1) of dy give to the nine sums of a square. A
// line meets three rows of dy, which move on with it.
FN void weigh_square(double *sums, const struct conv *v, const float *dy, const float *lines, int64_t ld, const int64_t *at, int64_t rows) {
	vf sum[SIDE3][SIDE3] = {{{0}}};
	const int64_t *first = at + first_line(v) * SIDE3;
	for (int64_t j = 0; j < v->gw; j += VL) {
		// What lies beyond the row may be infinite.
		lanes in = lanes_between(0, below(v->gw - j, VL));
		vf d[SIDE3] = {{0}};
		const float *x = lines + j;
		for (int64_t i = 0; i < rows + SIDE3 - 1; i++, x += ld) {
			UNROLLED for (int k = SIDE3 - 1; k > 0; k--) d[k] = d[k - 1];
			d[0] = i < rows ? load_lanes(dy + i * v->dst_row + j, in) : (vf){0};
			UNROLLED for (int l = 0; l < SIDE3; l++) {
				vf y = load_lanes(x + first[l], in);
				UNROLLED for (int k = 0; k < SIDE3; k++) sum[k][l] += d[k] * y;
			}
		}
	}
	UNROLLED for (int k = 0; k < SIDE3; k++)
		UNROLLED for (int l = 0; l < SIDE3; l++) add_to_lanes(sums + ((v->ddh < 0 ? SIDE3 - 1 - k : k) * SIDE3 + l) * VL, sum[k][l]);
}

FN void weigh_taps(double *sums, const struct conv *v, const float *dy, const float *lines, int64_t ld, const int64_t *at, int64_t rows) {
	int64_t taps = v->nkh * v->nkw;
	for (int64_t t = 0; t < taps; t += LANES_OF_TAPS) {
		vf sum[LANES_OF_TAPS] = {{0}};
		for (int64_t i = 0; i < rows; i++) {
			const float *x[LANES_OF_TAPS];
			UNROLLED for (int q = 0; q < LANES_OF_TAPS; q++) x[q] = lines + i * ld + at[below(t + q, taps - 1)];
			for (int64_t j = 0; j < v->gw; j += VL) {
				lanes in = lanes_between(0, below(v->gw - j, VL));
				vf d = load_lanes(dy + i * v->dst_row + j, in);
				UNROLLED for (int q = 0; q < LANES_OF_TAPS; q++) sum[q] += d * load_lanes(x[q] + j, in);
			}
		}
		UNROLLED for (int q = 0; q < LANES_OF_TAPS; q++)
			if (t + q < taps) add_to_lanes(sums + (t + q) * VL, sum[q]);
	}
}

// depthwise_weight is isa.depthwise_weight: the gradient of the weights of groups
// [c0,c1). Within a band the sums are vectors of float, those of bands of float64.
BODY void depthwise_weight(const struct conv *v, int64_t c0, int64_t c1, float *dw, float *memory) {
	int64_t *at = (int64_t *)memory, taps = v->nkh * v->nkw, most = tarn_rows_in_band(v);
	double *sums = (double *)(at + taps);
	find_taps(at, v);
	memory += 2 * taps * (1 + VL);
	for (int64_t c = c0; c < c1; c++) {
		memset(sums, 0, 8 * taps * VL);
		for (int64_t n = 0; n < v->images; n++)
			for (int64_t i0 = 0; i0 < v->gh; i0 += most) {
				int64_t i1 = below(i0 + most, v->gh);
				struct band b = make_band(v, v->src + n * v->src_image + c * v->src_group, i0, i1, memory);
				const float *dy = v->dst + n * v->dst_image + c * v->dst_group + i0 * v->dst_row;
				int64_t ld = v->sh * v->sw * b.length;
				if (is_square(v)) weigh_square(sums, v, dy, b.lines, ld, at, i1 - i0);
				else weigh_taps(sums, v, dy, b.lines, ld, at, i1 - i0);
			}
		for (int64_t t = 0; t < taps; t++) {
			double sum = 0;
			for (int e = 0; e < VL; e++) sum += sums[t * VL + e];
			dw[c * taps + t] = (float)sum;
		}
	}
}
