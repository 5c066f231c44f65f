// entry_conv.c: convolutions from Go, cut into pieces.
#include "dispatch.h"
#include "pool.h"

#define FLOATS(address) ((float *)(address))

// job is a conv whose groups are cut into parts each, columns or rows, or whose
// planes are.
struct job {
	const struct conv *v;
	int64_t parts, units, unit;
	float *out, *sums;
	uintptr_t scratch;
};

static float *scratch_of(const struct job *j, int worker) { return FLOATS(j->scratch + (uintptr_t)worker * SCRATCH); }

static int64_t cut(int64_t i, const struct job *j) { return i == j->parts ? j->units : i * j->units / j->parts / j->unit * j->unit; }

static struct conv group_of(const struct conv *v, int64_t group) {
	struct conv g = *v;
	g.g.a += group * v->a_group;
	g.src += group * v->src_group;
	g.dst += group * v->dst_group;
	if (v->g.bias) g.g.bias += group * v->g.m * v->g.biasrs;
	return g;
}

static void conv_piece(const void *job, int64_t i, int worker) {
	const struct job *j = job;
	struct conv g = group_of(j->v, i / j->parts);
	tarn_isa->conv(&g, cut(i % j->parts, j), cut(i % j->parts + 1, j), scratch_of(j, worker));
}

static void depthwise_piece(const void *job, int64_t i, int worker) {
	const struct job *j = job;
	tarn_isa->depthwise(j->v, cut(i, j), cut(i + 1, j), scratch_of(j, worker));
}

// parts_of returns into how many parts of at least some FLOP work is cut, at most
// most a thread.
static int64_t parts_of(double flop, int64_t units, int64_t unit, int64_t pieces, int most, int threads) {
	int64_t worth = (int64_t)(flop / (1 << 20)), parts = ((int64_t)most * threads + pieces - 1) / pieces;
	if (threads <= 1) return 1;
	if (parts > worth) parts = worth;
	if (parts > units / unit) parts = units / unit;
	return parts < 1 ? 1 : parts;
}

static double flop_of(const struct conv *v) { return 2.0 * v->g.m * v->g.k * v->images * v->gh * v->gw; }

enum { COLUMNS_UNIT = 96, ROWS_UNIT = 24, FEW_COLUMNS = 768 }; // the units are multiples of the tiles of all instances

// is_depthwise reports whether groups have one channel on both sides, and few
// enough rows and columns at a time fit the work space.
static int is_depthwise(const struct conv *v) {
	return v->g.m == 1 && v->g.k == v->nkh * v->nkw && v->g.k > 0 && v->groups > 1 && tarn_rows_in_band(v) > 0;
}

void tarn_conv(const struct conv *given, uintptr_t dst, uintptr_t a, uintptr_t src, uintptr_t bias, uintptr_t scratch, int threads) {
	struct conv copy = *given, *v = &copy; // Go must not find addresses in its own
	v->dst = FLOATS(dst), v->g.a = FLOATS(a), v->src = FLOATS(src), v->g.bias = FLOATS(bias);
	struct job j = {.v = v, .scratch = scratch};
	if (is_depthwise(v)) {
		j.units = v->images * v->groups, j.unit = 1;
		j.parts = parts_of(4 * flop_of(v) * v->groups, j.units, 1, 1, 4, threads);
		tarn_share(depthwise_piece, &j, j.parts, threads);
		return;
	}
	j.units = v->images * v->gh * v->gw, j.unit = COLUMNS_UNIT;
	// Every part copies the weights, at the price of some ten columns.
	j.parts = parts_of(flop_of(v), j.units, j.unit, v->groups, j.units < FEW_COLUMNS * threads ? 1 : 4, threads);
	tarn_share(conv_piece, &j, j.parts * v->groups, threads);
}

static void weight_piece(const void *job, int64_t i, int worker) {
	const struct job *j = job;
	struct conv g = group_of(j->v, i / j->parts);
	int64_t size = i / j->parts * g.g.m * g.g.k;
	tarn_isa->conv_weight(&g, cut(i % j->parts, j), cut(i % j->parts + 1, j), j->sums + size, j->out + size, scratch_of(j, worker));
}

