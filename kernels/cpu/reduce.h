// reduce.h: sums and maxima. Sums go through blocks that are added up in float
// and come together in double, so that the error does not grow with the length.

enum { SUM_BLOCK = 16 * VL }; // elements added in float, 16 to a lane

// rotated returns x with its lanes moved down by by, round the end.
FN vf rotated(vf x, const int by) {
	vi lanes;
	UNROLLED for (int i = 0; i < VL; i++) lanes[i] = (i + by) % VL;
	return __builtin_shuffle(x, lanes);
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

// sum_columns adds 16 rows at a time in float.
BODY void sum_columns(float *out, const float *x, int64_t ld, int64_t rows, int64_t n, double alpha, int accumulate) {
	for (int64_t j = 0; j < n; j += VL) {
		int64_t width = n - j < VL ? n - j : VL;
		double total[VL] = {0};
		for (int64_t r = 0; r < rows;) {
			vf s = {0};
			int64_t end = rows - r < 16 ? rows : r + 16;
			if (width == VL) for (; r < end; r++) s += load(x + r * ld + j);
			else for (; r < end; r++) s += load_first(x + r * ld + j, width);
			UNROLLED for (int i = 0; i < VL; i++) total[i] += s[i];
		}
		for (int64_t i = 0; i < width; i++) out[j + i] = (float)(alpha * total[i] + (accumulate ? out[j + i] : 0));
	}
}

// larger_or_nan keeps a NaN on either side: greater(a, b) is b where one is.
FN vf larger_or_nan(vf a, vf b) { return choose(a != a, a, greater(a, b)); }

// largest_lane returns the largest lane of m in all lanes.
FN vf largest_lane(vf m) {
	UNROLLED for (int by = VL / 2; by > 0; by /= 2) m = larger_or_nan(m, rotated(m, by));
	return m;
}

BODY float max_run(const float *x, int64_t n) {
	vf m = all(x[0]);
	int64_t i = 0;
	if (n >= 8 * VL) { // four chains, which do not wait for each other
		vf m1 = m, m2 = m, m3 = m;
		for (; i + 4 * VL <= n; i += 4 * VL) {
			m = larger_or_nan(m, load(x + i));
			m1 = larger_or_nan(m1, load(x + i + VL));
			m2 = larger_or_nan(m2, load(x + i + 2 * VL));
			m3 = larger_or_nan(m3, load(x + i + 3 * VL));
		}
		m = larger_or_nan(larger_or_nan(m, m1), larger_or_nan(m2, m3));
	}
	for (; i + VL <= n; i += VL) m = larger_or_nan(m, load(x + i));
	if (i < n) m = larger_or_nan(m, choose(first_mask(n - i), load_first(x + i, n - i), m));
	return largest_lane(m)[0];
}
