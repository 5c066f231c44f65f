package tensor

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"tarn/kernels"
)

// As PyTorch has them: how many elements of a long dim are printed at either
// end, up to how many elements of a tensor no dim is long, the columns of a
// line and the decimals.
const (
	edgeItems   = 3
	shortLen    = 1000
	lineWidth   = 80
	usualDigits = 4
)

// Format prints t for package fmt as PyTorch does: aligned columns, long dims
// elided, floats with 4 decimals, as whole numbers where all are whole, in
// scientific form where their range asks for it. It waits for the work that t
// depends on, and copies no more than it prints. What that work found wrong with
// its data is left to the next call that returns an error.
//
//	%v, %s   the values
//	%+v      and dtype, shape, device, stream, strides in elements, size in
//	         bytes, and whether it requires grad or what op made it
//	%.2v     2 decimals
//	%e, %f   floats, all in scientific form or none
//	%d       integers
//	%t       truth values
//	%q       as %v, quoted
//
// Unlike PyTorch's, %v has no dtype and no requires_grad. A tensor that cannot
// be read prints why: it carries an error, is released, or is being recorded by
// a [Capture], which printing does not disturb.
func (t *Tensor) Format(f fmt.State, verb rune) {
	digits, ok := f.Precision()
	if !ok {
		digits = usualDigits
	}
	switch dt := t.view.DType; {
	case verb == 'v', verb == 's', verb == 'q':
	case dt.IsFloat() && (verb == 'e' || verb == 'f'):
	case dt.IsInt() && verb == 'd', dt == Bool && verb == 't':
	default:
		fmt.Fprintf(f, "%%!%c(tensor %v%v)", verb, t.view.DType, t.Shape())
		return
	}
	text := t.text(verb, digits, f.Flag('+'))
	if verb == 'q' {
		text = strconv.Quote(text)
	}
	_, _ = io.WriteString(f, text) // fmt's writer keeps the error to itself
}

// text is what Format prints.
func (t *Tensor) text(verb rune, digits int, all bool) string {
	if t.storage == nil && t.err == nil {
		return "tensor(of nothing)"
	}
	var b strings.Builder
	b.WriteString(opening)
	empty := t.view.Len() == 0
	cells, err := t.cells(verb, digits)
	switch {
	case err != nil:
		b.WriteString(err.Error())
	case empty:
		b.WriteString("[]")
	default:
		p := page{b: &b, dims: t.Shape(), elide: t.elides(), width: cells.width}
		p.print(cells.texts, 0)
	}
	var notes []string
	if empty && err == nil && t.Rank() != 1 && !all {
		notes = append(notes, "size=("+strings.Trim(t.Shape().String(), "[]")+")")
	}
	if all {
		notes = append(notes, t.notes()...)
	}
	annotate(&b, notes)
	b.WriteByte(')')
	return b.String()
}

// opening begins what is printed; further lines are indented by its length.
const opening = "tensor("

// notes are what %+v adds.
func (t *Tensor) notes() []string {
	strides := shapeOf(&kernels.View{Rank: t.view.Rank, Dims: t.view.Strides})
	stream := "default"
	if s := t.env.get().stream; s != nil && s != t.dev.stream {
		stream = strconv.FormatUint(uint64(s.id), 10)
	}
	notes := []string{
		"dtype=" + t.view.DType.String(), "shape=" + t.Shape().String(), "device=" + t.dev.name, "stream=" + stream,
		"strides=" + strides.String(), "bytes=" + strconv.FormatInt(t.view.Len()*t.view.DType.Size(), 10),
	}
	switch {
	case !t.RequiresGrad():
	case t.node != nil:
		notes = append(notes, "made by "+t.node.def.name)
	default:
		notes = append(notes, "requires grad")
	}
	return notes
}

// annotate writes the notes behind what is there, on a new line where the last
// is full.
func annotate(b *strings.Builder, notes []string) {
	used := b.Len() - (strings.LastIndexByte(b.String(), '\n') + 1)
	for _, note := range notes {
		if used+len(note)+len(", )") > lineWidth {
			b.WriteString(",\n" + strings.Repeat(" ", len(opening)) + note)
			used = len(opening) + len(note)
			continue
		}
		b.WriteString(", " + note)
		used += len(", ") + len(note)
	}
}
