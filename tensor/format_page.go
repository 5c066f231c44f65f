package tensor

import "strings"

// page lays cells out as PyTorch does: the last dim in lines, the dims before it
// in blocks that are as many empty lines apart as they have dims between.
type page struct {
	b     *strings.Builder
	dims  Shape
	elide bool
	width int // of a cell
}

// long reports whether the middle of dim is left out.
func (p *page) long(dim int) bool { return p.elide && p.dims[dim] > 2*edgeItems }

// print writes the cells of one index of all dims before dim.
func (p *page) print(cells []string, dim int) {
	switch len(p.dims) - dim {
	case 0:
		p.b.WriteString(cells[0])
		return
	case 1:
		p.line(cells, dim)
		return
	}
	n := p.dims[dim]
	if p.long(dim) {
		n = 2 * edgeItems
	}
	size := len(cells) / n
	between := "," + strings.Repeat("\n", len(p.dims)-dim-1) + p.indent(dim)
	p.b.WriteByte('[')
	for i := range n {
		if i > 0 {
			p.b.WriteString(between)
		}
		if i == edgeItems && p.long(dim) {
			p.b.WriteString("..." + between)
		}
		p.print(cells[i*size:(i+1)*size], dim+1)
	}
	p.b.WriteByte(']')
}

// indent goes to below the first element of dim.
func (p *page) indent(dim int) string { return strings.Repeat(" ", len(opening)+dim+1) }

// line writes the last dim, broken into as many lines as it needs.
func (p *page) line(cells []string, dim int) {
	if p.long(dim) {
		cells = append(append(append([]string{}, cells[:edgeItems]...), " ..."), cells[edgeItems:]...)
	}
	perLine := max(1, (lineWidth-len(opening)-dim)/(p.width+len(", ")))
	p.b.WriteByte('[')
	for i, c := range cells {
		switch {
		case i == 0:
		case i%perLine == 0:
			p.b.WriteString(",\n" + p.indent(dim))
		default:
			p.b.WriteString(", ")
		}
		p.b.WriteString(c)
	}
	p.b.WriteByte(']')
}
