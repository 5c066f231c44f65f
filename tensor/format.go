package tensor

import (
	"fmt"
	"strconv"
	"strings"

	"tarn/kernels"
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
	p := printer{digits: digits, dims: t.Shape(), elide: t.Len() > shortLen}
	var err error
	switch t.view.DType {
	case Float32:
		err = printAll[float32](&p, t)
	case Float64:
		err = printAll[float64](&p, t)
	default:
		err = printAll[int64](&p, t)
	}
	if err != nil {
		fmt.Fprintf(f, "tensor(%v)", err)
		return
	}
	b := &p.b
	if f.Flag('+') {
		fmt.Fprintf(b, ", dtype=%v, shape=%v, device=%s, strides=%v, bytes=%d", t.view.DType, t.Shape(), t.dev,
			shapeOf(&kernels.View{Rank: t.view.Rank, Dims: t.view.Strides}), t.view.Len()*t.view.DType.Size())
		if t.RequiresGrad() {
			b.WriteString(", grad")
		}
	}
	b.WriteString(")")
	fmt.Fprint(f, b.String())
}

// printer writes a tensor row by row.
type printer struct {
	b      strings.Builder
	dims   Shape
	digits int
	elide  bool
}

func printAll[T Element](p *printer, t *Tensor) error {
	values, err := Data[T](t)
	if err != nil {
		return err
	}
	p.b.WriteString("tensor(")
	printDim(p, values, 0)
	return nil
}

func printDim[T Element](p *printer, values []T, dim int) {
	if dim == len(p.dims) {
		p.b.WriteString(number(values[0], p.digits))
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
		printDim(p, values[i*size:(i+1)*size], dim+1)
	}
	p.b.WriteByte(']')
}

// separator is a comma, and where rows end as many new lines as dims do. Empty
// rows stay on one line.
func (p *printer) separator(dim int) string {
	inner := len(p.dims) - dim - 1
	if inner == 0 || p.dims.Len() == 0 {
		return ", "
	}
	return "," + strings.Repeat("\n", inner) + strings.Repeat(" ", len("tensor([")+dim)
}

func number[T Element](v T, digits int) string {
	switch v := any(v).(type) {
	case int64:
		return strconv.FormatInt(v, 10)
	case float32:
		return strconv.FormatFloat(float64(v), 'g', digits, 32)
	case float64:
		return strconv.FormatFloat(v, 'g', digits, 64)
	}
	panic("tensor: number: not an Element")
}
