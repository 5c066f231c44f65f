// entry.c: the calls from Go. Each cuts its work into pieces that are worth
// waking a thread for, and shares them out.
#include "dispatch.h"
#include "pool.h"

#define FLOATS(address) ((float *)(address))

// GRAIN is the least work of a piece, in elements of a cheap elementwise op: a
// few microseconds, ten times what it costs to hand a piece over.
enum { GRAIN = 1 << 15, EXP_COST = 8, ADAMW_COST = 4, CUT = 64 };

// shares returns into how many pieces units of work are cut, each at least
// grain of them.
static int64_t shares(int64_t units, int64_t grain, int threads) {
	if (grain < 1) grain = 1;
	if (threads <= 1 || units < 2 * grain) return 1;
	int64_t pieces = units / grain;
	return pieces < 4 * threads ? pieces : 4 * threads;
}

// slice is piece i of n units, cut at multiples of unit.
struct slice { int64_t lo, hi; };

static struct slice slice_of(int64_t i, int64_t pieces, int64_t n, int64_t unit) {
	struct slice s = {i * n / pieces / unit * unit, (i + 1) * n / pieces / unit * unit};
	if (i == pieces - 1) s.hi = n;
	return s;
}

// elementwise is an op on rows; run does it for n elements at the addresses at.
struct elementwise {
	const struct rows *r;
	int64_t pieces;
	void (*run)(const struct elementwise *e, void *at[4], int64_t n);
	void (*body)(const struct elementwise *e, void *at[4], int64_t n); // of run_halves
	int op;
	float alpha, beta;
	const void *h;
};

static void elementwise_piece(const void *job, int64_t i, int worker) {
	const struct elementwise *e = job;
	const struct rows *r = e->r;
	struct slice s = slice_of(i, e->pieces, r->rows * r->n, CUT);
	(void)worker;
	for (int64_t row = s.lo / r->n, column = s.lo % r->n; s.lo < s.hi; row++, column = 0) {
		int64_t n = s.hi - s.lo < r->n - column ? s.hi - s.lo : r->n - column;
		void *at[4];
		for (int k = 0; k < 4; k++) at[k] = r->at[k] ? (char *)r->at[k] + row * r->row[k] + column * r->step[k] : NULL;
		e->run(e, at, n);
		s.lo += n;
	}
}

// run_halves does an op on float copies of blocks that stay in the first-level
// cache. The first operand is the output.
static void run_halves(const struct elementwise *e, void *at[4], int64_t n) {
	enum { BLOCK = 512 };
	float buffers[4][BLOCK] __attribute__((aligned(64)));
	const struct rows *r = e->r;
	for (int64_t i = 0; i < n; i += BLOCK) {
		int64_t m = n - i < BLOCK ? n - i : BLOCK;
		void *block[4];
		for (int k = 0; k < 4; k++) {
			block[k] = at[k] ? (char *)at[k] + i * r->step[k] : NULL;
			if (!r->half[k]) continue;
			if (k > 0) tarn_isa->to_floats[r->half[k]](buffers[k], block[k], r->step[k] ? m : 1);
			block[k] = buffers[k];
		}
		e->body(e, block, m);
		if (r->half[0]) tarn_isa->from_floats[r->half[0]]((uint16_t *)at[0] + i, buffers[0], m);
	}
}

static void share_elementwise(struct elementwise e, int cost, int threads) {
	const int32_t *half = e.r->half;
	if (half[0] | half[1] | half[2] | half[3]) e.body = e.run, e.run = run_halves;
	e.pieces = shares(e.r->rows * e.r->n, GRAIN / cost, threads);
	tarn_share(elementwise_piece, &e, e.pieces, threads);
}

static void run_unary(const struct elementwise *e, void *at[4], int64_t n) { tarn_isa->unary[e->op](at[0], at[1], n, e->alpha, e->beta); }

static void run_binary(const struct elementwise *e, void *at[4], int64_t n) {
	tarn_isa->binary[e->op](at[0], at[1], e->r->step[1], at[2], e->r->step[2], n, e->alpha, e->beta);
}

