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

// line_lanes returns the lanes of a vector, step columns of a line of w apart, that
// lie in the line, where lane 0 is column from.
FN struct stretch line_lanes(int64_t from, int64_t w, const int step) {
	struct stretch s = {from, lanes_between(up_to_vector(-from), up_to_vector(w - from))};
	if (step == 2) s.high = lanes_between(up_to_vector(-from - VL), up_to_vector(w - from - VL));
	return s;
}

enum { COPIED = 8 }; // vectors of a line that are copied for all rows, by the same masks

// copy_lines fills the lines of b from column from on, ld apart, vectors of each.
FN void copy_lines(float *to, int64_t ld, const struct band *b, const struct conv *v, const float *plane, int64_t from, int64_t vectors, const int step) {
	struct stretch s[COPIED];
	for (int64_t j = 0; j < vectors; j += COPIED) {
		int64_t n = below(vectors - j, COPIED);
		for (int64_t q = 0; q < n; q++) s[q] = line_lanes(from + (j + q) * VL * step, v->w, step);
		float *out = to + j * VL;
		for (int64_t r = b->first; r < b->first + b->n; r++, out += ld) {
			const float *line = plane + r * v->src_row;
			if (r < 0 || r >= v->h) memset(out, 0, 4 * n * VL);
			else for (int64_t q = 0; q < n; q++) store(out + q * VL, load_stretch(line, s + q, step));
		}
	}
}

