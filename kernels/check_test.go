package kernels_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"tarn/kernels"
)

const (
	f32 = kernels.Float32
	f64 = kernels.Float64
	f16 = kernels.Float16
	i64 = kernels.Int64
)

// place returns addresses for operands that lie far apart. Nothing is read.
func place(views ...kernels.View) []kernels.View {
	for i := range views {
		if views[i].Ptr == 0 {
			views[i].Ptr = uintptr(i+1) << 40
		}
	}
	return views
}

// view returns a dense operand.
func view(d kernels.DType, dims ...int64) kernels.View {
	v := kernels.View{DType: d, Rank: int8(len(dims))}
	stride := int64(1)
	for i := len(dims) - 1; i >= 0; i-- {
		v.Dims[i], v.Strides[i] = dims[i], stride
		stride *= dims[i]
	}
	return v
}

func at(v kernels.View, ptr uintptr) kernels.View { v.Ptr = ptr; return v }

func strided(v kernels.View, strides ...int64) kernels.View {
	copy(v.Strides[:], strides)
	return v
}

// args returns an Args whose first n operands are the outputs.
func args(n int, views ...kernels.View) *kernels.Args {
	views = place(views...)
	return &kernels.Args{Out: views[:n], In: views[n:]}
}

func (c checkCase) with(attr kernels.Attr) checkCase { c.args.Attr = attr; return c }

type checkCase struct {
	name string
	id   kernels.ID
	args *kernels.Args
	want error  // nil if Check must accept
	say  string // part of the error's text
}

func good(name string, id kernels.ID, n int, views ...kernels.View) checkCase {
	return checkCase{name: name, id: id, args: args(n, views...)}
}

func bad(name string, id kernels.ID, want error, say string, n int, views ...kernels.View) checkCase {
	return checkCase{name, id, args(n, views...), want, say}
}

var (
	adam     = kernels.Attr{AdamW: kernels.AdamWAttr{Step: 1}}
	before   = kernels.Attr{AdamW: kernels.AdamWAttr{Step: -1}}
	inThree  = kernels.Attr{Norm: kernels.NormAttr{Groups: 3}}
	momentum = kernels.Attr{SGD: kernels.SGDAttr{Momentum: 0.9}}
	x        = uintptr(1 << 50) // an address that operands share
)

