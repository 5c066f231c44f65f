// kernels.h: what the C files of this package share.
//
//	isa_*.c    one instance of all bodies per instruction set, made of
//	  isa.h      the list of the headers below
//	  vec.h      the vector vocabulary that they are written in
//	  vmath_*.h  functions of vectors, division.h those of whole quotients, activation.h those of neural networks
//	  half.h elementwise.h compare.h random.h optim.h
//	  reduce.h loss.h fold.h choice.h softmax.h softmax_columns.h scan.h norm.h batchnorm.h
//	  gemm_tile.h gemm.h attention.h attention_grad.h conv_pack.h conv.h conv_depthwise.h conv_depthwise_weight.h window.h
//	dispatch.c which instance this processor can run
//	entry.c    the calls from Go: cut the work into pieces; entry_*.c families of ops
//	pool.c     the threads that the pieces are shared out over
//
// Go walks over all dims but the last two, which come here as rows; a body sees
// dense runs, rows and blocks only. No body lets an element depend on the piece
// that it is in, so results have the same bits for any number of threads.
#ifndef TARN_KERNELS_H
#define TARN_KERNELS_H

#include <stddef.h>
#include <stdint.h>

enum { SCRATCH = 704 << 10 }; // bytes of work space that a piece of gemm needs

// Numbers of the elementwise ops, in the order of kernels.ID; 0 is none of them.
enum unary {
	COPY = 1, AFFINE, EXP, LOG, SQRT, RELU,
	NEG, ABS, SIGN, FLOOR, CEIL, TRUNC, ROUND, RECIPROCAL, RSQRT, EXPM1, LOG1P, SIN, COS,
	TANH, SIGMOID, ERF, SILU, GELU, GELU_TANH, LEAKY_RELU, ELU, SOFTPLUS, POW_SCALAR, CLAMP,
	NUM_UNARY
};
enum binary {
	ADD = 1, SUB, MUL, DIV, RELU_GRAD,
	TANH_GRAD, SIGMOID_GRAD, SILU_GRAD, GELU_GRAD, GELU_TANH_GRAD, LEAKY_RELU_GRAD, ELU_GRAD, SOFTPLUS_GRAD, CLAMP_GRAD,
	POW, MAXIMUM, MINIMUM, FLOOR_DIVIDE, REMAINDER,
	NUM_BINARY
};

// Numbers of the ops that make Bool.
enum compare { EQUAL = 1, NOT_EQUAL, LESS, LESS_EQUAL, GREATER, GREATER_EQUAL, IS_NAN, IS_INF, NOT, NUM_COMPARE };

// The types of two bytes; 0 is none of them.
enum half { F16 = 1, BF16, NUM_HALVES };

// gemm is C [m,n] = act(A [m,k] x B [k,n] + bias [m,n]), every matrix with a
// row stride and a column stride in elements.
struct gemm {
	int64_t m, n, k;
	const float *a, *b, *bias; // bias NULL: none
	float *c;
	int64_t ars, acs, brs, bcs, crs, ccs, biasrs, biascs;
	int32_t accumulate; // add the product to C; goes with neither bias nor relu
	int32_t relu;
};

// rows are the operands of an elementwise op: rows x n elements each, of which
// operand k has rows row[k] apart and neighbours step[k], in bytes.
struct rows {
	int64_t rows, n;
	uintptr_t at[4];
	int64_t row[4];
	int64_t step[4]; // the size of an element, or 0 for a scalar that is repeated
	int32_t half[4]; // an enum half; what is none is float, or Bool where the op says so
};

// sgd and adamw are the factors of one optimiser step, rounded to float.
struct sgd {
	float lr, decay, momentum, take; // take is 1 - dampening
	int32_t nesterov, first;
};

struct adamw {
	float shrink, keep1, take1, keep2, take2, rate, root, eps;
};

// loss is a cross-entropy: logits [n,c] with columns side by side, and a class
// for each row.
struct loss {
	const float *logits;
	const int64_t *classes;
	int64_t c, ldlogits, ldclasses;
	double *losses;         // of each row, for the forward op
	float *grad;            // [n,c], for the backward op, columns side by side
	int64_t ldgrad;
	float scale;            // of the gradient
};

