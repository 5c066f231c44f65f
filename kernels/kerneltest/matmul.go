package kerneltest

import (
	"slices"

	"tarn/kernels"
)

var matMulFamily = family{name: "matmul", ids: []kernels.ID{kernels.MatMul}, cases: (*suite).matMul,
	sample: (*suite).sampleMatMul, decode: (*suite).decodeMatMul, large: (*suite).largeMatMul, scales: summedScales}

func (s *suite) sampleMatMul(bool) *call {
	return s.productCall(4, 5, 4, product{out: dense, x: dense, y: dense, bias: rowBias, hasBias: true}, uniform(s.rand))
}

func (s *suite) decodeMatMul(src *source, values generator) *call {
	form := src.below(8)
	var batch []int64
	for range src.below(4) {
		batch = append(batch, []int64{1, 2, 3, 0}[src.below(4)])
	}
	return s.productCall(src.size(), src.size(), src.size(), product{batch: batch, once: src.below(8),
		out: src.layout(true), x: src.layout(false), y: src.layout(false), bias: src.layout(false),
		hasBias: form&1 != 0, rectify: form&2 != 0, accumulate: form&4 != 0}, values)
}

func (s *suite) largeMatMul() []*call {
	var all []*call
	for _, dims := range [][3]int64{{64, 256, 784}, {130, 129, 300}, {5, 803, 290}, {803, 3, 515}} {
		for range 3 {
			all = append(all, s.productCall(dims[0], dims[1], dims[2], s.anyProduct(), uniform(s.rand)))
		}
	}
	// Many small products, few large ones, and those that fold into one.
	for _, p := range []product{{batch: []int64{403}}, {batch: []int64{3, 70}, once: 2}, {batch: []int64{5}}, {batch: []int64{5}, once: 2}} {
		side := int64(17)
		if len(p.batch) == 1 && p.batch[0] == 5 {
			side = 90
		}
		p.out, p.x, p.y = dense, dense, dense
		all = append(all, s.productCall(side, side+1, side+2, p, uniform(s.rand)))
	}
	return all
}

// product is what a MatMul case varies beside M, N and K.
type product struct {
	batch           []int64
	once            int // bits 0, 1 and 2: all products use the same X, Y and bias
	out, x, y, bias layout
	hasBias         bool
	rectify         bool
	accumulate      bool
}

var transposed = layout{name: "transposed", order: backwards}

// rowBias has one bias for each column, the usual case: stride 0 along M.
var rowBias = layout{name: "row bias", order: backwards, expanded: true}

func (s *suite) productCall(m, n, k int64, p product, g generator) *call {
	c := &call{id: kernels.MatMul}
	put := func(rows, cols int64, l layout) operand {
		return place(s.rand, s.dtype, slices.Concat(p.batch, []int64{rows, cols}), l)
	}
	in := func(i int, rows, cols int64, l layout) {
		o := put(rows, cols, l)
		if p.once>>i&1 != 0 {
			clear(o.view.Strides[:len(p.batch)])
		}
		c.in = append(c.in, o.fill(g))
	}
	c.out = []operand{put(m, n, p.out)}
	in(0, m, k, p.x)
	in(1, k, n, p.y)
	if p.hasBias && !p.accumulate {
		in(2, m, n, p.bias)
	}
	if p.rectify && !p.accumulate {
		c.attr.Activation = kernels.Rectify
	}
	if p.accumulate {
		c.attr.Accumulate = true
		c.out[0].fill(g)
	}
	return c
}

// anyProduct returns a random product over operands that are dense or
// transposed, mostly, since those have the fast paths.
func (s *suite) anyProduct() product {
	lie := func(list []layout) layout {
		if s.rand.IntN(4) == 0 {
			return s.pick(list)
		}
		return []layout{dense, transposed}[s.rand.IntN(2)]
	}
	bias := rowBias
	if s.rand.IntN(3) == 0 {
		bias = s.pick(readable)
	}
	return product{
		out: lie(writable), x: lie(readable), y: lie(readable), bias: bias,
		hasBias: s.rand.IntN(2) == 0, rectify: s.rand.IntN(2) == 0, accumulate: s.rand.IntN(3) == 0,
	}
}

