// conv_pack.h: the panels of B of a convolution, packed straight from the image.
//
// A row of B is a channel and a tap. Where a tap's pixels lie is the same in all
// channels, so it is worked out once, as masked loads; a vector whose columns
// are in several rows of the image or in several images is the union of some.

// run is columns whose pixels lie in one row of the grid.
struct run { int64_t at, n, image, i, j; };

static int64_t below(int64_t a, int64_t b) { return a < b ? a : b; }

// runs_of cuts the columns from j to j+n into runs.
static int64_t runs_of(struct run *r, const struct conv *v, int64_t j, int64_t n) {
	int64_t plane = v->gh * v->gw, image = j / plane, i = j % plane / v->gw, count = 0;
	j %= v->gw;
	for (int64_t at = 0; at < n;) {
		int64_t len = below(v->gw - j, n - at);
		r[count++] = (struct run){at, len, image, i, j};
		at += len, j = 0;
		if (++i == v->gh) i = 0, image++;
	}
	return count;
}

// lanes says which lanes of a vector to load; the others are 0 and not touched.
#if VB == 64
typedef __mmask16 lanes;
FN lanes lanes_between(int64_t lo, int64_t hi) { return first(hi) & ~first(lo); }
FN vf load_lanes(const float *p, lanes which) { return (vf)_mm512_maskz_loadu_ps(which, p); }
#else
typedef vi lanes;
FN lanes lanes_between(int64_t lo, int64_t hi) { return first_mask(hi) & ~first_mask(lo); }
FN vf load_lanes(const float *p, lanes which) {
#if VB == 32
	return (vf)_mm256_maskload_ps(p, (__m256i)which);
#else
	if (!any(~which)) return load(p);
	vf x = {0};
	for (int i = 0; i < VL; i++)
		if (which[i]) x[i] = p[i];
	return x;
#endif
}
#endif

static int64_t up_to_vector(int64_t n) { return n < 0 ? 0 : below(n, VL); }

// load_between loads the lanes lo to hi, as far as there are such.
FN vf load_between(const float *p, int64_t lo, int64_t hi) {
	if (lo <= 0 && hi >= VL) return load(p);
	lo = up_to_vector(lo), hi = up_to_vector(hi);
	return lo < hi ? load_lanes(p, lanes_between(lo, hi)) : (vf){0};
}

#if VB == 64
#define EVENS (vi){0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30}
#elif VB == 32
#define EVENS (vi){0, 2, 4, 6, 8, 10, 12, 14}
#else
#define EVENS (vi){0, 2, 4, 6}
#endif

// copy_line copies to n floats those of a line of w floats from index from on,
// step apart; what lies outside of the line is 0.
FN void copy_line(float *to, const float *line, int64_t from, int64_t step, int64_t w, int64_t n) {
	if (step <= 2) {
		for (int64_t q = 0; q < n; q += VL, from += VL * step) {
			vf x = load_between(line + from, -from, w - from);
			if (step == 2) {
				vf y = load_between(line + from + VL, -from - VL, w - from - VL);
				x = __builtin_shuffle(x, y, EVENS);
			}
			if (n - q >= VL) store(to + q, x);
			else store_first(to + q, x, n - q);
		}
		return;
	}
	for (int64_t q = 0; q < n; q++, from += step) to[q] = from >= 0 && from < w ? line[from] : 0;
}

// meeting is where a run meets a vector of a row of B, lanes lo to hi: by the tap
// at 0, 0 lane 0 would be column of row of the image.
struct meeting { int64_t lo, hi, image, row, column; };

// stretch is what of a meeting lies inside the image by some tap: lanes of the
// vector whose lane 0 is at offset, columns one or two apart.
struct stretch { int64_t offset; lanes low, high; };

// stretches are those of some taps, vector by vector, as many for each tap: to
// end[q] go those up to vector q.
enum { MOST_MEETINGS = KC + KC / VL, MOST_STRETCHES = 2 * KC };
struct stretches {
	struct stretch of[MOST_STRETCHES];
	struct meeting met[MOST_MEETINGS];
	int64_t end[KC / VL], meetings;
};

static void find_meetings(struct stretches *s, const struct conv *v, const struct run *r, int64_t runs) {
	s->meetings = 0;
	for (int64_t q = 0; q < runs; q++, r++)
		for (int64_t at = r->at; at < r->at + r->n;) {
			int64_t vector = at / VL, first = vector * VL, stop = below(r->at + r->n, first + VL);
			s->met[s->meetings++] = (struct meeting){at - first, stop - first, r->image * v->src_image, r->i * v->sh, (r->j + first - r->at) * v->sw};
			s->end[vector] = s->meetings;
			at = stop;
		}
}