var checkCases = []checkCase{
	good("rank 8", kernels.Add, 1, view(f32, 1, 2, 1, 2, 1, 2, 1, 2), view(f32, 1, 2, 1, 2, 1, 2, 1, 2), view(f32, 1, 2, 1, 2, 1, 2, 1, 2)),
	good("empty, no address", kernels.Add, 1, view(f32, 0), kernels.View{DType: f32, Rank: 1}, kernels.View{DType: f32, Rank: 1}),
	good("broadcast input", kernels.Mul, 1, view(f32, 2, 3), strided(view(f32, 2, 3), 0, 1), strided(view(f32, 2, 3), 0, 0)),
	good("stride 0 in an output of no elements", kernels.Exp, 1, strided(view(f32, 0, 3), 0, 0), view(f32, 0, 3)),
	good("stride 0 on an output's dim of 1", kernels.Exp, 1, strided(view(f32, 1, 3), 0, 1), view(f32, 1, 3)),
	good("in place", kernels.Add, 1, at(view(f32, 6), x), at(view(f32, 6), x), view(f32, 6)),
	good("in place, both", kernels.Add, 1, at(view(f32, 6), x), at(view(f32, 6), x), at(view(f32, 6), x)),
	good("in place, dtypes of one size", kernels.Copy, 1, at(view(f64, 6), x), at(view(i64, 6), x)),
	good("side by side", kernels.Exp, 1, at(view(f32, 6), x), at(view(f32, 6), x+24)),
	good("interleaved", kernels.Exp, 1, strided(at(view(f32, 6), x), 2), strided(at(view(f32, 6), x+4), 2)),
	good("reversed in place", kernels.Exp, 1, strided(at(view(f32, 6), x), -1), strided(at(view(f32, 6), x), -1)),
	good("copy converts", kernels.Copy, 1, view(i64, 3), view(f32, 3)),
	good("sum of bools", kernels.Sum, 1, view(i64, 1, 4), view(kernels.Bool, 3, 4)),
	good("product of nothing", kernels.Prod, 1, view(i64, 1, 4), view(kernels.Uint8, 0, 4)),
	good("smallest index of int32", kernels.ArgMin, 1, view(i64, 1), view(kernels.Int32, 3)),
	good("all of nothing", kernels.All, 1, view(kernels.Bool, 1, 4), view(kernels.Float16, 0, 4)),
	good("the first of a sort", kernels.Sort, 2, view(kernels.Bool, 3, 2), view(i64, 3, 2), view(kernels.Bool, 3, 4)).with(kernels.Attr{Axis: 1}),
	good("sum of nothing", kernels.Sum, 1, view(f32, 1, 4), view(f32, 0, 4)),
	good("max of nothing into nothing", kernels.Max, 1, view(f32, 1, 0), view(f32, 3, 0)),
	good("no bias", kernels.MatMul, 1, view(f32, 2, 4), view(f32, 2, 3), view(f32, 3, 4)),
	good("bias", kernels.MatMul, 1, view(f32, 2, 4), view(f32, 2, 3), view(f32, 3, 4), strided(view(f32, 2, 4), 0, 1)),
	good("batch", kernels.MatMul, 1, view(f32, 5, 2, 4), view(f32, 5, 2, 3), view(f32, 5, 3, 4), strided(view(f32, 5, 2, 4), 0, 0, 1)),
	good("batch of rank 8 with one factor for all", kernels.MatMul, 1, view(f32, 1, 2, 1, 2, 1, 2, 2, 4), view(f32, 1, 2, 1, 2, 1, 2, 2, 3), strided(view(f32, 1, 2, 1, 2, 1, 2, 3, 4), 0, 0, 0, 0, 0, 0, 4, 1)),
	good("factor is both operands", kernels.MatMul, 1, view(f32, 3, 3), at(view(f32, 3, 3), x), at(view(f32, 3, 3), x)),
	good("loss", kernels.CrossEntropy, 1, view(f32), view(f32, 5, 3), view(i64, 5)),
	good("attention", kernels.Attention, 2, view(f32, 2, 4, 5, 3), view(f32, 2, 4, 5), view(f32, 2, 4, 5, 8), view(f32, 2, 2, 7, 8), view(f32, 2, 2, 7, 3)),
	good("attention, mask for all heads", kernels.Attention, 2, view(f32, 2, 4, 5, 3), view(f32, 2, 4, 5),
		view(f32, 2, 4, 5, 8), view(f32, 2, 4, 7, 8), view(f32, 2, 4, 7, 3), strided(view(kernels.Bool, 2, 4, 5, 7), 0, 0, 7, 1)),
	good("attention of halves", kernels.Attention, 2, view(kernels.BFloat16, 1, 1, 5, 3), view(f32, 1, 1, 5),
		view(kernels.BFloat16, 1, 1, 5, 8), view(kernels.BFloat16, 1, 1, 7, 8), view(kernels.BFloat16, 1, 1, 7, 3)),
	good("parameters of several dims", kernels.SGDStep, 2, view(f32, 2), view(f32, 3, 4), view(f32, 2), view(f32, 3, 4)),
	good("momentum", kernels.SGDStep, 2, view(f32, 2), view(f32, 2), view(f32, 2)).with(momentum),
	good("adamw", kernels.AdamWStep, 3, view(f32, 2), view(f32, 2), view(f32, 2), view(f32, 2)).with(adam),
	good("adamw, step in memory", kernels.AdamWStep, 3, view(f32, 2), view(f32, 2), view(f32, 2), view(f32, 2), view(i64)),

	good("softmax in place", kernels.Softmax, 1, at(view(f32, 2, 3), x), at(view(f32, 2, 3), x)).with(kernels.Attr{Axis: 1}),
	good("layer norm", kernels.LayerNorm, 3, view(f32, 2, 3), view(f32, 2), view(f32, 2), view(f32, 2, 3)),
	good("layer norm of halves", kernels.LayerNorm, 3, view(f16, 2, 3), view(f32, 2), view(f32, 2), view(f16, 2, 3), view(f16, 3), view(f16, 3)),
	good("layer norm's grad of x alone", kernels.LayerNormGrad, 1, view(f32, 2, 3), view(f32, 2, 3), view(f32, 2, 3), view(f32, 2), view(f32, 2)),
	good("rms norm's grad", kernels.RMSNormGrad, 2, view(f32, 2, 3), view(f32, 3), view(f32, 2, 3), view(f32, 2, 3), view(f32, 2), view(f32, 3)),
	good("group norm", kernels.GroupNorm, 3, view(f32, 2, 6, 5), view(f32, 2, 3), view(f32, 2, 3), view(f32, 2, 6, 5)).with(inThree),
	good("running statistics", kernels.BatchNorm, 5, view(f32, 2, 6, 5), view(f32, 6), view(f32, 6), view(f32, 6), view(f32, 6), view(f32, 2, 6, 5)),
	good("nll", kernels.NLL, 2, view(f32, 4), view(f32, 4), view(f32, 4, 3), view(i64, 4), view(f32, 3)),

	bad("one running statistic", kernels.BatchNorm, kernels.ErrArgs, "4 outputs", 4,
		view(f32, 2, 6, 5), view(f32, 6), view(f32, 6), view(f32, 6), view(f32, 2, 6, 5)),
	bad("statistics of halves", kernels.LayerNorm, kernels.ErrDType, "out[1] is float16, want float32 for out[0] of float16", 3,
		view(f16, 2, 3), view(f16, 2), view(f16, 2), view(f16, 2, 3)),
	bad("weight of another length", kernels.LayerNorm, kernels.ErrDims, "in[1] float32[2], want dims [3]", 3,
		view(f32, 2, 3), view(f32, 2), view(f32, 2), view(f32, 2, 3), view(f32, 2)),
	bad("statistics of another length", kernels.RMSNormGrad, kernels.ErrDims, "in[2] float32[3], want dims [2]", 1,
		view(f32, 2, 3), view(f32, 2, 3), view(f32, 2, 3), view(f32, 3)),
	bad("groups", kernels.GroupNorm, kernels.ErrAttr, "3 groups of the channels of in[0] float32[2 4 5]", 3,
		view(f32, 2, 4, 5), view(f32, 2, 3), view(f32, 2, 3), view(f32, 2, 4, 5)).with(inThree),
	bad("softmax along dim 2 of 2", kernels.Softmax, kernels.ErrAttr, "axis 2", 1, view(f32, 2, 3), view(f32, 2, 3)).with(kernels.Attr{Axis: 2}),
	bad("softmax of rank 0", kernels.LogSoftmax, kernels.ErrAttr, "axis 0", 1, view(f32), view(f32)),
	bad("smoothing", kernels.NLL, kernels.ErrAttr, "smoothing -1", 2, view(f32, 4), view(f32, 4), view(f32, 4, 3), view(i64, 4)).with(
		kernels.Attr{Loss: kernels.LossAttr{Smoothing: -1}}),
	bad("nll's classes", kernels.NLLGrad, kernels.ErrDType, "in[1], the classes, is float32", 1, view(f32, 4, 3), view(f32, 4), view(f32, 4)),
	bad("too few", kernels.Add, kernels.ErrArgs, "1 outputs and 1 inputs, want 1 and 2", 1, view(f32), view(f32)),
	bad("too many", kernels.MatMul, kernels.ErrArgs, "want 1 and 2 to 3", 1,
		view(f32, 1, 1), view(f32, 1, 1), view(f32, 1, 1), view(f32, 1, 1), view(f32, 1, 1)),
	bad("no momentum buffer", kernels.SGDStep, kernels.ErrArgs, "want 2 and 1", 1, view(f32, 2), view(f32, 2)).with(momentum),
	bad("no parameter", kernels.AdamWStep, kernels.ErrArgs, "want 3 and 1", 0).with(adam),
	bad("unknown dtype", kernels.Exp, kernels.ErrDType, "in[0] is DType(9)", 1, view(f32), view(9)),
	bad("int64 where float is wanted", kernels.Exp, kernels.ErrDType, "int64[2]", 1, view(i64, 2), view(i64, 2)),
	bad("mixed", kernels.Add, kernels.ErrDType, "in[1] is float64, want float32", 1, view(f32), view(f32), view(f64)),
	bad("float classes", kernels.CrossEntropy, kernels.ErrDType, "classes, is float32", 1, view(f32), view(f32, 5, 3), view(f32, 5)),
	bad("argmax of bool", kernels.ArgMax, kernels.ErrDType, "in[0] is bool, want one of", 1, view(i64, 1), view(kernels.Bool, 3)),
	bad("float sum of int64", kernels.Sum, kernels.ErrDType, "out[0] is float32, want int64 for in[0] of int64", 1, view(f32, 1), view(i64, 3)),
	bad("integer product of float", kernels.Prod, kernels.ErrDType, "out[0] is int64, want float32 for in[0] of float32", 1, view(i64, 1), view(f32, 3)),
	bad("sum into int32", kernels.Sum, kernels.ErrDType, "out[0] int32[1]", 1, view(kernels.Int32, 1), view(kernels.Int32, 3)),
	bad("any into int64", kernels.Any, kernels.ErrDType, "out[0] int64[1]", 1, view(i64, 1), view(i64, 3)),
	bad("max of bool", kernels.Max, kernels.ErrDType, "out[0] bool[1]", 1, view(kernels.Bool, 1), view(kernels.Bool, 3)),
	bad("mean of other dims", kernels.Var, kernels.ErrDims, "out[1] float32[3 4]", 2, view(f32, 3, 1), view(f32, 3, 4), view(f32, 3, 4)),
	bad("mean of another type", kernels.Var, kernels.ErrDType, "out[1] is float64", 2, view(f32, 3, 1), view(f64, 3, 1), view(f32, 3, 4)),
	bad("infinite power", kernels.Norm, kernels.ErrAttr, "power +Inf", 1, view(f32, 1), view(f32, 3)).with(kernels.Attr{Alpha: math.Inf(1)}),
	bad("scan along no axis", kernels.CumSum, kernels.ErrAttr, "axis 0 of out[0] float32[]", 1, view(f32), view(f32)),
	bad("scan of other dims", kernels.CumProd, kernels.ErrDims, "in[0] float32[4]", 1, view(f32, 3), view(f32, 4)),
	bad("float indices", kernels.Sort, kernels.ErrDType, "out[1], the indices, is float32", 2, view(f32, 3), view(f32, 3), view(f32, 3)),
	bad("longer than the axis", kernels.Sort, kernels.ErrDims, "first of it along axis 0", 2, view(f32, 4), view(i64, 4), view(f32, 3)),
	bad("indices of other dims", kernels.Sort, kernels.ErrDims, "out[1] int64[3]", 2, view(f32, 2), view(i64, 3), view(f32, 3)),
	bad("sorting too many", kernels.Sort, kernels.ErrDims, "at most 2147483647", 2, view(f32, 1), view(i64, 1), strided(view(f32, 1<<31), 0)),
	bad("sort grad's rows", kernels.SortGrad, kernels.ErrDims, "differ beside axis 1", 1, view(f32, 3, 4), view(f32, 2, 4), view(i64, 2, 4)).with(kernels.Attr{Axis: 1}),
	good("rows by one index each", kernels.Gather, 1, view(kernels.Bool, 7, 4), view(kernels.Bool, 3, 4), strided(view(i64, 7, 4), 1, 0)),
	good("gather from nothing", kernels.Gather, 1, view(f32, 2), view(f32, 0), view(i64, 2)),
	good("scatter into less", kernels.Scatter, 1, view(f32, 2, 4), view(f32, 7, 4), view(i64, 7, 4)),
	good("scatter nothing", kernels.ScatterAdd, 1, view(i64, 2, 4), view(i64, 0, 4), view(i64, 0, 4)),
	bad("gather's rows", kernels.Gather, kernels.ErrDims, "differ beside axis 1", 1, view(f32, 3, 4), view(f32, 2, 4), view(i64, 3, 4)).with(kernels.Attr{Axis: 1}),
	bad("gather's axis", kernels.Gather, kernels.ErrAttr, "axis 0 of in[0] float32[]", 1, view(f32), view(f32), view(i64)),
	bad("gather's indices", kernels.Gather, kernels.ErrDType, "the indices, is int32", 1, view(f32, 3), view(f32, 2), view(kernels.Int32, 3)),
	bad("gather by indices of other dims", kernels.Gather, kernels.ErrDims, "in[1] int64[2]", 1, view(f32, 3), view(f32, 2), view(i64, 2)),
	bad("gather to another type", kernels.Gather, kernels.ErrDType, "in[0] is float64", 1, view(f32, 3), view(f64, 2), view(i64, 3)),
	bad("scatter's rows", kernels.Scatter, kernels.ErrDims, "differ beside axis 0", 1, view(f32, 3, 4), view(f32, 2, 5), view(i64, 2, 5)),
	bad("scatter's indices", kernels.ScatterAdd, kernels.ErrDims, "in[1] int64[3]", 1, view(f32, 5), view(f32, 2), view(i64, 3)),
	bad("adding bools", kernels.ScatterAdd, kernels.ErrDType, "out[0] bool", 1, view(kernels.Bool, 5), view(kernels.Bool, 2), view(i64, 2)),
	bad("scatter over its input", kernels.Scatter, kernels.ErrOverlap, "in[0]", 1, at(view(f32, 3), x), at(view(f32, 3), x), view(i64, 3)),
	bad("sort grad's indices", kernels.SortGrad, kernels.ErrDType, "the indices, is float32", 1, view(f32, 3), view(f32, 2), view(f32, 2)),
	bad("min of nothing", kernels.Min, kernels.ErrDims, "int32[0 4] has no element", 1, view(kernels.Int32, 1, 4), view(kernels.Int32, 0, 4)),
	bad("negative dim", kernels.Exp, kernels.ErrDims, "float32[2 -1]", 1, view(f32, 2, 3), view(f32, 2, -1)),
	bad("more elements than int64", kernels.Exp, kernels.ErrDims, "more elements", 1,
		view(f32, 0), strided(view(f32, 1<<40, 1<<40), 0, 0)),
	bad("that many beside a 0", kernels.Exp, kernels.ErrDims, "more elements", 1, view(f32, 0), view(f32, 1<<40, 0, 1<<40)),
	bad("dims differ", kernels.Add, kernels.ErrDims, "in[1] float32[3 2], want the dims of float32[2 3]", 1,
		view(f32, 2, 3), view(f32, 2, 3), view(f32, 3, 2)),
	bad("ranks differ", kernels.Exp, kernels.ErrDims, "float32[1 3]", 1, view(f32, 3), view(f32, 1, 3)),
	bad("no reduction", kernels.Sum, kernels.ErrDims, "float32[2 1] is no reduction of float32[3 4]", 1, view(f32, 2, 1), view(f32, 3, 4)),
	bad("reduced rank", kernels.Sum, kernels.ErrDims, "float32[3] is no reduction of float32[3 4]", 1, view(f32, 3), view(f32, 3, 4)),
	bad("max of nothing", kernels.Max, kernels.ErrDims, "float32[0 4] has no element", 1, view(f32, 1, 4), view(f32, 0, 4)),
	bad("max grad's dy", kernels.MaxGrad, kernels.ErrDims, "in[0] float32[3 1]", 1, view(f32, 3, 4), view(f32, 3, 1), view(f32, 3, 4), view(f32, 1, 4)),
	bad("axis", kernels.ArgMax, kernels.ErrAttr, "axis 2 of in[0] float32[3 4]", 1, view(i64, 3, 1), view(f32, 3, 4)).with(kernels.Attr{Axis: 2}),
	bad("axis of rank 0", kernels.ArgMax, kernels.ErrAttr, "axis 0", 1, view(i64), view(f32)),
	bad("inner dims", kernels.MatMul, kernels.ErrDims, "in[0] float32[2 3] times in[1] float32[4 5] into out[0] float32[2 5]", 1,
		view(f32, 2, 5), view(f32, 2, 3), view(f32, 4, 5)),
	bad("batches differ", kernels.MatMul, kernels.ErrDims, "in[0] float32[5 2 3] times in[1] float32[1 3 4] into out[0] float32[5 2 4]", 1,
		view(f32, 5, 2, 4), view(f32, 5, 2, 3), view(f32, 1, 3, 4)),
	bad("ranks differ", kernels.MatMul, kernels.ErrDims, "in[1] float32[3 4]", 1, view(f32, 5, 2, 4), view(f32, 5, 2, 3), view(f32, 3, 4)),
	bad("product of vectors", kernels.MatMul, kernels.ErrDims, "in[0] float32[3]", 1, view(f32), view(f32, 3), view(f32, 3)),
	bad("batch that repeats a product", kernels.MatMul, kernels.ErrOverlap, "along dim 0", 1,
		strided(view(f32, 5, 2, 4), 0, 4, 1), view(f32, 5, 2, 3), view(f32, 5, 3, 4)),
	bad("bias of rank 1", kernels.MatMul, kernels.ErrDims, "in[2] float32[4]", 1,
		view(f32, 2, 4), view(f32, 2, 3), view(f32, 3, 4), view(f32, 4)),
	bad("classes for other rows", kernels.CrossEntropy, kernels.ErrDims, "classes in[1] int64[4]", 1,
		view(f32), view(f32, 5, 3), view(i64, 4)),
	bad("loss of rank 1", kernels.CrossEntropyGrad, kernels.ErrDims, "dloss in[0] float32[1]", 1,
		view(f32, 5, 3), view(f32, 1), view(f32, 5, 3), view(i64, 5)),
	bad("attention of rank 3", kernels.Attention, kernels.ErrDims, "want [B H L D]", 2, view(f32, 4, 5, 3), view(f32, 4, 5),
		view(f32, 4, 5, 8), view(f32, 4, 7, 8), view(f32, 4, 7, 3)),
	bad("heads that do not divide", kernels.Attention, kernels.ErrDims, "3 heads of k", 2, view(f32, 1, 4, 5, 3), view(f32, 1, 4, 5),
		view(f32, 1, 4, 5, 8), view(f32, 1, 3, 7, 8), view(f32, 1, 3, 7, 3)),
	bad("heads without keys", kernels.Attention, kernels.ErrDims, "0 heads of k", 2, view(f32, 1, 4, 5, 3), view(f32, 1, 4, 5),
		view(f32, 1, 4, 5, 8), view(f32, 1, 0, 7, 8), view(f32, 1, 0, 7, 3)),
	bad("as many keys as values", kernels.Attention, kernels.ErrDims, "v float32[1 4 6 3]", 2, view(f32, 1, 4, 5, 3), view(f32, 1, 4, 5),
		view(f32, 1, 4, 5, 8), view(f32, 1, 4, 7, 8), view(f32, 1, 4, 6, 3)),
	bad("mask of the keys alone", kernels.Attention, kernels.ErrDims, "mask in[3] bool[7], want [1 4 5 7]", 2, view(f32, 1, 4, 5, 3), view(f32, 1, 4, 5),
		view(f32, 1, 4, 5, 8), view(f32, 1, 4, 7, 8), view(f32, 1, 4, 7, 3), view(kernels.Bool, 7)),
	bad("mask of integers", kernels.Attention, kernels.ErrDType, "in[3], the mask, if not bool, is int64", 2, view(f32, 1, 4, 5, 3), view(f32, 1, 4, 5),
		view(f32, 1, 4, 5, 8), view(f32, 1, 4, 7, 8), view(f32, 1, 4, 7, 3), view(i64, 1, 4, 5, 7)),
	bad("logsumexp of halves", kernels.Attention, kernels.ErrDType, "out[1], the logsumexp, is float16, want float32", 2,
		view(kernels.Float16, 1, 4, 5, 3), view(kernels.Float16, 1, 4, 5),
		view(kernels.Float16, 1, 4, 5, 8), view(kernels.Float16, 1, 4, 7, 8), view(kernels.Float16, 1, 4, 7, 3)),
	bad("gradient of another k", kernels.AttentionGrad, kernels.ErrDims, "out[1] float32[1 4 6 8], want the dims of float32[1 4 7 8]", 3,
		view(f32, 1, 4, 5, 8), view(f32, 1, 4, 6, 8), view(f32, 1, 4, 7, 3), view(f32, 1, 4, 5, 3),
		view(f32, 1, 4, 5, 8), view(f32, 1, 4, 7, 8), view(f32, 1, 4, 7, 3), view(f32, 1, 4, 5, 3), view(f32, 1, 4, 5)),
	bad("gradient of another o", kernels.AttentionGrad, kernels.ErrDims, "in[0] float32[1 4 5 4]", 3,
		view(f32, 1, 4, 5, 8), view(f32, 1, 4, 7, 8), view(f32, 1, 4, 7, 3), view(f32, 1, 4, 5, 4),
		view(f32, 1, 4, 5, 8), view(f32, 1, 4, 7, 8), view(f32, 1, 4, 7, 3), view(f32, 1, 4, 5, 3), view(f32, 1, 4, 5)),
	bad("gradient of other dims", kernels.SGDStep, kernels.ErrDims, "out[1] float32[3 4], want the dims of float32[4 3]", 2,
		view(f32, 2), view(f32, 3, 4), view(f32, 2), view(f32, 4, 3)),
	bad("step -1", kernels.AdamWStep, kernels.ErrAttr, "step -1", 3, view(f32, 2), view(f32, 2), view(f32, 2), view(f32, 2)).with(before),
	bad("step 0 and no input that holds it", kernels.AdamWStep, kernels.ErrArgs, "want 3 and 2", 3,
		view(f32, 2), view(f32, 2), view(f32, 2), view(f32, 2)),
	bad("step 1 and an input that holds it", kernels.AdamWStep, kernels.ErrArgs, "want 6 and 2", 3,
		view(f32, 2), view(f32, 2), view(f32, 2), view(f32, 2), view(i64)).with(adam),
	bad("a step and no gradient", kernels.AdamWStep, kernels.ErrArgs, "want 3 and 2", 0, view(i64)),
	bad("float step", kernels.AdamWStep, kernels.ErrDType, "in[1], the step, is float32", 3,
		view(f32, 2), view(f32, 2), view(f32, 2), view(f32, 2), view(f32)),
	bad("steps", kernels.AdamWStep, kernels.ErrDims, "in[1] int64[1], the step", 3,
		view(f32, 2), view(f32, 2), view(f32, 2), view(f32, 2), view(i64, 1)),
	bad("step without an address", kernels.AdamWStep, kernels.ErrAddress, "in[1] int64[] at 0x4", 3,
		view(f32, 2), view(f32, 2), view(f32, 2), view(f32, 2), at(view(i64), 4)),
	bad("step in a parameter", kernels.AdamWStep, kernels.ErrOverlap, "out[3] float32[6] and in[2] int64[], the step", 6,
		view(f32, 2), view(f32, 2), view(f32, 2), at(view(f32, 6), x), view(f32, 6), view(f32, 6),
		view(f32, 2), view(f32, 6), at(view(i64), x+8)),
	bad("odd address", kernels.Exp, kernels.ErrAddress, "in[0] float64[2] at 0x1004", 1, view(f64, 2), at(view(f64, 2), 0x1004)),
	bad("output repeats", kernels.Fill, kernels.ErrOverlap, "along dim 0", 1, strided(view(f32, 2, 3), 0, 1)),
	bad("one element on", kernels.Exp, kernels.ErrOverlap, "out[0] float32[6] and in[0] float32[6]", 1, at(view(f32, 6), x), at(view(f32, 6), x+4)),
	bad("transposed in place", kernels.Exp, kernels.ErrOverlap, "", 1, at(view(f32, 3, 3), x), strided(at(view(f32, 3, 3), x), 1, 3)),
	bad("reversed onto itself", kernels.Exp, kernels.ErrOverlap, "", 1, at(view(f32, 6), x), strided(at(view(f32, 6), x+20), -1)),
	bad("own row broadcast", kernels.Add, kernels.ErrOverlap, "in[1]", 1,
		at(view(f32, 3, 3), x), at(view(f32, 3, 3), x), strided(at(view(f32, 3, 3), x+12), 0, 1)),
	bad("wider dtype in place", kernels.Copy, kernels.ErrOverlap, "", 1, at(view(f64, 6), x), at(view(f32, 6), x)),
	bad("product over a factor", kernels.MatMul, kernels.ErrOverlap, "", 1, at(view(f32, 3, 3), x), at(view(f32, 3, 3), x), view(f32, 3, 3)),
	bad("loss over a logit", kernels.CrossEntropy, kernels.ErrOverlap, "in[0]", 1,
		at(view(f32), x+8), at(view(f32, 5, 3), x), view(i64, 5)),
	bad("moments share", kernels.AdamWStep, kernels.ErrOverlap, "another output", 3,
		view(f32, 2), at(view(f32, 2), x), at(view(f32, 2), x), view(f32, 2)).with(adam),
}