func (s *suite) matMul() {
	values := uniform(s.rand)
	for _, n := range sizes { // each size at each place
		for _, dims := range [][3]int64{{n, 17, 9}, {17, n, 9}, {9, 17, n}, {n, n, 3}} {
			for _, x := range []layout{dense, transposed} {
				for _, y := range []layout{dense, transposed} {
					p := s.anyProduct()
					p.out, p.x, p.y = dense, x, y
					s.check(s.productCall(dims[0], dims[1], dims[2], p, values))
				}
			}
			s.check(s.productCall(dims[0], dims[1], dims[2], s.anyProduct(), values))
		}
	}
	for range 150 {
		pick := func() int64 { return sizes[s.rand.IntN(len(sizes))] }
		m, n, k := pick(), pick(), pick()
		if m*n*k < 300_000 {
			s.check(s.productCall(m, n, k, s.anyProduct(), values))
		}
	}
	s.productForms()
	s.productOfUnruly()
	s.productsInBatches()
	for _, dims := range [][3]int64{ // several blocks and threads
		{64, 256, 784}, {64, 10, 256}, {257, 127, 65}, {1, 600, 513}, {600, 1, 513}, {130, 130, 300}, {3, 1031, 300},
	} {
		s.check(s.productCall(dims[0], dims[1], dims[2], s.anyProduct(), values))
	}
}

// productForms tries every combination of layouts and of bias, activation and
// accumulate on one odd shape, and on shapes with dims of 1, whose strides may
// be anything.
func (s *suite) productForms() {
	values := uniform(s.rand)
	for _, dims := range [][3]int64{{19, 37, 11}, {1, 37, 11}, {19, 1, 11}, {19, 37, 1}, {1, 1, 5}, {5, 33, 0}} {
		for _, x := range readable {
			for _, y := range readable {
				s.check(s.productCall(dims[0], dims[1], dims[2], product{out: dense, x: x, y: y}, values))
			}
		}
		for _, out := range writable {
			for form := range 8 {
				p := product{out: out, bias: rowBias, hasBias: form&1 != 0, rectify: form&2 != 0, accumulate: form&4 != 0}
				s.check(s.productCall(dims[0], dims[1], dims[2], p, values))
			}
			for _, bias := range readable {
				s.check(s.productCall(dims[0], dims[1], dims[2], product{out: out, bias: bias, hasBias: true}, values))
			}
		}
	}
}

// productsInBatches tries batches of all ranks, with operands that all products
// share, and with rows, columns and products that fold into one another.
func (s *suite) productsInBatches() {
	values := uniform(s.rand)
	for _, batch := range [][]int64{{1}, {3}, {0}, {40}, {2, 3}, {1, 3}, {3, 1}, {2, 0}, {2, 3, 2}, {2, 1, 3, 2}, {2, 1, 2, 1, 3}, {2, 2, 1, 2, 1, 2}} {
		for _, dims := range [][3]int64{{5, 7, 6}, {1, 9, 4}, {9, 1, 4}, {1, 1, 5}, {3, 4, 1}, {4, 5, 0}, {0, 3, 2}, {33, 17, 20}} {
			p := s.anyProduct()
			p.batch, p.once = batch, s.rand.IntN(8)
			s.check(s.productCall(dims[0], dims[1], dims[2], p, values))
			p.out, p.x, p.y, p.once = dense, dense, dense, s.rand.IntN(8)
			s.check(s.productCall(dims[0], dims[1], dims[2], p, values))
		}
	}
	for _, p := range []product{{batch: []int64{130}}, {batch: []int64{5, 6}, once: 1}, {batch: []int64{4}, once: 2, hasBias: true, bias: rowBias, rectify: true}} {
		p.out, p.x, p.y = dense, dense, dense
		s.check(s.productCall(64, 33, 65, p, values))
	}
	for _, dims := range [][3]int64{{3, 4, 1}, {5, 3, 7}} {
		p := s.anyProduct()
		p.batch = []int64{2, 3}
		s.check(s.productCall(dims[0], dims[1], dims[2], p, unruly(s.rand)))
	}
}

// productOfUnruly: NaN and infinities reach exactly the elements that IEEE
// says, 0 times infinity included, and nothing leaks in from padding.
func (s *suite) productOfUnruly() {
	for _, dims := range [][3]int64{{1, 1, 1}, {7, 9, 1}, {9, 33, 2}, {17, 15, 3}, {33, 65, 5}} {
		for range 10 {
			s.check(s.productCall(dims[0], dims[1], dims[2], s.anyProduct(), unruly(s.rand)))
		}
	}
}