// A condition on one operand is given it twice.
static void run_compare(const struct elementwise *e, void *at[4], int64_t n) {
	int y = at[2] ? 2 : 1;
	tarn_isa->compare[e->op](at[0], at[1], e->r->step[1], at[y], e->r->step[y], n);
}

static void run_where(const struct elementwise *e, void *at[4], int64_t n) {
	const int64_t *step = e->r->step;
	tarn_isa->where(at[0], at[1], step[1], at[2], step[2], at[3], step[3], n);
}

static void run_fill(const struct elementwise *e, void *at[4], int64_t n) { tarn_isa->fill(at[0], n, e->alpha); }

// What an element costs in units of a cheap op's, 1 where nothing stands.
static const uint8_t unary_cost[NUM_UNARY] = {
	[EXP] = EXP_COST, [LOG] = EXP_COST, [EXPM1] = EXP_COST, [LOG1P] = 12, [SIN] = 12, [COS] = 12, [TANH] = 12, [SIGMOID] = EXP_COST,
	[ERF] = 12, [SILU] = EXP_COST, [GELU] = 12, [GELU_TANH] = 12, [ELU] = EXP_COST, [SOFTPLUS] = 24, [POW_SCALAR] = 24,
};
static const uint8_t binary_cost[NUM_BINARY] = {
	[SILU_GRAD] = EXP_COST, [GELU_GRAD] = 12, [GELU_TANH_GRAD] = 12, [ELU_GRAD] = EXP_COST, [SOFTPLUS_GRAD] = 12, [POW] = 24, [FLOOR_DIVIDE] = 4, [REMAINDER] = 4,
};

static int cost_of(uint8_t cost) { return cost ? cost : 1; }

void tarn_unary(const struct rows *r, int op, float alpha, float beta, int threads) {
	share_elementwise((struct elementwise){.r = r, .run = run_unary, .op = op, .alpha = alpha, .beta = beta}, cost_of(unary_cost[op]), threads);
}

void tarn_binary(const struct rows *r, int op, float alpha, float beta, int threads) {
	share_elementwise((struct elementwise){.r = r, .run = run_binary, .op = op, .alpha = alpha, .beta = beta}, cost_of(binary_cost[op]), threads);
}

void tarn_compare(const struct rows *r, int op, int threads) {
	share_elementwise((struct elementwise){.r = r, .run = run_compare, .op = op}, 1, threads);
}

void tarn_where(const struct rows *r, int threads) {
	share_elementwise((struct elementwise){.r = r, .run = run_where}, 1, threads);
}

void tarn_fill(const struct rows *r, float value, int threads) {
	share_elementwise((struct elementwise){.r = r, .run = run_fill, .alpha = value}, 1, threads);
}

// Optimiser steps take subnormal numbers as 0. The moments of a weight whose
// gradient has become 0, as behind a dead ReLU, decay into the subnormals and
// stay there, where 0.9 of a number rounds to itself; x86 then takes 6 times as
// long for the whole step.
#if defined(__x86_64__)
enum { FLUSH_TO_ZERO = 0x8000, DENORMALS_ARE_ZERO = 0x0040 };

static unsigned flush_subnormals(void) {
	unsigned before = __builtin_ia32_stmxcsr();
	__builtin_ia32_ldmxcsr(before | FLUSH_TO_ZERO | DENORMALS_ARE_ZERO);
	return before;
}

static void restore(unsigned before) { __builtin_ia32_ldmxcsr(before); }
#else
static unsigned flush_subnormals(void) { return 0; }
static void restore(unsigned before) { (void)before; }
#endif

static void run_sgd(const struct elementwise *e, void *at[4], int64_t n) {
	unsigned before = flush_subnormals();
	tarn_isa->sgd(e->h, at[0], at[2], at[1], n);
	restore(before);
}

static void run_adamw(const struct elementwise *e, void *at[4], int64_t n) {
	unsigned before = flush_subnormals();
	tarn_isa->adamw(e->h, at[0], at[1], at[2], at[3], n);
	restore(before);
}

void tarn_sgd(const struct rows *r, const struct sgd *h, int threads) {
	share_elementwise((struct elementwise){.r = r, .run = run_sgd, .h = h}, 1, threads);
}

