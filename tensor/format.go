package tensor

import (
	"fmt"
	"strconv"
	"strings"
)

// edgeItems is how many elements of a long dim are printed at either end, and
// shortLen the number of elements up to which all are printed; both as in
// PyTorch and numpy.
const (
	edgeItems = 3
	shortLen  = 1000
)

// Format prints the values by %v, with long dims elided; %+v adds dtype, shape,
// device, strides and bytes; a precision, %.2v, sets the digits. It waits for
// the work that t depends on. A tensor that cannot be read prints why.
func (t *Tensor) Format(f fmt.State, verb rune) {
	if verb != 'v' && verb != 's' {
		fmt.Fprintf(f, "%%!%c(tensor %v%v)", verb, t.view.DType, t.Shape())
		return
	}
	digits := 4
	if p, ok := f.Precision(); ok {
		digits = p
	}
	values, err := t.floats()
	if err != nil {
		fmt.Fprintf(f, "tensor(%v)", err)
		return
	}
	var b strings.Builder
	b.WriteString("tensor(")
	p := printer{b: &b, digits: digits, dims: t.Shape(), integer: t.view.DType == Int64, elide: len(values) > shortLen}
	p.print(values, 0)
	if f.Flag('+') {
		fmt.Fprintf(&b, ", dtype=%v, shape=%v, device=%s, strides=%v, bytes=%d", t.view.DType, t.Shape(), t.dev,
			t.view.Strides[:t.view.Rank], t.storage.block.Size)
		if t.RequiresGrad() {
			b.WriteString(", grad")
		}
	}
	b.WriteString(")")
	fmt.Fprint(f, b.String())
}

// floats returns all elements as float64.
func (t *Tensor) floats() ([]float64, error) {
	switch t.view.DType {
	case Float64:
		return Data[float64](t)
	case Float32:
		return widened[float32](t)
	default:
		return widened[int64](t)
	}
}

func widened[T Element](t *Tensor) ([]float64, error) {
	data, err := Data[T](t)
	out := make([]float64, len(data))
	for i, v := range data {
		out[i] = float64(v)
	}
	return out, err
}

type printer struct {
	b       *strings.Builder
	dims    Shape
	digits  int
	integer bool
	elide   bool
}

func (p *printer) print(values []float64, dim int) {
	if dim == len(p.dims) {
		p.number(values[0])
		return
	}
	n := p.dims[dim]
	p.b.WriteByte('[')
	for i := 0; i < n; i++ {
		if i > 0 {
			p.b.WriteString(p.separator(dim))
		}
		if p.elide && n > 2*edgeItems && i == edgeItems {
			p.b.WriteString("..." + p.separator(dim))
			i = n - edgeItems
		}
		size := len(values) / n
		p.print(values[i*size:(i+1)*size], dim+1)
	}
	p.b.WriteByte(']')
}

func (p *printer) separator(dim int) string {
	inner := len(p.dims) - dim - 1
	if inner == 0 {
		return ", "
	}
	return "," + strings.Repeat("\n", inner) + strings.Repeat(" ", len("tensor([")+dim)
}

func (p *printer) number(v float64) {
	if p.integer {
		p.b.WriteString(strconv.FormatInt(int64(v), 10))
		return
	}
	p.b.WriteString(strconv.FormatFloat(v, 'g', p.digits, 64))
}