enum {
	QUERIES = 64, // of a block of attention
	KEYS = 256,   // a panel of values is KEYS * NR * 4 = 32 KiB
};

// heads is an operand [b, h, i, d] of attention, with strides in elements. at is
// 0 where there is none.
struct heads {
	uintptr_t at;
	int64_t s[4];
};

// attention is an attention or its gradient: see kernels.Attention.
struct attention {
	struct heads q, k, v, o, logsumexp;
	struct heads given, dq, dk, dv; // of the gradient; given is do
	struct heads mask;              // of bytes, or else of floats
	int64_t batch, heads, groups, queries, keys, width, value_width;
	float scale;
	int32_t causal, hides;
	float *packed; // work space of all pieces: keys and values, or the parts of their gradients
};

// conv is a convolution of planes as a product C [m,n] = A [m,k] x B [k,n] for
// each group: g has m, k, a (rows ars apart) and bias. Column (image, i, j) of the
// grid [images, gh, gw] meets, by row (channel, y, x) of B, pixel i*sh+dh0+y*ddh,
// j*sw+dw0+x*ddw of src, which is 0 outside of [h,w]; columns of src lie side by
// side. C goes to dst. For the weight's gradient dst is dy, and the result k x m.
struct conv {
	struct gemm g;
	const float *src;
	float *dst;
	int64_t groups, images, h, w, gh, gw;
	int64_t nkh, nkw, dh0, ddh, dw0, ddw, sh, sw;
	int64_t src_image, src_channel, src_row, dst_image, dst_channel, dst_row, dst_step;
	int64_t a_group, src_group, dst_group; // from group to group
};

static inline int64_t tarn_absolute(int64_t x) { return x < 0 ? -x : x; }

// tarn_line_length is how many floats a row of the grid needs of a line, where a
// group has one channel, and tarn_rows_in_band how many rows of it are done at a
// time; below 1 the work space is too small. See conv_depthwise.h.
static inline int64_t tarn_line_length(const struct conv *v) {
	return ((v->gw + 31) / 32 * 32 + (v->nkw - 1) * tarn_absolute(v->ddw) / v->sw + 16) / 16 * 16;
}

static inline int64_t tarn_rows_in_band(const struct conv *v) {
	int64_t lines = (SCRATCH / 4 - 34 * v->nkh * v->nkw) / (tarn_line_length(v) * v->sw) - (v->nkh - 1) * tarn_absolute(v->ddh);
	return lines < 1 ? 0 : (lines - 1) / v->sh + 1;
}

// lines are the elements along one dim of a softmax, out from a, of its gradient,
// from a, dy, and b, the softmax, or of a scan, out from a: rows lines of n elements
// side by side, with back in falling order, and ld from line to line. Of columns the
// lines lie side by side, and their elements ld apart; there are outer such sets.
struct lines {
	int64_t rows, n;
	int64_t outer, out_outer, a_outer, b_outer;
	float *out;
	const float *a, *b;
	int64_t ldout, lda, ldb;
	int32_t log, product, back; // the softmax's logarithm; a scan of products
};

enum line_op { SOFTMAX, SOFTMAX_GRAD, SCAN, NUM_LINE_OPS };

// turn is a copy of outer matrices x [rows, columns], columns side by side, to their
// transposes, whose columns, x's rows, lie side by side.
struct turn {
	int64_t outer, rows, columns;
	int64_t x_outer, ldx, out_outer, ldout;
	float *out;
	const float *x;
};

// fold is a reduction: result [outer,kept] k of o is made of x [rows,n] beginning at
// o*outer_step + k*kept_step. Either those of a row lie side by side, or neighbouring
// results have neighbouring elements.
struct fold {
	int32_t op, accumulate; // an enum fold_op
	int64_t outer, kept, rows, n;
	int64_t outer_step, kept_step, row_step, n_step;
	int64_t out_outer, out_kept, mean_outer, mean_kept; // steps of the results
	double alpha;                                       // a sum's factor, a variance's correction
	const float *x;
	float *out, *mean; // mean beside a variance
	int64_t *index;    // the result instead of out, where that is an index
	// The gradient of a maximum, which is out: dx, with steps of its own, from dy.
	int64_t dx_outer, dx_kept, dx_row, dx_n, dy_outer, dy_kept;
	float *dx;
	const float *dy;
};

