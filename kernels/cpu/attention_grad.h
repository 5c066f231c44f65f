// attention_grad.h: the gradient of attention. A piece is a head of queries: each
// block of weights is made once, for all three gradients. Where heads share keys
// and values, each leaves its part of dk and dv, and the parts are added up in
// order afterwards: no sum is shared between pieces.

enum {
	SIDE = 128,           // of a block of weights
	WEIGHTS = SIDE + 16,  // between its rows
};

_Static_assert(SIDE % PANEL == 0, "blocks are whole panels");

// apart returns how far apart rows of n lie: an odd number of cache lines, so
// that they do not collide.
FN int64_t apart(int64_t n) { return padded(n) + 16; }

// slopes turns a row of n scores into weights, and the products of do and v into
// the gradients of the scores but for the scale; both are 0 from n to width.
FN void slopes(float *s, float *dp, int64_t n, int64_t width, float scale, float logsumexp, float own) {
	vf by = all(scale), shift = all(logsumexp), mean = all(own);
	int64_t j = 0;
	for (; j + VL <= n; j += VL) {
		vf p = vexp_below(load(s + j) * by - shift);
		store(s + j, p);
		store(dp + j, p * (load(dp + j) - mean));
	}
	if (j < n) {
		vi there = first_mask(n - j);
		vf p = vexp_below(load(s + j) * by - shift);
		store(s + j, (vf)(there & (vi)p));
		store(dp + j, (vf)(there & (vi)(p * (load(dp + j) - mean))));
		j += VL;
	}
	for (; j < width; j += VL) store(s + j, (vf){0}), store(dp + j, (vf){0});
}

// gradient is what a piece has in its scratch.
struct gradient {
	int64_t ldk, ldv;            // between rows of width, of value_width
	float *k, *turned, *values;  // keys; keys and values in panels of columns
	float *dk, *dv;
	float *q, *given, *dq, *own, *logsumexp; // of one head
	float *s, *ds;               // of one block
	float *end;
};

FN struct gradient gradient_in(const struct attention *a, float *scratch) {
	struct gradient x = {.ldk = apart(a->width), .ldv = apart(a->value_width)};
	float *next = scratch;
#define TAKE(name, n) x.name = next, next += (n)
	TAKE(s, SIDE * WEIGHTS);
	TAKE(ds, SIDE * WEIGHTS);
	TAKE(k, a->keys * x.ldk);
	TAKE(dk, a->keys * x.ldk);
	TAKE(dv, a->keys * x.ldv);
	TAKE(q, a->queries * x.ldk);
	TAKE(dq, a->queries * x.ldk);
	TAKE(given, a->queries * x.ldv);
	TAKE(turned, padded(a->keys) * padded(a->width));
	TAKE(values, padded(a->keys) * padded(a->value_width));
	TAKE(own, padded(a->queries));
	TAKE(logsumexp, padded(a->queries));
#undef TAKE
	x.end = next;
	return x;
}

FN int64_t shares_of(const struct attention *a) { return a->heads / a->groups; }

// parts_of returns where a head leaves its dk and dv, one after the other.
FN float *parts_of(const struct attention *a, int64_t head) {
	return a->packed + head * a->keys * (apart(a->width) + apart(a->value_width));
}

// attention_grad_packed returns the floats of all parts.
BODY int64_t attention_grad_packed(const struct attention *a) {
	return shares_of(a) > 1 ? a->batch * a->heads * a->keys * (apart(a->width) + apart(a->value_width)) : 0;
}

// attention_grad_scratch returns the floats of a piece's scratch.
BODY int64_t attention_grad_scratch(const struct attention *a) {
	float nothing;
	return gradient_in(a, &nothing).end - &nothing;
}

// begin_head brings a head of queries to the scratch.
FN void begin_head(const struct attention *a, struct gradient *x, int64_t b, int64_t h) {
	copy_head(x->q, x->ldk, head_row(&a->q, b, h, 0), &a->q, a->queries, a->width);
	copy_head(x->given, x->ldv, head_row(&a->given, b, h, 0), &a->given, a->queries, a->value_width);
	memset(x->dq, 0, 4 * a->queries * x->ldk);
	for (int64_t i = 0; i < a->queries; i++) {
		float *given = x->given + i * x->ldv, *o = head_row(&a->o, b, h, i);
		int64_t e = 0;
		vf total = {0};
		float rest = 0;
		if (a->o.s[3] == 1) for (; e + VL <= a->value_width; e += VL) total += load(given + e) * load(o + e);
		for (; e < a->value_width; e++) rest += given[e] * o[e * a->o.s[3]];
		x->own[i] = add_lanes(total) + rest;
		float l = *((float *)a->logsumexp.at + b * a->logsumexp.s[0] + h * a->logsumexp.s[1] + i * a->logsumexp.s[2]);
		x->logsumexp[i] = l == -__builtin_inff() ? -l : l; // weights of 0, not of -Inf less -Inf
	}
}