void tarn_adamw(const struct rows *r, const struct adamw *h, int threads) {
	share_elementwise((struct elementwise){.r = r, .run = run_adamw, .h = h}, ADAMW_COST, threads);
}

// shared_products are products cut into groups of whole ones or, where there are
// few, each into blocks of rows, or of columns where it has few rows. The sum over
// k is not cut, so the cut does not show in the result.
struct shared_products {
	const struct products *p;
	uintptr_t scratch;
};

// TILES is a multiple of the tiles of all instances, so that no piece has more
// edges than it must.
enum { TILES = 96 };

// nth_product returns product i of p.
static struct gemm nth_product(const struct products *p, int64_t i) {
	struct gemm g = p->g;
	for (int d = p->rank - 1; d >= 0; d--) {
		int64_t at = i % p->dims[d];
		i /= p->dims[d];
		g.a += at * p->as[d], g.b += at * p->bs[d], g.c += at * p->cs[d];
		if (g.bias) g.bias += at * p->biass[d];
	}
	return g;
}

static void product_piece(const void *job, int64_t i, int worker) {
	const struct shared_products *shared = job;
	const struct products *p = shared->p;
	float *scratch = FLOATS(shared->scratch + (uintptr_t)worker * SCRATCH);
	struct slice products = slice_of(i / p->blocks, p->groups, p->count, 1);
	struct slice s = slice_of(i % p->blocks, p->blocks, p->g.m >= p->g.n ? p->g.m : p->g.n, p->blocks > 1 ? TILES : 1);
	for (; products.lo < products.hi; products.lo++) {
		struct gemm g = nth_product(p, products.lo);
		if (g.m >= g.n) tarn_isa->gemm(&g, s.lo, s.hi, 0, g.n, scratch);
		else tarn_isa->gemm(&g, 0, g.m, s.lo, s.hi, scratch);
	}
}

void tarn_gemm(struct products *p, uintptr_t c, uintptr_t a, uintptr_t b, uintptr_t bias, uintptr_t scratch, int threads) {
	p->g.c = FLOATS(c), p->g.a = FLOATS(a), p->g.b = FLOATS(b), p->g.bias = FLOATS(bias);
	struct shared_products shared = {.p = p, .scratch = scratch};
	tarn_share(product_piece, &shared, p->groups * p->blocks, threads);
}

void tarn_to_floats(int half, float *out, uintptr_t in, int64_t n) { tarn_isa->to_floats[half](out, (const uint16_t *)in, n); }

void tarn_from_floats(int half, uintptr_t out, const float *in, int64_t n) { tarn_isa->from_floats[half]((uint16_t *)out, in, n); }

// losses is the loss of rows, or its gradient.
struct losses {
	const struct loss *l;
	int64_t rows, pieces;
	void (*run)(const struct loss *l, int64_t i0, int64_t i1);
};

static void losses_piece(const void *job, int64_t i, int worker) {
	const struct losses *j = job;
	struct slice s = slice_of(i, j->pieces, j->rows, 1);
	(void)worker;
	j->run(j->l, s.lo, s.hi);
}

static void share_losses(struct losses j, int threads) {
	j.pieces = shares(j.rows, GRAIN / EXP_COST / (j.l->c > 0 ? j.l->c : 1), threads);
	tarn_share(losses_piece, &j, j.pieces, threads);
}

void tarn_loss(struct loss *l, uintptr_t logits, uintptr_t classes, uintptr_t losses, int64_t rows, int threads) {
	l->logits = FLOATS(logits), l->classes = (const int64_t *)classes, l->losses = (double *)losses;
	share_losses((struct losses){.l = l, .rows = rows, .run = tarn_isa->loss}, threads);
}

void tarn_loss_grad(struct loss *l, uintptr_t logits, uintptr_t classes, uintptr_t grad, int64_t rows, int threads) {
	l->logits = FLOATS(logits), l->classes = (const int64_t *)classes, l->grad = FLOATS(grad);
	share_losses((struct losses){.l = l, .rows = rows, .run = tarn_isa->loss_grad}, threads);
}
