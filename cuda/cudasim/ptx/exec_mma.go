package ptx

import (
	"math"
	"slices"
	"strings"
)

// product is an mma: d = a b + c, with a of 16 by k elements, b of k by 8, c and
// d of 16 by 8. The products of elements are exact. They are added to c one
// after another by float32 additions, in order of k; a device adds several at
// once and drops what is far below the largest, so that last bits differ. A
// sum of f16 is rounded to it at the end.
type product struct {
	k           int
	elem        dtype // of a and b
	sum         dtype // of c and d
	version, sm int
	a, b, c, d  []int // registers
}

// products by the part of the mnemonic that differs.
var products = map[string]product{
	"m16n8k8.row.col.f16.f16.f16.f16":   {k: 8, elem: f16, sum: f16, version: 605, sm: 75},
	"m16n8k8.row.col.f32.f16.f16.f32":   {k: 8, elem: f16, sum: f32, version: 605, sm: 75},
	"m16n8k16.row.col.f16.f16.f16.f16":  {k: 16, elem: f16, sum: f16, version: 700, sm: 80},
	"m16n8k16.row.col.f32.f16.f16.f32":  {k: 16, elem: f16, sum: f32, version: 700, sm: 80},
	"m16n8k8.row.col.f32.bf16.bf16.f32": {k: 8, elem: bf16, sum: f32, version: 700, sm: 80},

	"m16n8k16.row.col.f32.bf16.bf16.f32": {k: 16, elem: bf16, sum: f32, version: 700, sm: 80},
	"m16n8k4.row.col.f32.tf32.tf32.f32":  {k: 4, elem: tf32, sum: f32, version: 700, sm: 80},
	"m16n8k8.row.col.f32.tf32.tf32.f32":  {k: 8, elem: tf32, sum: f32, version: 700, sm: 80},
}

// multiply is mma.sync.aligned.
func (d *decoder) multiply() error {
	if len(d.s.op) < 4 || !slices.Equal(d.s.op[1:3], []string{"sync", "aligned"}) {
		return d.unsupported()
	}
	p, ok := products[strings.Join(d.s.op[3:], ".")]
	if !ok {
		return d.unsupported()
	}
	if err := d.needs(p.version, p.sm); err != nil {
		return err
	}
	if err := d.arity(4, 4); err != nil {
		return err
	}
	for _, a := range d.s.args[1:3] {
		if slices.ContainsFunc(a.elems, func(e operand) bool { return e.kind != argReg }) {
			return d.refuse("%s takes its factors from registers", d.s.name())
		}
	}
	perReg, sums, sum := 32/p.elem.bits(), 4, f32
	if p.sum == f16 {
		sums, sum = 2, b32
	}
	var err error
	for _, o := range []struct {
		regs *[]int
		at   int
		n    int
		t    dtype
	}{{&p.a, 1, 16 * p.k / perReg / warpSize, b32}, {&p.b, 2, 8 * p.k / perReg / warpSize, b32}, {&p.c, 3, sums, sum}, {&p.d, 0, sums, sum}} {
		if *o.regs, err = d.registersOf(d.s.args[o.at], o.n, o.t, o.at == 0); err != nil {
			return err
		}
	}
	return d.together(func(w *warp, _ uint32) error {
		p.run(w)
		return nil
	})
}

// tiles are the operands of a product as matrices.
type tiles struct {
	a    [16][16]float32
	b    [16][8]float32
	sums [16][8]float32
}

// run gathers the matrices from the lanes. Lane 4g+t has of a the rows g and
// g+8, of b and the sums the column g or the rows g and g+8; t says which
// neighbours along the other side.
func (p *product) run(w *warp) {
	var m tiles
	if p.elem == tf32 {
		m.singles(w, p)
	} else {
		m.pairs(w, p)
	}
	for i, r := range p.c {
		for lane, v := range w.r32[r] {
			if col := lane % 4 * 2; p.sum == f16 {
				row := &m.sums[lane/4+i*8]
				row[col], row[col+1] = halfToFloat32(uint16(v)), halfToFloat32(uint16(v>>16))
			} else {
				m.sums[lane/4+i/2*8][col+i%2] = math.Float32frombits(v)
			}
		}
	}
	m.multiply(p.k)
	for i, r := range p.d {
		d := &w.r32[r]
		for lane := range d {
			if col := lane % 4 * 2; p.sum == f16 {
				row := &m.sums[lane/4+i*8]
				d[lane] = uint32(float32ToHalf(row[col])) | uint32(float32ToHalf(row[col+1]))<<16
			} else {
				d[lane] = math.Float32bits(m.sums[lane/4+i/2*8][col+i%2])
			}
		}
	}
}

// pairs takes two elements from each register.
func (m *tiles) pairs(w *warp, p *product) {
	var low, high [warpSize]float32
	for i, r := range p.a {
		split(p.elem, &w.r32[r], &low, &high)
		for lane := range warpSize {
			row, col := &m.a[lane/4+i%2*8], (lane%4*2+i/2*8)%16
			row[col], row[col|1] = low[lane], high[lane]
		}
	}
	for i, r := range p.b {
		split(p.elem, &w.r32[r], &low, &high)
		for lane := range warpSize {
			row, col := (lane%4*2+i*8)%16, lane/4
			m.b[row][col], m.b[row|1][col] = low[lane], high[lane]
		}
	}
}

// split takes the halves of a register apart.
//
//go:norace
func split(elem dtype, v *lanes32, low, high *[warpSize]float32) {
	if elem == bf16 {
		for lane, bits := range v {
			low[lane], high[lane] = math.Float32frombits(bits<<16), math.Float32frombits(bits&^0xffff)
		}
		return
	}
	for lane, bits := range v {
		low[lane], high[lane] = halfToFloat32(uint16(bits)), halfToFloat32(uint16(bits>>16))
	}
}

// singles takes one element from each register.
func (m *tiles) singles(w *warp, p *product) {
	for i, r := range p.a {
		for lane, v := range &w.r32[r] {
			m.a[lane/4+i%2*8][lane%4+i/2*4] = tensorFloat(v)
		}
	}
	for i, r := range p.b {
		for lane, v := range &w.r32[r] {
			m.b[lane%4+i*4][lane/4] = tensorFloat(v)
		}
	}
}

// tensorFloat is a tf32: the low bits of a register do not count.
func tensorFloat(v uint32) float32 { return math.Float32frombits(v &^ (1<<13 - 1)) }

//go:norace
func (m *tiles) multiply(k int) {
	for i := range m.a {
		a, s := &m.a[i], &m.sums[i]
		s0, s1, s2, s3, s4, s5, s6, s7 := s[0], s[1], s[2], s[3], s[4], s[5], s[6], s[7]
		for j := range k {
			x, b := a[j%16], &m.b[j%16]
			s0 += float32(x * b[0])
			s1 += float32(x * b[1])
			s2 += float32(x * b[2])
			s3 += float32(x * b[3])
			s4 += float32(x * b[4])
			s5 += float32(x * b[5])
			s6 += float32(x * b[6])
			s7 += float32(x * b[7])
		}
		*s = [8]float32{s0, s1, s2, s3, s4, s5, s6, s7}
	}
}
