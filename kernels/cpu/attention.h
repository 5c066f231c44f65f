// attention.h: attention by blocks of queries and keys, whose scores stay in the
// second-level cache, with the tiles of gemm_tile.h. Weights are relative to the
// largest score so far; what has been added up is scaled down when that grows
// (Milakov and Gimelshein, 2018; Dao and others, 2022).

enum {
	SCORES = KEYS + 16,  // between rows of scores; no power of two, so that rows do not collide
	PANEL = 32,          // widths are padded to it: a multiple of NR for any ISA
};

_Static_assert(PANEL % NR == 0 && KEYS % PANEL == 0, "blocks are whole panels");

FN int64_t padded(int64_t n) { return (n + PANEL - 1) / PANEL * PANEL; }

FN float *head_row(const struct heads *x, int64_t b, int64_t h, int64_t i) {
	return (float *)x->at + b * x->s[0] + h * x->s[1] + i * x->s[2];
}

// multiply_blocks makes c [m, n] (+)= a [m, k] x b [k, n], where n is a multiple
// of VL. b lies in panels of NR columns, panel apart, with rows ldb apart.
FN void multiply_blocks(float *c, int64_t ldc, const float *a, int64_t lda, enum form form, const float *b, int64_t ldb, int64_t panel,
                        int64_t m, int64_t n, int64_t k, int add) {
	struct tile t = {.k = k, .lda = lda, .ldb = ldb, .ldc = ldc, .add = add};
	for (int64_t j = 0; j < n; j += NR, b += panel) {
		t.b = t.ahead = b;
		t.n = n - j < NR ? n - j : NR;
		for (int64_t i = 0; i < m; i += MR) {
			t.a = form == ROWS ? a + i * lda : a + i;
			t.c = c + i * ldc + j;
			tiles[(m - i < MR ? m - i : MR) - 1][form][(t.n + VL - 1) / VL - 1](&t);
		}
	}
}

// copy_head copies rows of x, with any strides, to rows ld apart, padded with 0.
FN void copy_head(float *out, int64_t ld, const float *x, const struct heads *of, int64_t rows, int64_t n) {
	for (int64_t i = 0; i < rows; i++, out += ld, x += of->s[2]) {
		int64_t j = 0;
		if (of->s[3] == 1) memcpy(out, x, 4 * n), j = n;
		for (; j < n; j++) out[j] = x[j * of->s[3]];
		for (; j < ld; j++) out[j] = 0;
	}
}

// turn_head packs rows of x as panels of NR columns: each [n, NR], a column for
// a row of x, 0 beyond the last.
FN void turn_head(float *out, const float *x, const struct heads *of, int64_t rows, int64_t n) {
	for (int64_t r = 0; r < rows; r += NR, out += n * NR, x += NR * of->s[2]) {
		int64_t count = rows - r < NR ? rows - r : NR;
		if (count < NR) memset(out, 0, 4 * n * NR);
		if (of->s[3] == 1) {
			transpose(out, NR, x, of->s[2], count, n);
			continue;
		}
		for (int64_t i = 0; i < count; i++)
			for (int64_t d = 0; d < n; d++) out[d * NR + i] = x[i * of->s[2] + d * of->s[3]];
	}
}

// put_head writes rows, ld apart, times by[i] each or by *by all, to x.
FN void put_head(float *x, const struct heads *of, const float *rows, int64_t ld, int64_t m, int64_t n, const float *by, int64_t step) {
	for (int64_t i = 0; i < m; i++, x += of->s[2], rows += ld, by += step) {
		vf f = all(*by);
		int64_t j = 0;
		if (of->s[3] == 1) {
			for (; j + VL <= n; j += VL) store(x + j, load(rows + j) * f);
			if (j < n) store_first(x + j, load(rows + j) * f, n - j);
			continue;
		}
		for (; j < n; j++) x[j * of->s[3]] = rows[j] * *by;
	}
}

