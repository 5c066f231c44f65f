//go:build cgo && (linux || darwin)

// The functions of cuBLASLt in use, with the signatures that NVIDIA documents;
// none of its headers is needed. Handles and descriptors are pointers that
// nobody but the library follows, matrices and streams are addresses on the
// device, and all enumerations are int. All return a cublasStatus_t.
#ifndef TARN_CUBLASLT_H
#define TARN_CUBLASLT_H

#include <stddef.h>
#include <stdint.h>

// cublasLtMatmulAlgo_t and cublasLtMatmulHeuristicResult_t.
struct lt_algo {
	uint64_t data[8];
};
struct lt_heuristic {
	struct lt_algo algo;
	size_t workspace;
	int state;
	float waves;
	int reserved[4];
};

// X(field, parameters, symbol)
#define LT_TABLE(X)                                                                              \
	X(create, (void **handle), cublasLtCreate)                                               \
	X(destroy, (void *handle), cublasLtDestroy)                                              \
	X(product_create, (void **product, int compute, int scale), cublasLtMatmulDescCreate)    \
	X(product_destroy, (void *product), cublasLtMatmulDescDestroy)                           \
	X(product_set, (void *product, int attribute, const void *value, size_t size),           \
	  cublasLtMatmulDescSetAttribute)                                                        \
	X(layout_create, (void **layout, int type, uint64_t rows, uint64_t columns, int64_t lead), \
	  cublasLtMatrixLayoutCreate)                                                            \
	X(layout_destroy, (void *layout), cublasLtMatrixLayoutDestroy)                           \
	X(layout_set, (void *layout, int attribute, const void *value, size_t size),             \
	  cublasLtMatrixLayoutSetAttribute)                                                      \
	X(preference_create, (void **preference), cublasLtMatmulPreferenceCreate)                \
	X(preference_destroy, (void *preference), cublasLtMatmulPreferenceDestroy)               \
	X(preference_set, (void *preference, int attribute, const void *value, size_t size),     \
	  cublasLtMatmulPreferenceSetAttribute)                                                  \
	X(heuristic, (void *handle, void *product, void *a, void *b, void *c, void *d,           \
	  void *preference, int wanted, struct lt_heuristic *results, int *found),               \
	  cublasLtMatmulAlgoGetHeuristic)                                                        \
	X(matmul, (void *handle, void *product, const void *alpha, uintptr_t a, void *a_layout,  \
	  uintptr_t b, void *b_layout, const void *beta, uintptr_t c, void *c_layout, uintptr_t d, \
	  void *d_layout, const struct lt_algo *algo, uintptr_t workspace, size_t workspace_size, \
	  uintptr_t stream), cublasLtMatmul)

#define LT_FIELD(field, parameters, symbol) int(*field) parameters;
struct lt_table {
	LT_TABLE(LT_FIELD)
};
#undef LT_FIELD

// What a call came to: the code of the function that failed, which is one of
// the table, by its place there, or LT_SET_CURRENT.
enum { LT_SET_CURRENT = -1 };
struct lt_out {
	uint64_t value; // what the call made
	int code, function;
};

// The device to work on: cuCtxSetCurrent, and the CUcontext that it is called
// with before all else, on the same thread.
struct lt_device {
	uintptr_t set_current, context;
};

// D = epilogue(A B + D): D of m by n and B of k by n, column by column. Types,
// transposes (0 or 1) and the epilogue are the library's numbers, strides from
// column to column (lead) and from matrix to matrix (step) are in elements.
struct lt_product {
	int type, out_type, compute, scale;
	int a_transposed, b_transposed, epilogue, accumulate, batch;
	uint64_t m, n, k;
	int64_t a_lead, b_lead, d_lead, a_step, b_step, d_step, bias_step;
	uint32_t a_alignment, b_alignment, d_alignment; // of the addresses, in bytes
	uintptr_t bias;      // an address that is aligned like those to come
	uint64_t workspace;  // bytes that it may take
};

// lt_symbol returns the name of a function of the table, NULL after the last.
const char *lt_symbol(int function);
// lt_set stores the address of a function.
void lt_set(struct lt_table *t, int function, uintptr_t address);

// lt_create makes a handle. lt_destroy takes it away.
struct lt_out lt_create(const struct lt_table *t, struct lt_device on);
struct lt_out lt_destroy(const struct lt_table *t, struct lt_device on, void *handle);

// lt_plan is a product that the library has said how to do. It is C memory.
struct lt_plan {
	void *handle, *product, *a, *b, *d;
	struct lt_algo algo;
	size_t workspace; // bytes that it needs
	int with_bias;
	union {
		float f32;
		double f64;
	} alpha, beta;
};

// lt_plan_create makes a plan, NULL with CUBLAS_STATUS_NOT_SUPPORTED where the
// library knows no way.
struct lt_out lt_plan_create(const struct lt_table *t, struct lt_device on, void *handle,
	const struct lt_product *p);
// lt_plan_destroy takes a plan away, also one that is half made.
struct lt_out lt_plan_destroy(const struct lt_table *t, struct lt_plan *plan);
// lt_plan_run queues the product.
struct lt_out lt_plan_run(const struct lt_table *t, struct lt_device on, struct lt_plan *plan,
	uintptr_t a, uintptr_t b, uintptr_t d, uintptr_t bias, uintptr_t workspace, uintptr_t stream);

#endif