static void depthwise_weight_piece(const void *job, int64_t i, int worker) {
	const struct job *j = job;
	tarn_isa->depthwise_weight(j->v, cut(i, j), cut(i + 1, j), j->out, scratch_of(j, worker));
}

void tarn_conv_weight(const struct conv *given, uintptr_t dw, uintptr_t dy, uintptr_t src, uintptr_t sums, uintptr_t scratch, int threads) {
	struct conv copy = *given, *v = &copy;
	v->dst = FLOATS(dy), v->src = FLOATS(src), v->g.bias = NULL, v->g.a = NULL;
	struct job j = {.v = v, .out = FLOATS(dw), .sums = FLOATS(sums), .scratch = scratch};
	int depthwise = is_depthwise(v);
	j.unit = depthwise ? 1 : ROWS_UNIT;
	j.units = depthwise ? v->groups : v->g.k;
	// Where groups have many channels every part turns all of dy, so there are few.
	j.parts = depthwise ? parts_of(4 * flop_of(v) * v->groups, j.units, j.unit, 1, 4, threads)
	                    : parts_of(flop_of(v), j.units, j.unit, v->groups, 1, threads);
	if (depthwise) tarn_share(depthwise_weight_piece, &j, j.parts, threads);
	else tarn_share(weight_piece, &j, j.parts * v->groups, threads);
}

// turning is a tarn_conv_turn, CHUNK rows of out a piece: the rows of w are read
// side by side.
struct turning {
	float *out;
	const float *w;
	int64_t rows, outputs, channels, kh, kw, k0, kstep, l0, lstep, nkh, nkw;
};

enum { CHUNK = 8, AHEAD = 8 };

typedef float four __attribute__((vector_size(16), aligned(4), may_alias));

// copy_taps copies so few that a call of memcpy would cost more.
static void copy_taps(float *to, const float *from, int64_t n) {
	for (; n >= 4; n -= 4, to += 4, from += 4) *(four *)to = *(const four *)from;
	for (; n > 0; n--) *to++ = *from++;
}

static void turn_piece(const void *job, int64_t piece, int worker) {
	const struct turning *t = job;
	int64_t taps = t->nkh * t->nkw, end = (piece + 1) * CHUNK < t->rows ? (piece + 1) * CHUNK : t->rows;
	int whole = taps == t->kh * t->kw; // all of them, in order
	const float *from[CHUNK];
	(void)worker;
	for (int64_t i = piece * CHUNK; i < end; i++)
		from[i % CHUNK] = t->w + (i / t->channels * t->outputs * t->channels + i % t->channels) * t->kh * t->kw + t->k0 * t->kw + t->l0;
	for (int64_t o = 0; o < t->outputs; o++)
		for (int64_t i = piece * CHUNK; i < end; i++) {
			const float *w = from[i % CHUNK] + o * t->channels * t->kh * t->kw;
			float *to = t->out + (i * t->outputs + o) * taps;
			__builtin_prefetch(w + AHEAD * t->channels * t->kh * t->kw); // rows are pages apart
			if (whole) copy_taps(to, w, taps);
			else for (int64_t k = 0; k < t->nkh; k++)
				for (int64_t l = 0; l < t->nkw; l++) *to++ = w[k * t->kstep * t->kw + l * t->lstep];
		}
}

void tarn_conv_turn(uintptr_t out, uintptr_t w, int64_t groups, int64_t outputs, int64_t channels, int64_t kh, int64_t kw,
                    int64_t k0, int64_t kstep, int64_t nkh, int64_t l0, int64_t lstep, int64_t nkw, int threads) {
	struct turning t = {FLOATS(out), FLOATS(w), groups * channels, outputs, channels, kh, kw, k0, kstep, l0, lstep, nkh, nkw};
	if (outputs * t.rows * nkh * nkw < 1 << 15) threads = 1;
	tarn_share(turn_piece, &t, (t.rows + CHUNK - 1) / CHUNK, threads);
}
