// isa.h: makes one instance of all bodies. The including file has defined
// TARGET, VB and INSTANCE.
#include "vec.h"
#include "vmath_round.h"
#include "vmath_exp.h"
#include "vmath_log.h"
#include "vmath_wide.h"
#include "vmath_trig.h"
#include "vmath_erf.h"
#include "vmath_pow.h"
#include "division.h"
#include "activation.h"
#include "half.h"
#include "elementwise.h"
#include "compare.h"
#include "random.h"
#include "reduce.h"
#include "loss.h"
#include "fold.h"
#include "choice.h"
#include "softmax.h"
#include "softmax_columns.h"
#include "scan.h"
#include "norm.h"
#include "batchnorm.h"
#include "optim.h"
#include "gemm_tile.h"
#include "gemm.h"
#include "attention.h"
#include "attention_grad.h"
#include "conv_pack.h"
#include "conv.h"
#include "conv_depthwise.h"
#include "conv_depthwise_weight.h"
#include "window.h"

const struct isa INSTANCE = {
	.gemm = gemm_block,
	.conv = conv_block,
	.conv_weight = conv_weight,
	.depthwise = depthwise,
	.depthwise_weight = depthwise_weight,
	.unary = {
		[COPY] = unary_copy, [AFFINE] = unary_affine, [EXP] = unary_exp, [LOG] = unary_log, [SQRT] = unary_sqrt, [RELU] = unary_relu,
		[NEG] = unary_neg, [ABS] = unary_abs, [SIGN] = unary_sign, [FLOOR] = unary_floor, [CEIL] = unary_ceil,
		[TRUNC] = unary_trunc, [ROUND] = unary_round, [RECIPROCAL] = unary_reciprocal, [RSQRT] = unary_rsqrt,
		[EXPM1] = unary_expm1, [LOG1P] = unary_log1p, [SIN] = unary_sin, [COS] = unary_cos, [TANH] = unary_tanh,
		[SIGMOID] = unary_sigmoid, [ERF] = unary_erf, [SILU] = unary_silu, [GELU] = unary_gelu,
		[GELU_TANH] = unary_gelu_tanh, [LEAKY_RELU] = unary_leaky_relu, [ELU] = unary_elu, [SOFTPLUS] = unary_softplus,
		[POW_SCALAR] = unary_pow, [CLAMP] = unary_clamp,
	},
	.binary = {
		[ADD] = binary_add, [SUB] = binary_sub, [MUL] = binary_mul, [DIV] = binary_div, [RELU_GRAD] = binary_relu_grad,
		[TANH_GRAD] = binary_tanh_grad, [SIGMOID_GRAD] = binary_sigmoid_grad, [SILU_GRAD] = binary_silu_grad,
		[GELU_GRAD] = binary_gelu_grad, [GELU_TANH_GRAD] = binary_gelu_tanh_grad, [LEAKY_RELU_GRAD] = binary_leaky_relu_grad,
		[ELU_GRAD] = binary_elu_grad, [SOFTPLUS_GRAD] = binary_softplus_grad, [CLAMP_GRAD] = binary_clamp_grad,
		[POW] = binary_pow, [MAXIMUM] = binary_maximum, [MINIMUM] = binary_minimum,
		[FLOOR_DIVIDE] = binary_floor_divide, [REMAINDER] = binary_remainder,
	},
	.compare = {
		[EQUAL] = compare_equal, [NOT_EQUAL] = compare_not_equal, [LESS] = compare_less, [LESS_EQUAL] = compare_less_equal,
		[GREATER] = compare_greater, [GREATER_EQUAL] = compare_greater_equal, [IS_NAN] = compare_is_nan,
		[IS_INF] = compare_is_inf, [NOT] = compare_not,
	},
	.where = where_run,
	.to_floats = {[F16] = f16_to_floats, [BF16] = bf16_to_floats},
	.from_floats = {[F16] = f16_from_floats, [BF16] = bf16_from_floats},
	.fill = fill_run,
	.transpose = transpose,
	.random = random_run,
	.fold_run = fold_run,
	.fold = {[TOTAL_OF] = {fold_rows, fold_columns}, [INDEX_OF] = {index_rows, index_columns}, [GRAD_OF_MAX] = {max_grad_rows, max_grad_columns}},
	.loss = loss_rows,
	.loss_grad = loss_grad_rows,
	.attention_packed = attention_packed,
	.attention_grad_packed = attention_grad_packed,
	.attention_scratch = attention_scratch,
	.attention_grad_scratch = attention_grad_scratch,
	.attention_pack = attention_pack,
	.attention = attention_block,
	.attention_grad = attention_grad_head,
	.attention_grad_join = attention_grad_join,
	.lines = {[SOFTMAX] = {softmax_rows, softmax_columns}, [SOFTMAX_GRAD] = {softmax_grad_rows, softmax_grad_columns}, [SCAN] = {scan_rows, scan_columns}},
	.norm = norm_rows,
	.norm_grad = norm_grad_rows,
	.batch = {batch_planes, batch_columns},
	.batch_grad = {batch_grad_planes, batch_grad_columns},
	.join_columns = join_columns,
	.pool = {[MAX_POOL] = max_pool_planes, [AVG_POOL] = avg_pool_planes, [AVG_POOL_GRAD] = avg_pool_grad_planes},
	.sgd = sgd_run,
	.adamw = adamw_run,
};