// vexp_below is vexp for x < 88 or NaN, which gives 0 where results are
// subnormal.
FN vf vexp_below(vf x) {
	const vf magic = all(0x1.8p23f), least = all(-87.f);
	vf y = greater(least, x); // NaN stays
	vf shifted = y * all(0x1.715476p0f) + magic;
	vf n = shifted - magic;
	vf r = y - n * all(0x1.62e4p-1f);
	r = r - n * all(0x1.7f7d1cp-20f);
	vf p = all(1.f / 5040);
	p = p * r + all(1.f / 720);
	p = p * r + all(1.f / 120);
	p = p * r + all(1.f / 24);
	p = p * r + all(1.f / 6);
	p = p * r + all(0.5f);
	p = (p * r) * r + r;
	p = p + all(1.f);
	p = p * (vf)(((vi)shifted - (vi)magic + 127) << 23);
	return (vf)(~(x < least) & (vi)p);
}

// masked turns n scores of query i and the keys from j on into what the mask and
// the scale make of them.
FN void masked(float *s, const struct attention *a, int64_t b, int64_t h, int64_t i, int64_t j, int64_t n) {
	const struct heads *m = &a->mask;
	int64_t at = b * m->s[0] + h * m->s[1] + i * m->s[2] + j * m->s[3], step = m->s[3];
	if (a->hides) {
		const uint8_t *seen = (const uint8_t *)m->at + at;
		for (int64_t k = 0; k < n; k++) s[k] = seen[k * step] ? s[k] * a->scale : -__builtin_inff();
		return;
	}
	const float *add = (const float *)m->at + at;
	if (step == 1) {
		for (int64_t k = 0; k < n; k++) s[k] = s[k] * a->scale + add[k];
		return;
	}
	for (int64_t k = 0; k < n; k++) s[k] = s[k] * a->scale + add[k * step];
}

// weigh turns n scores, to be scaled, into weights relative to the largest of them
// and *top, which becomes that. It returns by what earlier weights shrink, adds the
// sum of the new ones to *sum, and sets the weights from n to width to 0.
FN float weigh(float *s, int64_t n, int64_t width, float scale, float *top, float *sum) {
	vf by = all(scale), most = all(*top), total = {0};
	int64_t j = 0;
	for (; j + VL <= n; j += VL) most = greater(load(s + j) * by, most); // NaN shows in the weights
	if (j < n) {
		vf last = choose(first_mask(n - j), load(s + j) * by, most);
		most = greater(last, most);
	}
	float m = largest_lane(most)[0];
	float relative = m == -__builtin_inff() ? 0 : m; // all are -Inf
	vf shift = all(relative);
	for (j = 0; j + VL <= n; j += VL) {
		vf p = vexp_below(load(s + j) * by - shift);
		store(s + j, p);
		total += p;
	}
	if (j < n) {
		vf p = (vf)(first_mask(n - j) & (vi)vexp_below(load(s + j) * by - shift));
		store(s + j, p);
		total += p;
		j += VL;
	}
	for (; j < width; j += VL) store(s + j, (vf){0});
	float shrink = *top == m ? 1 : vexp_below(all(*top - relative))[0];
	*sum = *sum * shrink + add_lanes(total);
	*top = m;
	return shrink;
}

// seen returns how many of n keys from j on query i sees, but for the mask.
FN int64_t seen(const struct attention *a, int64_t i, int64_t j, int64_t n) {
	if (!a->causal || j + n <= i + 1) return n;
	return i + 1 > j ? i + 1 - j : 0;
}

// packed_keys and packed_values return where a group's are from key j on, the
// values of panel 0.
FN float *packed_keys(const struct attention *a, int64_t group, int64_t j) {
	return a->packed + group * (padded(a->keys) * (a->width + padded(a->value_width))) + j * a->width;
}

FN float *packed_values(const struct attention *a, int64_t group, int64_t j) {
	return packed_keys(a, group, padded(a->keys)) + j * NR;
}

