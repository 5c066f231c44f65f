//go:build cgo && (linux || darwin)

// See cublaslt.h.
#include "cublaslt.h"

#include <stdlib.h>
#include <string.h>

_Static_assert(sizeof(struct lt_algo) == 64, "cublasLtMatmulAlgo_t");
_Static_assert(sizeof(void *) != 8 || sizeof(struct lt_heuristic) == 96, "cublasLtMatmulHeuristicResult_t");
_Static_assert(offsetof(struct lt_heuristic, workspace) == 64, "cublasLtMatmulHeuristicResult_t.workspaceSize");
_Static_assert(sizeof(void *) != 8 || offsetof(struct lt_heuristic, state) == 72, "cublasLtMatmulHeuristicResult_t.state");
_Static_assert(sizeof(uintptr_t) == sizeof(int (*)(void)), "a function's address is an integer");
_Static_assert(sizeof(int) == 4 && sizeof(float) == 4, "attributes have the sizes that the library knows");

// The numbers of cublasLt.h. The libraries of versions 11.11, 12.9 and 13.1 were
// asked for each attribute and its size, and have the same.
enum {
	NOT_SUPPORTED = 15, // CUBLAS_STATUS_NOT_SUPPORTED
	ALLOC_FAILED = 3,   // CUBLAS_STATUS_ALLOC_FAILED

	PRODUCT_TRANSPOSE_A = 3, // CUBLASLT_MATMUL_DESC_TRANSA, int32_t
	PRODUCT_TRANSPOSE_B = 4, // CUBLASLT_MATMUL_DESC_TRANSB, int32_t
	PRODUCT_EPILOGUE = 7,    // CUBLASLT_MATMUL_DESC_EPILOGUE, uint32_t
	PRODUCT_BIAS = 8,        // CUBLASLT_MATMUL_DESC_BIAS_POINTER
	PRODUCT_BIAS_STEP = 10,  // CUBLASLT_MATMUL_DESC_BIAS_BATCH_STRIDE, int64_t

	LAYOUT_BATCH = 5, // CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, int32_t
	LAYOUT_STEP = 6,  // CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, int64_t

	PREFERENCE_WORKSPACE = 1,   // CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, uint64_t
	PREFERENCE_ALIGNMENT_A = 5, // CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, uint32_t; B, C, D are next
};

#define LT_SYMBOL(field, parameters, symbol) #symbol,
static const char *const symbols[] = {LT_TABLE(LT_SYMBOL)};
#undef LT_SYMBOL

#define LT_NUMBER(field, parameters, symbol) LT_##field,
enum { LT_TABLE(LT_NUMBER) LT_FUNCTIONS };
#undef LT_NUMBER

const char *lt_symbol(int function) { return function < LT_FUNCTIONS ? symbols[function] : NULL; }

void lt_set(struct lt_table *t, int function, uintptr_t address) {
	memcpy((char *)t + (size_t)function * sizeof address, &address, sizeof address);
}

// TRY calls a function of the table, unless an earlier one has failed.
#define TRY(o, t, field, ...)                              \
	do {                                               \
		if ((o).code != 0) break;                  \
		(o).code = (t)->field(__VA_ARGS__);        \
		(o).function = LT_##field;                 \
	} while (0)

static struct lt_out begin(struct lt_device on) {
	int code = ((int (*)(uintptr_t))on.set_current)(on.context);
	return (struct lt_out){.code = code, .function = LT_SET_CURRENT};
}

struct lt_out lt_create(const struct lt_table *t, struct lt_device on) {
	struct lt_out o = begin(on);
	void *handle = NULL;
	TRY(o, t, create, &handle);
	o.value = (uintptr_t)handle;
	return o;
}

struct lt_out lt_destroy(const struct lt_table *t, struct lt_device on, void *handle) {
	struct lt_out o = begin(on);
	TRY(o, t, destroy, handle);
	return o;
}

// layout makes the descriptor of a matrix; one that is transposed lies as
// columns by rows.
static void layout(struct lt_out *o, const struct lt_table *t, void **l, int type, int transposed,
	uint64_t rows, uint64_t columns, int64_t lead, int batch, int64_t step) {
	TRY(*o, t, layout_create, l, type, transposed ? columns : rows, transposed ? rows : columns, lead);
	if (batch == 1) return;
	TRY(*o, t, layout_set, *l, LAYOUT_BATCH, &batch, sizeof batch);
	TRY(*o, t, layout_set, *l, LAYOUT_STEP, &step, sizeof step);
}

