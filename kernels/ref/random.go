package ref

import (
	"math"
	"math/bits"

	"tarn/kernels"
)

// eachNumbered calls f with every index of v, and its number, in row-major order.
func eachNumbered(v *kernels.View, f func(number uint64, index []int64)) {
	n := uint64(0)
	each(v, func(i []int64) { f(n, i); n++ })
}

func sequence(a *kernels.Args) error {
	out := &a.Out[0]
	eachNumbered(out, func(n uint64, i []int64) {
		x := math.FMA(float64(n), a.Attr.Beta, a.Attr.Alpha)
		if out.DType.IsFloat() {
			set(out, x, i...)
		} else {
			setWhole(out, int64(x), i...)
		}
	})
	return nil
}

func randomUniform(a *kernels.Args) error {
	out, r, low, high := &a.Out[0], a.Attr.Random, a.Attr.Alpha, a.Attr.Beta
	eachNumbered(out, func(n uint64, i []int64) {
		if out.DType == kernels.Float64 {
			product := (high - low) * Uniform64(r.Seed, r.Offset, n)
			set(out, product+low, i...)
			return
		}
		u := Uniform32(r.Seed, r.Offset, n, out.DType.Digits())
		product := float32(float32(high-low) * u)
		set(out, float64(product+float32(low)), i...)
	})
	return nil
}

func randomNormal(a *kernels.Args) error {
	out, r, mean, deviation := &a.Out[0], a.Attr.Random, a.Attr.Alpha, a.Attr.Beta
	eachNumbered(out, func(n uint64, i []int64) {
		z := Normal64
		if out.DType != kernels.Float64 {
			z = Normal32
		}
		set(out, rounded(out.DType, mean)+rounded(out.DType, deviation)*z(r.Seed, r.Offset, n), i...)
	})
	return nil
}

func randomInt(a *kernels.Args) error {
	out, r := &a.Out[0], a.Attr.Random
	eachNumbered(out, func(n uint64, i []int64) {
		over, _ := bits.Mul64(pair(r.Seed, r.Offset, n), uint64(r.High-r.Low))
		if x := r.Low + int64(over); out.DType.IsFloat() {
			set(out, float64(x), i...) // which is exact
		} else {
			setWhole(out, x, i...)
		}
	})
	return nil
}

func bernoulli(a *kernels.Args) error {
	out, r, p := &a.Out[0], a.Attr.Random, a.Attr.Alpha
	eachNumbered(out, func(n uint64, i []int64) {
		if len(a.In) == 1 {
			p = value(&a.In[0], i...)
		}
		x := truth(float64(Philox(r.Seed, r.Offset+n/4)[n%4]) < p*0x1p32)
		if out.DType.IsFloat() {
			set(out, float64(x), i...)
		} else {
			setWhole(out, x, i...)
		}
	})
	return nil
}

func dropout(a *kernels.Args) error {
	out, in, r, p := &a.Out[0], &a.In[0], a.Attr.Random, a.Attr.Alpha
	kept := rounded(out.DType, kernels.Kept(p))
	eachNumbered(out, func(n uint64, i []int64) {
		f := kept
		if float64(Philox(r.Seed, r.Offset+n/4)[n%4]) < p*0x1p32 {
			f = 0
		}
		set(out, value(in, i...)*f, i...)
	})
	return nil
}