FN struct band make_band(const struct conv *v, const float *plane, int64_t i0, int64_t i1, float *memory) {
	int64_t reach = (v->nkh - 1) * v->ddh, lowest = v->dw0 + (v->ddw < 0 ? (v->nkw - 1) * v->ddw : 0);
	struct band b = {memory, lowest, tarn_line_length(v), i0 * v->sh + v->dh0 + (reach < 0 ? reach : 0), 0};
	b.n = (i1 - 1 - i0) * v->sh + tarn_absolute(reach) + 1;
	int64_t ld = v->sw * b.length, vectors = (v->gw + (v->nkw - 1) * tarn_absolute(v->ddw) / v->sw + VL) / VL;
	for (int64_t q = 0; q < v->sw; q++) {
		float *to = memory + q * b.length;
		if (v->sw == 1) copy_lines(to, ld, &b, v, plane, lowest, vectors, 1);
		else if (v->sw == 2) copy_lines(to, ld, &b, v, plane, lowest + q, vectors, 2);
		else for (int64_t r = b.first; r < b.first + b.n; r++, to += ld) {
			int inside = r >= 0 && r < v->h;
			copy_line(to, inside ? plane + r * v->src_row : plane, lowest + q, v->sw, inside ? v->w : 0, b.length);
		}
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

// square is a kernel of 3 x 3 whose rows meet neighbouring lines: what a line is
// loaded for are three rows of the result.
struct square {
	int64_t at[3]; // of the columns
	vf w[3][3];    // by line
};

enum { SIDE3 = 3, AT_ONCE = 4 }; // rows of the result

static int is_square(const struct conv *v) {
	return v->nkh == SIDE3 && v->nkw == SIDE3 && v->sh == 1 && tarn_absolute(v->ddh) == 1;
}

// first_line returns the row of the kernel that meets the first line.
static int64_t first_line(const struct conv *v) { return v->ddh < 0 ? SIDE3 - 1 : 0; }

FN struct square square_of(const struct conv *v, const float *w, const int64_t *at) {
	struct square s;
	UNROLLED for (int l = 0; l < SIDE3; l++) s.at[l] = at[first_line(v) * SIDE3 + l];
	UNROLLED for (int k = 0; k < SIDE3; k++)
		UNROLLED for (int l = 0; l < SIDE3; l++) s.w[k][l] = all(w[(v->ddh < 0 ? SIDE3 - 1 - k : k) * SIDE3 + l]);
	return s;
}

FN void add_square(vf sum[AT_ONCE][NV], const float *x, int64_t ld, const struct square *s, const int nv) {
	UNROLLED for (int i = 0; i < AT_ONCE + SIDE3 - 1; i++)
		UNROLLED for (int l = 0; l < SIDE3; l++)
			UNROLLED for (int q = 0; q < nv; q++) {
				vf y = load(x + i * ld + s->at[l] + q * VL);
				UNROLLED for (int k = 0; k < SIDE3; k++)
					if (i >= k && i - k < AT_ONCE) sum[i - k][q] += s->w[k][l] * y;
			}
}

FN void add_taps(vf sum[AT_ONCE][NV], const float *x, int64_t ld, const int64_t *at, const float *w, int64_t taps, const int rows, const int nv) {
	for (int64_t t = 0; t < taps; t++) {
		vf by = all(w[t]);
		UNROLLED for (int r = 0; r < rows; r++)
			UNROLLED for (int q = 0; q < nv; q++) sum[r][q] += by * load(x + r * ld + at[t] + q * VL);
	}
}

// depthwise_tile makes rows rows and up to nv vectors of columns at dst. It takes
// square where it is not NULL.
FN void depthwise_tile(const struct conv *v, float *dst, const float *x, int64_t ld, const int64_t *at, const float *w, const struct square *square, vf bias, int64_t columns, const int rows, const int nv) {
	vf sum[AT_ONCE][NV];
	UNROLLED for (int r = 0; r < rows; r++)
		UNROLLED for (int q = 0; q < nv; q++) sum[r][q] = bias;
	if (rows == AT_ONCE && square) add_square(sum, x, ld, square, nv);
	else add_taps(sum, x, ld, at, w, v->nkh * v->nkw, rows, nv);
	UNROLLED for (int r = 0; r < rows; r++)
		UNROLLED for (int q = 0; q < nv; q++) {
			float *to = dst + r * v->dst_row + q * VL * v->dst_step;
			int64_t left = below(columns - q * VL, VL);
			if (v->dst_step == 1) {
				if (left > 0) store_up_to(to, sum[r][q], left);
			} else {
				for (int64_t e = 0; e < left; e++) to[e * v->dst_step] = sum[r][q][e];
			}
		}
}

// depthwise is isa.depthwise: planes [u0,u1) of the result, image by image.
BODY void depthwise(const struct conv *v, int64_t u0, int64_t u1, float *memory) {
	int64_t *at = (int64_t *)memory, taps = v->nkh * v->nkw, most = tarn_rows_in_band(v);
	find_taps(at, v);
	memory += 2 * taps;
	struct square square;
	for (int64_t u = u0; u < u1; u++) {
		int64_t n = u / v->groups, c = u % v->groups;
		const float *plane = v->src + n * v->src_image + c * v->src_group, *w = v->g.a + c * v->a_group;
		float *dst = v->dst + n * v->dst_image + c * v->dst_group;
		vf bias = all(v->g.bias ? v->g.bias[c * v->g.biasrs] : 0);
		if (is_square(v)) square = square_of(v, w, at);
		for (int64_t i0 = 0; i0 < v->gh; i0 += most) {
			int64_t i1 = below(i0 + most, v->gh);
			struct band b = make_band(v, plane, i0, i1, memory);
			int64_t ld = v->sh * v->sw * b.length;
			for (int64_t i = i0; i < i1;) {
				int whole = i1 - i >= AT_ONCE;
				for (int64_t j = 0; j < v->gw; j += NR) {
					const float *x = line_of(&b, v, i, i0) + j;
					float *to = dst + i * v->dst_row + j * v->dst_step;
					int64_t left = v->gw - j;
#define TILE(square, rows, nv) depthwise_tile(v, to, x, ld, at, w, square, bias, left, rows, nv)
					if (!whole) TILE(NULL, 1, NV);
					else if (left > VL && is_square(v)) TILE(&square, AT_ONCE, NV);
					else if (left > VL) TILE(NULL, AT_ONCE, NV);
					else if (is_square(v)) TILE(&square, AT_ONCE, 1);
					else TILE(NULL, AT_ONCE, 1);
#undef TILE
				}
				i += whole ? AT_ONCE : 1;
			}
		}
	}
}
