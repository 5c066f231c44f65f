// isa.h: makes one instance of all bodies. The including file has defined
// TARGET, VB and INSTANCE.
#include "vec.h"
#include "vmath.h"
#include "elementwise.h"
#include "reduce.h"
#include "loss.h"
#include "optim.h"
#include "gemm_tile.h"
#include "gemm.h"

const struct isa INSTANCE = {
	.gemm = gemm_block,
	.unary = {[AFFINE] = unary_affine, [EXP] = unary_exp, [LOG] = unary_log, [SQRT] = unary_sqrt, [RELU] = unary_relu},
	.binary = {[ADD] = binary_add, [SUB] = binary_sub, [MUL] = binary_mul, [DIV] = binary_div, [RELU_GRAD] = binary_relu_grad},
	.fill = fill_run,
	.sum = sum_run,
	.sum_columns = sum_columns,
	.max = max_run,
	.loss = loss_rows,
	.loss_grad = loss_grad_rows,
	.sgd = sgd_run,
	.adamw = adamw_run,
};