static void describe(struct lt_out *o, const struct lt_table *t, struct lt_plan *plan, const struct lt_product *p) {
	TRY(*o, t, product_create, &plan->product, p->compute, p->scale);
	TRY(*o, t, product_set, plan->product, PRODUCT_TRANSPOSE_A, &p->a_transposed, sizeof p->a_transposed);
	TRY(*o, t, product_set, plan->product, PRODUCT_TRANSPOSE_B, &p->b_transposed, sizeof p->b_transposed);
	TRY(*o, t, product_set, plan->product, PRODUCT_EPILOGUE, &p->epilogue, sizeof p->epilogue);
	if (p->bias) TRY(*o, t, product_set, plan->product, PRODUCT_BIAS, &p->bias, sizeof p->bias);
	if (p->bias_step)
		TRY(*o, t, product_set, plan->product, PRODUCT_BIAS_STEP, &p->bias_step, sizeof p->bias_step);
	layout(o, t, &plan->a, p->type, p->a_transposed, p->m, p->k, p->a_lead, p->batch, p->a_step);
	layout(o, t, &plan->b, p->type, p->b_transposed, p->k, p->n, p->b_lead, p->batch, p->b_step);
	layout(o, t, &plan->d, p->out_type, 0, p->m, p->n, p->d_lead, p->batch, p->d_step);
}

// choose asks for the algorithm. The library assumes operands that are aligned
// to 256 bytes if it is not told.
static void choose(struct lt_out *o, const struct lt_table *t, struct lt_plan *plan, const struct lt_product *p) {
	const uint32_t alignments[] = {p->a_alignment, p->b_alignment, p->d_alignment, p->d_alignment};
	struct lt_heuristic result = {.state = 0};
	void *preference = NULL;
	int found = 0;
	TRY(*o, t, preference_create, &preference);
	TRY(*o, t, preference_set, preference, PREFERENCE_WORKSPACE, &p->workspace, sizeof p->workspace);
	for (int i = 0; i < 4; i++)
		TRY(*o, t, preference_set, preference, PREFERENCE_ALIGNMENT_A + i, &alignments[i], sizeof alignments[i]);
	TRY(*o, t, heuristic, plan->handle, plan->product, plan->a, plan->b, plan->d, plan->d, preference, 1,
		&result, &found);
	if (o->code == 0) o->code = found < 1 ? NOT_SUPPORTED : result.state;
	plan->algo = result.algo;
	plan->workspace = result.workspace;
	struct lt_out end = {.code = 0};
	if (preference) TRY(end, t, preference_destroy, preference);
	if (o->code == 0) *o = end;
}

struct lt_out lt_plan_create(const struct lt_table *t, struct lt_device on, void *handle,
	const struct lt_product *p) {
	struct lt_out o = begin(on);
	if (o.code != 0) return o;
	struct lt_plan *plan = calloc(1, sizeof *plan);
	if (!plan) return (struct lt_out){.code = ALLOC_FAILED, .function = LT_product_create};
	plan->handle = handle;
	plan->with_bias = p->bias != 0;
	if (p->scale == 1) { // CUDA_R_64F
		plan->alpha.f64 = 1;
		plan->beta.f64 = p->accumulate;
	} else {
		plan->alpha.f32 = 1;
		plan->beta.f32 = p->accumulate;
	}
	describe(&o, t, plan, p);
	choose(&o, t, plan, p);
	if (o.code == 0) {
		o.value = (uintptr_t)plan;
		return o;
	}
	lt_plan_destroy(t, plan); // the first error is the one to tell
	return o;
}

struct lt_out lt_plan_destroy(const struct lt_table *t, struct lt_plan *plan) {
	struct lt_out o = {.code = 0};
	void *layouts[] = {plan->d, plan->b, plan->a};
	for (int i = 0; i < 3; i++)
		if (layouts[i]) TRY(o, t, layout_destroy, layouts[i]);
	if (plan->product) TRY(o, t, product_destroy, plan->product);
	free(plan);
	return o;
}

struct lt_out lt_plan_run(const struct lt_table *t, struct lt_device on, struct lt_plan *plan,
	uintptr_t a, uintptr_t b, uintptr_t d, uintptr_t bias, uintptr_t workspace, uintptr_t stream) {
	struct lt_out o = begin(on);
	if (plan->with_bias) TRY(o, t, product_set, plan->product, PRODUCT_BIAS, &bias, sizeof bias);
	TRY(o, t, matmul, plan->handle, plan->product, &plan->alpha, a, plan->a, b, plan->b, &plan->beta,
		d, plan->d, d, plan->d, &plan->algo, workspace, plan->workspace, stream);
	return o;
}