// The reductions; a norm is how many are not 0, the sum of sizes, or the root of
// that of the squares. And what a pass over the elements does.
enum fold_op { FOLD_SUM = 1, FOLD_PROD, FOLD_MAX, FOLD_MIN, FOLD_VAR, FOLD_LOGSUMEXP, FOLD_COUNT, FOLD_SIZES, FOLD_ROOT, FOLD_ARGMAX, FOLD_ARGMIN };
enum fold_kind { TOTAL_OF, INDEX_OF, GRAD_OF_MAX, NUM_FOLD_KINDS };
enum fold_step { ADDING = 1, EXPING, MAXIMISING, MINIMISING, MULTIPLYING, SQUARING, SIZING, COUNTING };

// norm is a normalisation of groups, rows of channels*size elements side by
// side, or its gradient, where y is dx. Row i has the channels from
// (i%per)*channels on.
struct norm {
	int64_t rows, per, channels, size;
	float *y;
	const float *x, *dy, *w, *b; // w and b NULL: none
	float *mean, *rstd;          // one a row; mean NULL: none is taken off
	int64_t ldy, ldx, lddy;
	double eps;
};

// batch is a batch normalisation of x [images, channels, size], or its gradient,
// where y is dx. The elements of a plane lie side by side or, where it is of one,
// the channels do. The statistics are made, or used where they are given; the
// gradient leaves them out of dx then.
struct batch {
	int64_t images, channels, size;
	int64_t x_image, x_channel, y_image, y_channel, dy_image, dy_channel;
	float *y, *mean, *variance, *dw, *db;
	const float *x, *dy, *w, *b; // w and b NULL: none
	double eps;
	int32_t given, columns;
};

// draw is a random op of floats: the numbers of seed from block offset on. A normal
// number and a uniform one are b times the generator's plus a;
// dropout takes b, or 0 where some has all bits set and a word is at most most;
// there are the words themselves too.
enum draw_op { DRAW_UNIFORM, DRAW_NORMAL, DRAW_DROPOUT, DRAW_WORDS };
struct draw {
	uint64_t seed, offset;
	float a, b;
	uint32_t most;
	int32_t some, op;
};

// pool is a pooling of planes x [h,w] to y [oh,ow], or its gradient, from given to
// grad. Columns lie side by side, windows have kh x kw elements, and places are
// indices in a plane.
enum pool_op { MAX_POOL, AVG_POOL, AVG_POOL_GRAD, NUM_POOLS };
enum {
	POOL_COLUMNS = 256, // that are done at a time
	POOL_REACH = 64,    // columns that a window has at most, those between its elements included
	POOL_STRIDE = 4,    // the largest stride of columns
};
struct pool {
	const float *x, *given;
	float *y, *grad;
	int64_t *places;
	int64_t planes, channels, h, w, oh, ow, kh, kw, sh, sw, ph, pw, dh, dw;
	int64_t x_image, x_channel, x_row, y_image, y_channel, y_row, places_image, places_channel, places_row;
	int32_t count_pad; // padding counts as elements of a mean
};