// add_stretches makes those of a tap.
FN void add_stretches(struct stretch *to, const struct stretches *s, const struct conv *v, int64_t tap, const int step) {
	int64_t dh = v->dh0 + tap / v->nkw * v->ddh, dw = v->dw0 + tap % v->nkw * v->ddw;
	for (int64_t q = 0; q < s->meetings; q++, to++) {
		const struct meeting *m = s->met + q;
		int64_t row = m->row + dh, from = m->column + dw, lo = m->lo, hi = m->hi;
		if (row < 0 || row >= v->h) row = row < 0 ? 0 : v->h - 1, hi = lo;
		if (from + lo * step < 0) lo = (-from + step - 1) / step;
		if (from + (hi - 1) * step >= v->w) hi = from < v->w ? (v->w - from + step - 1) / step : 0;
		if (hi < lo) lo = hi = m->lo;
		to->offset = m->image + row * v->src_row + from;
		int64_t high = hi > lo ? (hi - 1) * step + 1 : lo * step;
		to->low = lanes_between(up_to_vector(lo * step), up_to_vector(high));
		if (step == 2) to->high = lanes_between(up_to_vector(lo * step - VL), up_to_vector(high - VL));
	}
}

FN vf load_stretch(const float *channel, const struct stretch *p, const int step) {
	vf x = load_lanes(channel + p->offset, p->low);
	if (step == 1) return x;
	return __builtin_shuffle(x, load_lanes(channel + p->offset + VL, p->high), EVENS);
}

// fetch is what to fetch of the channels behind one, lines of 64 bytes from offset on:
// what the run at r meets and none above it has met. Channels are pages apart,
// where no hardware follows.
struct fetch { int64_t offset, lines; };

FN struct fetch fetch_ahead(const struct conv *v, const struct run *r, int64_t vectors) {
	int64_t taps = v->nkh * v->nkw, row = r->i * v->sh + v->dh0 + (v->ddh > 0 ? (v->nkh - 1) * v->ddh : 0);
	int64_t channels = 1 + 3 / taps; // some 4 rows of B
	return (struct fetch){
		channels * v->src_channel + r->image * v->src_image + row * v->src_row + r->j * v->sw + v->dw0,
		(vectors * VL * v->sw + v->nkw + 14) / 16,
	};
}

// patches_by is patches for columns of the image step apart, 1 or 2. Where the
// pixels of a tap lie is found once for all channels.
FN void patches_by(float *to, int64_t ld, const struct conv *v, int64_t p, int64_t k, const struct run *r, int64_t runs, int64_t vectors, const int step) {
	struct stretches s;
	struct fetch f = fetch_ahead(v, r, vectors);
	find_meetings(&s, v, r, runs);
	int64_t taps = v->nkh * v->nkw, last;
	for (int64_t tap = 0; tap < taps; tap = last) {
		last = below(taps, tap + MOST_STRETCHES / s.meetings);
		for (int64_t t = tap; t < last; t++) add_stretches(s.of + (t - tap) * s.meetings, &s, v, t, step);
		for (int64_t c = p / taps; c * taps < p + k; c++) {
			int64_t lo = p > c * taps + tap ? p - c * taps : tap, hi = below(last, p + k - c * taps);
			if (lo >= hi) continue;
			const struct stretch *at = s.of + (lo - tap) * s.meetings;
			const float *channel = v->src + c * v->src_channel;
			float *out = to + (c * taps + lo - p) * ld;
			// As rounds of the loop these two would cost 1x1 kernels a quarter.
			__builtin_prefetch(channel + f.offset);
			__builtin_prefetch(channel + f.offset + 16);
			for (int64_t q = 2; q < f.lines; q++) __builtin_prefetch(channel + f.offset + q * 16);
			for (; lo < hi; lo++, out += ld, at += s.meetings)
				for (int64_t q = 0, m = 0; q < vectors; q++) {
					vf x = load_stretch(channel, at + m++, step);
					for (; m < s.end[q]; m++) x = (vf)((vi)x | (vi)load_stretch(channel, at + m, step));
					store(out + q * VL, x);
				}
		}
	}
}

// patches makes k rows of B from row p on, ld apart, of n columns and zeros up to
// whole vectors.
BODY void patches(float *to, int64_t ld, const struct conv *v, int64_t p, int64_t k, const struct run *r, int64_t runs, int64_t n) {
	int64_t taps = v->nkh * v->nkw, vectors = (n + VL - 1) / VL;
	if (k == 0) return;
	if (v->sw == 1) {
		patches_by(to, ld, v, p, k, r, runs, vectors, 1);
		return;
	}
	if (v->sw == 2) {
		patches_by(to, ld, v, p, k, r, runs, vectors, 2);
		return;
	}
	for (int64_t row = p; row < p + k; row++, to += ld) {
		const float *channel = v->src + row / taps * v->src_channel;
		int64_t dh = v->dh0 + row % taps / v->nkw * v->ddh, dw = v->dw0 + row % v->nkw * v->ddw;
		for (int64_t q = 0; q < runs; q++) {
			int64_t i = r[q].i * v->sh + dh, inside = i >= 0 && i < v->h ? v->w : 0;
			copy_line(to + r[q].at, channel + r[q].image * v->src_image + i * v->src_row, r[q].j * v->sw + dw, v->sw, inside, r[q].n);
		}
		for (int64_t q = n; q < vectors * VL; q++) to[q] = 0;
	}
}