// block_gradients adds what the queries from i0 on and the keys from j0 on give
// to each other's gradients.
FN void block_gradients(const struct attention *a, struct gradient *x, int64_t b, int64_t h, int64_t i0, int64_t j0) {
	int64_t m = a->queries - i0 < SIDE ? a->queries - i0 : SIDE, n = a->keys - j0 < SIDE ? a->keys - j0 : SIDE;
	int64_t wide = (n + NR - 1) / NR * NR, width = (a->width + VL - 1) / VL * VL, value_width = (a->value_width + VL - 1) / VL * VL;
	float *q = x->q + i0 * x->ldk, *given = x->given + i0 * x->ldv;
	multiply_blocks(x->s, WEIGHTS, q, x->ldk, ROWS, x->turned + j0 * a->width, NR, a->width * NR, m, wide, a->width, 0);
	multiply_blocks(x->ds, WEIGHTS, given, x->ldv, ROWS, x->values + j0 * a->value_width, NR, a->value_width * NR, m, wide, a->value_width, 0);
	for (int64_t i = 0; i < m; i++) {
		float *row = x->s + i * WEIGHTS, scale = a->scale;
		int64_t count = seen(a, i0 + i, j0, n);
		if (a->mask.at) masked(row, a, b, h, i0 + i, j0, count), scale = 1;
		slopes(row, x->ds + i * WEIGHTS, count, n, scale, x->logsumexp[i0 + i], x->own[i0 + i]);
	}
	multiply_blocks(x->dv + j0 * x->ldv, x->ldv, x->s, WEIGHTS, COLUMNS, given, x->ldv, NR, n, value_width, m, 1);
	multiply_blocks(x->dk + j0 * x->ldk, x->ldk, x->ds, WEIGHTS, COLUMNS, q, x->ldk, NR, n, width, m, 1);
	multiply_blocks(x->dq + i0 * x->ldk, x->ldk, x->ds, WEIGHTS, ROWS, x->k + j0 * x->ldk, x->ldk, NR, m, width, n, 1);
}

// put_keys writes dk and dv of a head of keys.
FN void put_keys(const struct attention *a, int64_t b, int64_t g, const float *dk, const float *dv) {
	const float one = 1;
	put_head(head_row(&a->dk, b, g, 0), &a->dk, dk, apart(a->width), a->keys, a->width, &a->scale, 0);
	put_head(head_row(&a->dv, b, g, 0), &a->dv, dv, apart(a->value_width), a->keys, a->value_width, &one, 0);
}

// attention_grad_head makes dq of head number piece and dk and dv, or its part of
// them, with the scratch that gradient_in takes.
BODY void attention_grad_head(const struct attention *a, int64_t piece, float *scratch) {
	struct gradient x = gradient_in(a, scratch);
	int64_t share = shares_of(a), b = piece / a->heads, h = piece % a->heads, g = h / share;
	if (share > 1) x.dk = parts_of(a, piece), x.dv = x.dk + a->keys * x.ldk;
	copy_head(x.k, x.ldk, head_row(&a->k, b, g, 0), &a->k, a->keys, a->width);
	turn_head(x.turned, head_row(&a->k, b, g, 0), &a->k, a->keys, a->width);
	turn_head(x.values, head_row(&a->v, b, g, 0), &a->v, a->keys, a->value_width);
	memset(x.dk, 0, 4 * a->keys * x.ldk);
	memset(x.dv, 0, 4 * a->keys * x.ldv);
	begin_head(a, &x, b, h);
	for (int64_t j = 0; j < a->keys; j += SIDE)
		for (int64_t i = a->causal ? j : 0; i < a->queries; i += SIDE) block_gradients(a, &x, b, h, i, j);
	put_head(head_row(&a->dq, b, h, 0), &a->dq, x.dq, x.ldk, a->queries, a->width, &a->scale, 0);
	if (share == 1) put_keys(a, b, g, x.dk, x.dv);
}

// attention_grad_join makes dk and dv of head of keys number piece from the parts
// of the heads that share it.
BODY void attention_grad_join(const struct attention *a, int64_t piece) {
	int64_t share = shares_of(a), first = piece * share, n = a->keys * (apart(a->width) + apart(a->value_width));
	float *sum = parts_of(a, first);
	for (int64_t h = 1; h < share; h++) {
		const float *part = parts_of(a, first + h);
		for (int64_t i = 0; i < n; i += VL) store(sum + i, load(sum + i) + load(part + i));
	}
	put_keys(a, piece / a->groups, piece % a->groups, sum, sum + a->keys * apart(a->width));
}