struct isa {
	// Columns [j0,j1) of one group, rows [i0,i1) of one group's weight gradient,
	// planes [u0,u1) and groups [c0,c1) where a group has one channel. Each has
	// SCRATCH bytes.
	void (*conv)(const struct conv *v, int64_t j0, int64_t j1, float *scratch);
	void (*conv_weight)(const struct conv *v, int64_t i0, int64_t i1, float *sums, float *dw, float *scratch);
	void (*depthwise)(const struct conv *v, int64_t u0, int64_t u1, float *scratch);
	void (*depthwise_weight)(const struct conv *v, int64_t c0, int64_t c1, float *dw, float *scratch);
	// gemm makes the block [i0,i1) x [j0,j1) of C with SCRATCH bytes at scratch.
	void (*gemm)(const struct gemm *g, int64_t i0, int64_t i1, int64_t j0, int64_t j1, float *scratch);
	// Runs of n elements; out may be x or y. A step of 0 is for a scalar
	// that is repeated.
	void (*unary[NUM_UNARY])(float *out, const float *x, int64_t n, float alpha, float beta);
	void (*binary[NUM_BINARY])(float *out, const float *x, int64_t xstep, const float *y, int64_t ystep, int64_t n, float alpha, float beta);
	void (*compare[NUM_COMPARE])(uint8_t *out, const float *x, int64_t xstep, const float *y, int64_t ystep, int64_t n);
	void (*where)(float *out, const uint8_t *c, int64_t cstep, const float *x, int64_t xstep, const float *y, int64_t ystep, int64_t n);
	void (*to_floats[NUM_HALVES])(float *out, const uint16_t *in, int64_t n);
	void (*from_floats[NUM_HALVES])(uint16_t *out, const float *in, int64_t n);
	void (*fill)(float *out, int64_t n, float value);
	void (*transpose)(float *out, int64_t ldout, const float *x, int64_t ldx, int64_t rows, int64_t columns);
	// n elements, x those that dropout takes, that begin with word 0 of a block.
	void (*random)(const struct draw *d, float *out, const float *x, int64_t n, int64_t block);
	// One pass over n > 0 elements side by side, relative to beside.
	double (*fold_run)(int step, const float *x, int64_t n, double beside);
	// Results [k0,k1) of o, of runs and of columns.
	void (*fold[NUM_FOLD_KINDS][2])(const struct fold *f, int64_t o, int64_t k0, int64_t k1);
	// Rows [i0,i1) of a loss.
	void (*loss)(const struct loss *l, int64_t i0, int64_t i1);
	void (*loss_grad)(const struct loss *l, int64_t i0, int64_t i1);
	// The pieces of attention, with floats of scratch each, and floats for all of
	// them. Those of the forward op read what attention_pack has packed;
	// attention_grad_join adds up what heads that share keys have left.
	int64_t (*attention_packed)(const struct attention *a);
	int64_t (*attention_grad_packed)(const struct attention *a);
	int64_t (*attention_scratch)(const struct attention *a);
	int64_t (*attention_grad_scratch)(const struct attention *a);
	void (*attention_pack)(const struct attention *a, int64_t piece);
	void (*attention)(const struct attention *a, int64_t piece, float *scratch);
	void (*attention_grad)(const struct attention *a, int64_t piece, float *scratch);
	void (*attention_grad_join)(const struct attention *a, int64_t piece);
	// Lines [i0,i1), of rows and of columns.
	void (*lines[NUM_LINE_OPS][2])(const struct lines *l, int64_t i0, int64_t i1);
	// Rows [i0,i1) of a normalisation. norm_grad leaves the sums for dw and db, of
	// per*channels each, in parts; acc has as many floats.
	void (*norm)(const struct norm *h, int64_t i0, int64_t i1);
	void (*norm_grad)(const struct norm *h, int64_t i0, int64_t i1, float *acc, double *parts);
	// Channels [c0,c1) of a batch normalisation, of planes and of columns.
	void (*batch[2])(const struct batch *h, int64_t c0, int64_t c1);
	void (*batch_grad[2])(const struct batch *h, int64_t c0, int64_t c1);
	void (*join_columns)(float *out, const double *parts, int64_t ld, int64_t rows, int64_t n);
	void (*pool[NUM_POOLS])(const struct pool *p, int64_t u0, int64_t u1); // planes [u0,u1)
	void (*sgd)(const struct sgd *h, float *p, float *m, const float *g, int64_t n); // m NULL: no momentum
	void (*adamw)(const struct adamw *h, float *p, float *m, float *v, const float *g, int64_t n);
};

extern const struct isa tarn_baseline, tarn_avx2, tarn_avx512;

extern const struct isa *tarn_isa; // the chosen one

#endif
