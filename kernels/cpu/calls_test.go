package cpu

import (
	"iter"

	"tarn/kernels"
)

// wholeOperand returns a dense operand of int64, all 0.
func wholeOperand(dims ...int64) kernels.View {
	v := operand(append([]int64{2}, dims...)...)
	clear(kept[len(kept)-1])
	v.Rank--
	copy(v.Dims[:], v.Dims[1:])
	copy(v.Strides[:], v.Strides[1:])
	v.DType, v.Ptr = kernels.Int64, (v.Ptr+7)&^7
	return v
}

func views(list ...kernels.View) []kernels.View { return list }

// smallCalls returns a small call for every op of t, of float32 where it has
// them.
func smallCalls(t *kernels.Table) iter.Seq2[kernels.ID, *kernels.Args] {
	return func(yield func(kernels.ID, *kernels.Args) bool) {
		for id := range kernels.ID(kernels.NumOps) {
			a := smallCall(id)
			if !yield(id, withWorkspace(t[id], a)) {
				return
			}
		}
	}
}

func smallCall(id kernels.ID) *kernels.Args {
	x, y, z := operand(4, 4), operand(4, 4), operand(4, 4)
	switch id {
	case kernels.Fill:
		return &kernels.Args{Out: views(z)}
	case kernels.Sum, kernels.Prod, kernels.Max, kernels.Min, kernels.Any, kernels.All, kernels.LogSumExp, kernels.Norm:
		return &kernels.Args{Out: views(as(id.DTypes(), operand(1, 4))), In: views(x), Attr: kernels.Attr{Alpha: 2}}
	case kernels.Var:
		return &kernels.Args{Out: views(operand(1, 4), operand(1, 4)), In: views(x)}
	case kernels.MaxGrad:
		return &kernels.Args{Out: views(z), In: views(operand(4, 1), x, operand(4, 1))}
	case kernels.ArgMax, kernels.ArgMin:
		return &kernels.Args{Out: views(wholeOperand(4, 1)), In: views(x), Attr: kernels.Attr{Axis: 1}}
	case kernels.CumProdGrad:
		return &kernels.Args{Out: views(operand(4, 4)), In: views(x, y, z)}
	case kernels.Sort:
		return &kernels.Args{Out: views(z, wholeOperand(4, 4)), In: views(x)}
	case kernels.SortGrad, kernels.Gather, kernels.Scatter, kernels.ScatterAdd:
		return &kernels.Args{Out: views(z), In: views(x, wholeOperand(4, 4))}
	case kernels.CrossEntropy:
		return &kernels.Args{Out: views(operand()), In: views(x, wholeOperand(4))}
	case kernels.CrossEntropyGrad:
		return &kernels.Args{Out: views(z), In: views(operand(), x, wholeOperand(4))}
	case kernels.NLL:
		return &kernels.Args{Out: views(operand(4), operand(4)), In: views(x, wholeOperand(4))}
	case kernels.NLLGrad:
		return &kernels.Args{Out: views(z), In: views(operand(4), wholeOperand(4))}
	case kernels.SGDStep:
		return &kernels.Args{Out: views(z), In: views(x)}
	case kernels.AdamWStep:
		return &kernels.Args{Out: views(z, y, operand(4, 4)), In: views(x), Attr: kernels.Attr{AdamW: kernels.AdamWAttr{Step: 1}}}
	case kernels.MatMul:
		return &kernels.Args{Out: views(z), In: views(x, y)}
	}
	if a := smallNorm(id); a != nil {
		return a
	}
	if a := smallWindow(id); a != nil {
		return a
	}
	return smallElementwise(id, x, y, z)
}

