package nn

import (
	"fmt"
	"math"

	"tarn/tensor"
)

// Initialisers overwrite a parameter with random numbers of a generator: the same
// on every device, where they are drawn. A fan counts what goes into, or comes out
// of, one unit: for a Linear its In and Out, for a convolution the channels of a
// group times the elements of a window.

// KaimingUniform makes w uniform in ±gain*sqrt(3/fanIn), with gain =
// sqrt(2/(1+slope^2)) for a leaky ReLU of the slope, 0 for a ReLU (He et al. 2015).
func KaimingUniform(w *tensor.Tensor, g *tensor.Generator, fanIn int, slope float64) error {
	return uniformly(w, g, math.Sqrt(3)*kaiming(fanIn, slope), fanIn)
}

// KaimingNormal makes w normal with the deviation gain/sqrt(fanIn), the gain being
// that of [KaimingUniform].
func KaimingNormal(w *tensor.Tensor, g *tensor.Generator, fanIn int, slope float64) error {
	return normally(w, g, kaiming(fanIn, slope), fanIn)
}

// XavierUniform makes w uniform in ±gain*sqrt(6/(fanIn+fanOut)) (Glorot and Bengio
// 2010).
func XavierUniform(w *tensor.Tensor, g *tensor.Generator, fanIn, fanOut int, gain float64) error {
	return uniformly(w, g, math.Sqrt(3)*xavier(fanIn, fanOut, gain), min(fanIn, fanOut))
}

// XavierNormal makes w normal with the deviation gain*sqrt(2/(fanIn+fanOut)).
func XavierNormal(w *tensor.Tensor, g *tensor.Generator, fanIn, fanOut int, gain float64) error {
	return normally(w, g, xavier(fanIn, fanOut, gain), min(fanIn, fanOut))
}

// Init draws weight and bias anew, from the distribution of [NewLinear].
func (l *Linear) Init(g *tensor.Generator) error {
	return kaimingAll(l, g, l.Weight.Dim(0))
}

// Init draws weight and bias anew, from the distribution of [NewConv2D].
func (l *Conv2D) Init(g *tensor.Generator) error {
	return kaimingAll(l, g, l.Weight.Dim(1)*l.Weight.Dim(2)*l.Weight.Dim(3))
}

// Init draws weight and bias anew, from the distribution of [NewConv1D].
func (l *Conv1D) Init(g *tensor.Generator) error {
	return kaimingAll(l, g, l.Weight.Dim(1)*l.Weight.Dim(2))
}

func kaimingAll(m Module, g *tensor.Generator, fanIn int) error {
	for _, p := range m.Parameters() {
		if err := uniformly(p.Tensor, g, KaimingUniformBound(fanIn), fanIn); err != nil {
			return fmt.Errorf("nn: %s: %w", p.Name, err)
		}
	}
	return nil
}

func kaiming(fanIn int, slope float64) float64 {
	return math.Sqrt(2 / (1 + slope*slope) / float64(fanIn))
}

func xavier(fanIn, fanOut int, gain float64) float64 {
	return gain * math.Sqrt(2/float64(fanIn+fanOut))
}

func uniformly(w *tensor.Tensor, g *tensor.Generator, bound float64, fan int) error {
	if fan < 1 {
		return errFan(fan)
	}
	return w.NoGrad().RandUniform(g, -bound, bound)
}

func normally(w *tensor.Tensor, g *tensor.Generator, deviation float64, fan int) error {
	if fan < 1 {
		return errFan(fan)
	}
	return w.NoGrad().RandNormal(g, 0, deviation)
}

func errFan(fan int) error {
	return fmt.Errorf("nn: %w: a fan of %d, at least 1", tensor.ErrShape, fan)
}