// The floats of packed keys and values, and of the scratch of attention_block.
BODY int64_t attention_packed(const struct attention *a) {
	return a->batch * a->groups * padded(a->keys) * (a->width + padded(a->value_width));
}

BODY int64_t attention_scratch(const struct attention *a) {
	return QUERIES * (padded(a->width) + padded(a->value_width) + SCORES + 2);
}

// attention_pack packs block number piece of the keys and values of all groups.
BODY void attention_pack(const struct attention *a, int64_t piece) {
	int64_t blocks = (a->keys + KEYS - 1) / KEYS, group = piece / blocks, j = piece % blocks * KEYS;
	int64_t b = group / a->groups, g = group % a->groups, n = a->keys - j < KEYS ? a->keys - j : KEYS;
	turn_head(packed_keys(a, group, j), head_row(&a->k, b, g, j), &a->k, n, a->width);
	float *out = packed_values(a, group, j);
	for (int64_t e = 0; e < a->value_width; e += NR, out += padded(a->keys) * NR) {
		struct heads of = a->v;
		int64_t width = a->value_width - e < NR ? a->value_width - e : NR;
		copy_head(out, NR, head_row(&a->v, b, g, j) + e * of.s[3], &of, n, width);
	}
}

// attention_block makes block number piece of the queries of all heads.
BODY void attention_block(const struct attention *a, int64_t piece, float *scratch) {
	int64_t blocks = (a->queries + QUERIES - 1) / QUERIES, head = piece / blocks, i0 = piece % blocks * QUERIES;
	int64_t b = head / a->heads, h = head % a->heads, group = b * a->groups + h / (a->heads / a->groups);
	int64_t m = a->queries - i0 < QUERIES ? a->queries - i0 : QUERIES;
	int64_t ldq = padded(a->width), ldo = padded(a->value_width);
	float *q = scratch, *o = q + QUERIES * ldq, *s = o + QUERIES * ldo, *top = s + QUERIES * SCORES, *sum = top + QUERIES;
	copy_head(q, ldq, head_row(&a->q, b, h, i0), &a->q, m, a->width);
	memset(o, 0, 4 * m * ldo);
	for (int64_t i = 0; i < m; i++) top[i] = -__builtin_inff(), sum[i] = 0;
	int64_t end = a->causal && i0 + m < a->keys ? i0 + m : a->keys;
	for (int64_t j = 0; j < end; j += KEYS) {
		int64_t n = end - j < KEYS ? end - j : KEYS;
		multiply_blocks(s, SCORES, q, ldq, ROWS, packed_keys(a, group, j), NR, a->width * NR, m, (n + NR - 1) / NR * NR, a->width, 0);
		for (int64_t i = 0; i < m; i++) {
			float *row = s + i * SCORES, scale = a->scale;
			int64_t count = seen(a, i0 + i, j, n);
			if (a->mask.at) masked(row, a, b, h, i0 + i, j, count), scale = 1;
			float shrink = weigh(row, count, n, scale, top + i, sum + i);
			if (shrink != 1)
				for (int64_t e = 0; e < ldo; e += VL) store(o + i * ldo + e, load(o + i * ldo + e) * all(shrink));
		}
		multiply_blocks(o, ldo, s, SCORES, ROWS, packed_values(a, group, j), NR, padded(a->keys) * NR, m,
		                (a->value_width + VL - 1) / VL * VL, n, 1);
	}
	for (int64_t i = 0; i < m; i++) {
		((float *)a->logsumexp.at)[b * a->logsumexp.s[0] + h * a->logsumexp.s[1] + (i0 + i) * a->logsumexp.s[2]] = top[i] + __builtin_logf(sum[i]);
		sum[i] = sum[i] == 0 ? 0 : 1 / sum[i];
	}
	put_head(head_row(&a->o, b, h, i0), &a->o, o, ldo, m, a->value_width, sum, 1);
}