func TestCheck(t *testing.T) {
	for _, c := range checkCases {
		t.Run(c.name, c.run)
	}
}

func (c checkCase) run(t *testing.T) {
	err := kernels.Check(c.id, c.id.DTypes(), c.args)
	if c.want == nil {
		require.NoError(t, err)
		return
	}
	var e *kernels.Error
	require.ErrorAs(t, err, &e)
	require.Equal(t, c.id, e.Op)
	require.ErrorIs(t, err, c.want)
	require.ErrorContains(t, err, c.say)
}

func TestCheckRank(t *testing.T) {
	for _, rank := range []int8{-128, -1, kernels.MaxRank + 1, 127} {
		v := view(f32, 2)
		v.Rank = rank
		require.ErrorIs(t, kernels.Check(kernels.Exp, kernels.Exp.DTypes(), args(1, v, view(f32, 2))), kernels.ErrDims)
		require.ErrorIs(t, kernels.Check(kernels.Exp, kernels.Exp.DTypes(), args(1, view(f32, 2), v)), kernels.ErrDims)
	}
}

// TestCheckDevice: a device that has fewer dtypes than the specification
// refuses the others.
func TestCheckDevice(t *testing.T) {
	a := args(1, view(f64, 2), view(f64, 2))
	require.NoError(t, kernels.Check(kernels.Exp, kernels.Of(f64), a))
	require.ErrorIs(t, kernels.Check(kernels.Exp, kernels.Of(f32), a), kernels.ErrDType)
	require.ErrorIs(t, kernels.Check(kernels.Exp, kernels.Of(f32, f64, i64), args(1, view(i64, 2), view(i64, 2))), kernels.ErrDType)
}

func TestCheckUnknownOp(t *testing.T) {
	require.ErrorIs(t, kernels.Check(kernels.ID(kernels.NumOps), 0, &kernels.Args{}), kernels.ErrNoOp)
	require.Zero(t, kernels.ID(200).DTypes())
}

func TestCheckAllocatesNothing(t *testing.T) {
	for _, c := range checkCases {
		if c.want == nil {
			n := testing.AllocsPerRun(100, func() { _ = kernels.Check(c.id, c.id.DTypes(), c.args) })
			require.Zero(t, n, c.name)
		}
	}
}

func BenchmarkCheck(b *testing.B) {
	a := args(1, view(f32, 64, 256), view(f32, 64, 256), strided(view(f32, 64, 256), 0, 1))
	for b.Loop() {
		if err := kernels.Check(kernels.Add, kernels.Add.DTypes(), a); err != nil {
			b.Fatal(err)
		}
	}
}