// smallNorm returns a call of a normalisation or of attention, nil of others.
func smallNorm(id kernels.ID) *kernels.Args {
	list, rows, columns := operand(2, 4, 3), operand(4, 4), operand(4)
	perGroup := operand(2, 2)
	grouped := kernels.Attr{Norm: kernels.NormAttr{Eps: 1e-5, Groups: 2}}
	switch id {
	case kernels.LayerNorm:
		return &kernels.Args{Out: views(operand(4, 4), columns, operand(4)), In: views(rows)}
	case kernels.LayerNormGrad:
		return &kernels.Args{Out: views(operand(4, 4)), In: views(operand(4, 4), rows, columns, columns)}
	case kernels.RMSNorm:
		return &kernels.Args{Out: views(operand(4, 4), columns), In: views(rows)}
	case kernels.RMSNormGrad:
		return &kernels.Args{Out: views(operand(4, 4)), In: views(operand(4, 4), rows, columns)}
	case kernels.GroupNorm:
		return &kernels.Args{Out: views(operand(2, 4, 3), perGroup, operand(2, 2)), In: views(list), Attr: grouped}
	case kernels.GroupNormGrad:
		return &kernels.Args{Out: views(operand(2, 4, 3)), In: views(operand(2, 4, 3), list, perGroup, perGroup), Attr: grouped}
	case kernels.BatchNorm:
		return &kernels.Args{Out: views(operand(2, 4, 3), columns, operand(4)), In: views(list)}
	case kernels.BatchNormInfer:
		return &kernels.Args{Out: views(operand(2, 4, 3)), In: views(list, columns, columns)}
	case kernels.BatchNormGrad:
		return &kernels.Args{Out: views(operand(2, 4, 3), operand(4), operand(4)), In: views(operand(2, 4, 3), list, columns, columns)}
	case kernels.Attention:
		return &kernels.Args{Out: views(operand(1, 2, 3, 4), operand(1, 2, 3)),
			In: views(operand(1, 2, 3, 4), operand(1, 1, 5, 4), operand(1, 1, 5, 4))}
	case kernels.AttentionGrad:
		return &kernels.Args{Out: views(operand(1, 2, 3, 4), operand(1, 1, 5, 4), operand(1, 1, 5, 4)),
			In: views(operand(1, 2, 3, 4), operand(1, 2, 3, 4), operand(1, 1, 5, 4), operand(1, 1, 5, 4), operand(1, 2, 3, 4), operand(1, 2, 3))}
	}
	return nil
}

// smallWindow returns a call of a convolution or a pooling, nil of others.
func smallWindow(id kernels.ID) *kernels.Args {
	image, weight, half, places := operand(1, 2, 4, 4), operand(2, 2, 3, 3), operand(1, 2, 2, 2), wholeOperand(1, 2, 2, 2)
	one, two := [2]int{1, 1}, [2]int{2, 2}
	attr := kernels.Attr{Conv: kernels.ConvAttr{Stride: one, Dilation: one, Groups: 1}}
	switch id {
	case kernels.Conv:
		return &kernels.Args{Out: views(half), In: views(image, weight), Attr: attr}
	case kernels.ConvGradInput:
		return &kernels.Args{Out: views(image), In: views(half, weight), Attr: attr}
	case kernels.ConvGradWeight:
		return &kernels.Args{Out: views(weight), In: views(half, image), Attr: attr}
	}
	attr = kernels.Attr{Pool: kernels.PoolAttr{Kernel: two, Stride: two, Dilation: one}}
	switch id {
	case kernels.MaxPool:
		return &kernels.Args{Out: views(half, places), In: views(image), Attr: attr}
	case kernels.MaxPoolGrad:
		return &kernels.Args{Out: views(image), In: views(half, places), Attr: attr}
	case kernels.AvgPool:
		return &kernels.Args{Out: views(half), In: views(image), Attr: attr}
	case kernels.AvgPoolGrad:
		return &kernels.Args{Out: views(image), In: views(half), Attr: attr}
	case kernels.AdaptiveAvgPool:
		return &kernels.Args{Out: views(half), In: views(image)}
	case kernels.AdaptiveAvgPoolGrad:
		return &kernels.Args{Out: views(image), In: views(half)}
	}
	return nil
}

// smallElementwise returns a call of an op whose operands all have one shape.
func smallElementwise(id kernels.ID, x, y, z kernels.View) *kernels.Args {
	a := &kernels.Args{Out: views(as(id.DTypes(), z)), In: views(x, y, operand(4, 4))[:id.Inputs()]}
	types, _ := id.Selects()
	for i := range a.In {
		a.In[i] = as(types, a.In[i])
	}
	a.Attr.Random.High = 10
	if id == kernels.Where {
		a.In[0].DType = kernels.Bool
	}
	return a
}
