// dispatch.h: what Go calls. Addresses come as integers: the memory is not the
// garbage collector's. Where threads is asked for, the work is shared out over
// as many if it is enough; the records come without their addresses, which are
// given beside them.
#include "kernels.h"

enum { ISA_BASELINE, ISA_AVX2, ISA_AVX512, NUM_ISAS };

int tarn_isa_supported(int isa); // whether this processor can run it
void tarn_isa_choose(int isa);   // for all calls from then on

// products are count products, in rank dims, of which g is the first. They are
// cut into groups and, where each is of one product, that into blocks.
struct products {
	struct gemm g;
	int64_t count, groups, blocks;
	int32_t rank;
	int64_t dims[6], as[6], bs[6], cs[6], biass[6]; // strides from one product to the next, in elements
};

// Each of the threads has SCRATCH bytes of scratch.
void tarn_gemm(struct products *p, uintptr_t c, uintptr_t a, uintptr_t b, uintptr_t bias, uintptr_t scratch, int threads);

// The operands of the elementwise ops and of the optimiser steps are out, x, y;
// out; parameter, gradient, momentum (0: none); parameter, moments, gradient.
void tarn_unary(const struct rows *r, int op, float alpha, float beta, int threads);
void tarn_binary(const struct rows *r, int op, float alpha, float beta, int threads);
// tarn_compare makes Bool of x, and y where the op has two inputs; tarn_where
// takes out, condition, x, y.
void tarn_compare(const struct rows *r, int op, int threads);
void tarn_where(const struct rows *r, int threads);
void tarn_fill(const struct rows *r, float value, int threads);
void tarn_random(const struct draw *d, uintptr_t out, uintptr_t x, int64_t n, int threads);
void tarn_sgd(const struct rows *r, const struct sgd *h, int threads);
void tarn_adamw(const struct rows *r, const struct adamw *h, int threads);

// n numbers of an enum half, one thread.
void tarn_to_floats(int half, float *out, uintptr_t in, int64_t n);
void tarn_from_floats(int half, uintptr_t out, const float *in, int64_t n);

// tarn_fold_run is one pass of a reduction over n > 0 elements, by the calling
// thread; tarn_fold_partials makes out[i] that over the i-th len of n elements.
double tarn_fold_run(int step, uintptr_t x, int64_t n, double beside);
void tarn_fold_partials(int step, uintptr_t out, uintptr_t x, int64_t n, double beside, int64_t len, int threads);
// tarn_fold is a reduction of some enum fold_kind, of columns or of runs; at has the
// addresses of x, the result, the mean, and dx and dy.
void tarn_fold(struct fold *f, int kind, int columns, const uintptr_t at[5], int threads);

// tarn_attention_work returns the bytes of work space that attention, or its
// gradient, has use for with so many threads; work space for fewer does.
int64_t tarn_attention_work(const struct attention *a, int grad, int threads);
void tarn_attention(struct attention *a, int grad, uintptr_t work, int64_t bytes, int threads);

// The losses, or gradients, of rows rows.
void tarn_loss(struct loss *l, uintptr_t logits, uintptr_t classes, uintptr_t losses, int64_t rows, int threads);
void tarn_loss_grad(struct loss *l, uintptr_t logits, uintptr_t classes, uintptr_t grad, int64_t rows, int threads);

// Convolutions, with SCRATCH bytes of scratch for each thread. sums has room for dw, which is dense, as
// are the planes of dy.
void tarn_conv(const struct conv *v, uintptr_t dst, uintptr_t a, uintptr_t src, uintptr_t bias, uintptr_t scratch, int threads);
void tarn_conv_weight(const struct conv *v, uintptr_t dw, uintptr_t dy, uintptr_t src, uintptr_t sums, uintptr_t scratch, int threads);

// tarn_conv_turn makes of the dense weight w [groups*outputs, channels, kh, kw] that
// of the input's gradient, [groups*channels, outputs, nkh, nkw], of the taps k0,
// k0+kstep and so on.
void tarn_conv_turn(uintptr_t out, uintptr_t w, int64_t groups, int64_t outputs, int64_t channels, int64_t kh, int64_t kw,
                    int64_t k0, int64_t kstep, int64_t nkh, int64_t l0, int64_t lstep, int64_t nkw, int threads);

// An enum line_op on lines, or columns.
void tarn_lines(struct lines *l, int op, int columns, uintptr_t out, uintptr_t a, uintptr_t b, int threads);

// A normalisation; at has the addresses of y, x, w, b, mean, rstd and dy. The
// gradient cuts the rows into pieces, each with room for 2*per*channels doubles,
// and behind those of all as many floats, at parts; without parts it makes dx
// alone.
void tarn_norm(struct norm *h, const uintptr_t at[7], int threads);
void tarn_norm_grad(struct norm *h, const uintptr_t at[7], int64_t pieces, uintptr_t parts, uintptr_t dw, uintptr_t db, int threads);
// A batch normalisation or, with dy, its gradient; at has the addresses of y, x, dy,
// w, b, mean, variance, dw and db.
void tarn_batch(struct batch *h, const uintptr_t at[9], int threads);

// A copy of elements of four bytes.
void tarn_turn(struct turn *t, uintptr_t out, uintptr_t x, int threads);

// A pooling, whose places are those of MAX_POOL alone, or its gradient to x.
void tarn_pool(struct pool *p, enum pool_op op, uintptr_t x, uintptr_t y, uintptr_t places, int threads);
