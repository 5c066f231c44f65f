// reduce.h: what a run of floats adds up to or multiplies to, and its ends. Sums
// go through blocks that are added up in float and come together in double, so
// that the error does not grow with the length; products, squares and sizes, which
// might overflow a float, are doubles from the start.

enum { SUM_BLOCK = 16 * VL }; // elements added in float, 16 to a lane

// rotated returns x with its lanes moved down by by, round the end.
FN vf rotated(vf x, const int by) {
#define MOVED(i) ((i + by) % VL)
	return __builtin_shuffle(x, EACH_LANE(MOVED));
#undef MOVED
}

// sum_of_lanes returns the sum of the lanes of x in all lanes.
FN vf sum_of_lanes(vf x) {
	UNROLLED for (int by = VL / 2; by > 0; by /= 2) x += rotated(x, by);
	return x;
}

FN float add_lanes(vf x) { return sum_of_lanes(x)[0]; }

BODY double sum_run(const float *x, int64_t n) {
	double total = 0;
	for (; n >= SUM_BLOCK; n -= SUM_BLOCK, x += SUM_BLOCK) {
		vf a = load(x), b = load(x + VL), c = load(x + 2 * VL), d = load(x + 3 * VL);
		UNROLLED for (int i = 4; i < 16; i += 4) {
			a += load(x + i * VL);
			b += load(x + (i + 1) * VL);
			c += load(x + (i + 2) * VL);
			d += load(x + (i + 3) * VL);
		}
		total += add_lanes((a + b) + (c + d));
	}
	vf rest = {0};
	for (; n >= VL; n -= VL, x += VL) rest += load(x);
	if (n > 0) rest += load_first(x, n);
	return total + add_lanes(rest);
}

// further returns the larger of a and b, or with least the smaller; a NaN on
// either side stays: greater and lesser return b where one is.
FN vf further(const int least, vf a, vf b) { return choose(a != a, a, least ? lesser(a, b) : greater(a, b)); }

// furthest_lane returns the largest lane of m, or the smallest, in all lanes.
FN vf furthest_lane(const int least, vf m) {
	UNROLLED for (int by = VL / 2; by > 0; by /= 2) m = further(least, m, rotated(m, by));
	return m;
}

FN vf largest_lane(vf m) { return furthest_lane(0, m); }

FN float extreme_run(const int least, const float *x, int64_t n) {
	vf m = all(x[0]);
	int64_t i = 0;
	if (n >= 8 * VL) { // four chains, which do not wait for each other
		vf m1 = m, m2 = m, m3 = m;
		for (; i + 4 * VL <= n; i += 4 * VL) {
			m = further(least, m, load(x + i));
			m1 = further(least, m1, load(x + i + VL));
			m2 = further(least, m2, load(x + i + 2 * VL));
			m3 = further(least, m3, load(x + i + 3 * VL));
		}
		m = further(least, further(least, m, m1), further(least, m2, m3));
	}
	for (; i + VL <= n; i += VL) m = further(least, m, load(x + i));
	if (i < n) m = further(least, m, choose(first_mask(n - i), load_first(x + i, n - i), m));
	return furthest_lane(least, m)[0];
}

BODY float max_run(const float *x, int64_t n) { return extreme_run(0, x, n); }
BODY float min_run(const float *x, int64_t n) { return extreme_run(1, x, n); }

// wide_term is what x is to a total in doubles.
FN struct wide wide_term(const int step, vf x, struct wide beside) {
	if (step == COUNTING) return widen(choose(x == (vf){0}, (vf){0}, all(1.f)));
	struct wide t = widen(step == SIZING ? size(x) : x);
	if (step != SQUARING) return t;
	UNROLLED for (int h = 0; h < 2; h++) {
		vd d = t.half[h] - beside.half[h];
		t.half[h] = d * d;
	}
	return t;
}

FN struct wide wide_join(const int step, struct wide a, struct wide b) {
	UNROLLED for (int h = 0; h < 2; h++) a.half[h] = step == MULTIPLYING ? a.half[h] * b.half[h] : a.half[h] + b.half[h];
	return a;
}

FN struct wide wide_of(double x) { return (struct wide){{all_wide(x), all_wide(x)}}; }

// wide_run folds n elements in two chains of two vectors of doubles.
FN double wide_run(const int step, const float *x, int64_t n, double beside) {
	const double nothing = step == MULTIPLYING ? 1 : 0;
	struct wide by = wide_of(beside), s = wide_of(nothing), s1 = s;
	int64_t i = 0;
	for (; i + 2 * VL <= n; i += 2 * VL) {
		s = wide_join(step, s, wide_term(step, load(x + i), by));
		s1 = wide_join(step, s1, wide_term(step, load(x + i + VL), by));
	}
	if (i + VL <= n) {
		s = wide_join(step, s, wide_term(step, load(x + i), by));
		i += VL;
	}
	s = wide_join(step, s, s1);
	double lanes[VL], rest[VL];
	memcpy(lanes, &s, sizeof lanes);
	if (i < n) {
		struct wide last = wide_term(step, load_first(x + i, n - i), by);
		memcpy(rest, &last, sizeof rest);
		for (int64_t k = 0; k < n - i; k++) lanes[k] = step == MULTIPLYING ? lanes[k] * rest[k] : lanes[k] + rest[k];
	}
	for (int by = VL / 2; by > 0; by /= 2)
		for (int k = 0; k < by; k++) lanes[k] = step == MULTIPLYING ? lanes[k] * lanes[k + by] : lanes[k] + lanes[k + by];
	return lanes[0];
}
