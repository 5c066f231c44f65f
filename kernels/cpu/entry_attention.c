// entry_attention.c: attention and its gradient, from Go. See entry.c.
#include "dispatch.h"
#include "pool.h"

enum { ALONE = 1 << 21 }; // FLOP up to which one thread is as fast

// pieces_of returns into how many pieces the work is cut, by the dims alone.
static int64_t pieces_of(const struct attention *a, int grad) {
	if (grad) return a->batch * a->heads;
	return a->batch * a->heads * ((a->queries + QUERIES - 1) / QUERIES);
}

static int64_t scratch_of(const struct attention *a, int grad) {
	return 4 * (grad ? tarn_isa->attention_grad_scratch(a) : tarn_isa->attention_scratch(a));
}

static int64_t packed_of(const struct attention *a, int grad) {
	return 4 * (grad ? tarn_isa->attention_grad_packed(a) : tarn_isa->attention_packed(a));
}

static int workers_of(const struct attention *a, int grad, int threads) {
	int64_t pieces = pieces_of(a, grad);
	double work = 2. * a->batch * a->heads * a->queries * a->keys * (a->width + a->value_width);
	if (work < ALONE || pieces < 1) return 1;
	return threads < pieces ? threads : (int)pieces;
}

int64_t tarn_attention_work(const struct attention *a, int grad, int threads) {
	return packed_of(a, grad) + workers_of(a, grad, threads) * scratch_of(a, grad);
}

// shared is an attention on its way through the pool.
struct shared {
	const struct attention *a;
	void (*run)(const struct attention *a, int64_t piece, float *scratch);
	uintptr_t scratch;
	int64_t bytes; // of one worker's scratch
};

static void pack_piece(const void *job, int64_t i, int worker) {
	(void)worker;
	tarn_isa->attention_pack(job, i);
}

static void join_piece(const void *job, int64_t i, int worker) {
	(void)worker;
	tarn_isa->attention_grad_join(job, i);
}

static void run_piece(const void *job, int64_t i, int worker) {
	const struct shared *s = job;
	s->run(s->a, i, (float *)(s->scratch + (uintptr_t)worker * s->bytes));
}

void tarn_attention(struct attention *a, int grad, uintptr_t work, int64_t bytes, int threads) {
	int64_t packed = packed_of(a, grad), scratch = scratch_of(a, grad), room = (bytes - packed) / scratch;
	int workers = workers_of(a, grad, threads);
	if (room < workers) workers = (int)room;
	struct shared s = {a, grad ? tarn_isa->attention_grad : tarn_isa->attention, work + packed, scratch};
	a->packed = (float *)work;
	if (!grad) tarn_share(pack_piece, a, a->batch * a->groups * ((a->keys + KEYS - 1) / KEYS), workers);
	tarn_share(run_piece, &s, pieces_of(a, grad), workers);
	if (grad && a->heads > a->groups) tarn_share(join_piece, a, a->batch * a->groups, workers);
}
