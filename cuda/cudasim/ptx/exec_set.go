package ptx

import (
	"math"
	"strings"
)

// compare gives a mask of the lanes for which it holds.
type compare[T word] func(a, b *lanes[T]) uint32

// comparison is how a setp is made of a compare: perhaps of swapped sources,
// perhaps negated.
type comparison[T word] struct {
	name          string
	f             compare[T]
	swap, negated bool
}

func (c comparison[T]) swapped() comparison[T] {
	c.swap = true
	return c
}

func (c comparison[T]) not() comparison[T] {
	c.negated = true
	return c
}

// comparisons of integers read as S.
func comparisons[T word, S integral]() map[string]comparison[T] {
	same, less := comparison[T]{name: "eq", f: equal[T]}, comparison[T]{name: "lt", f: lessThan[T, S]}
	return map[string]comparison[T]{
		"eq": same, "ne": same.not(),
		"lt": less, "le": less.swapped().not(), "gt": less.swapped(), "ge": less.not(),
		"lo": less, "ls": less.swapped().not(), "hi": less.swapped(), "hs": less.not(),
	}
}

// floatComparisons: the ordered ones are false if a source is NaN; those that
// end in u are true then.
func floatComparisons[T word](float func(T) float64) map[string]comparison[T] {
	test := func(name string, f func(x, y float64) bool) comparison[T] {
		return comparison[T]{name: name, f: func(a, b *lanes[T]) (m uint32) {
			for i := range a {
				m |= bit(f(float(a[i]), float(b[i]))) << i
			}
			return m
		}}
	}
	less := test("lt", func(x, y float64) bool { return x < y })
	atMost := test("le", func(x, y float64) bool { return x <= y })
	same := test("eq", func(x, y float64) bool { return x == y })
	other := test("ne", func(x, y float64) bool { return x < y || x > y })
	ordered := test("num", func(x, y float64) bool { return x == x && y == y })
	return map[string]comparison[T]{
		"eq": same, "ne": other, "lt": less, "le": atMost, "gt": less.swapped(), "ge": atMost.swapped(),
		"equ": other.not(), "neu": same.not(), "ltu": atMost.swapped().not(), "leu": less.swapped().not(),
		"gtu": atMost.not(), "geu": less.not(), "num": ordered, "nan": ordered.not(),
	}
}

var (
	unsigned32, signed32 = comparisons[uint32, uint32](), comparisons[uint32, int32]()
	unsigned64, signed64 = comparisons[uint64, uint64](), comparisons[uint64, int64]()
	floats32             = floatComparisons(func(v uint32) float64 { return float64(math.Float32frombits(v)) })
	floats64             = floatComparisons(math.Float64frombits)
)

func bit(b bool) uint32 {
	if b {
		return 1
	}
	return 0
}

//go:norace
func lessThan[T word, S integral](a, b *lanes[T]) (m uint32) {
	for i := range a {
		var v uint32
		if S(a[i]) < S(b[i]) {
			v = 1
		}
		m |= v << i
	}
	return m
}

//go:norace
func equal[T word](a, b *lanes[T]) (m uint32) {
	for i := range a {
		var v uint32
		if a[i] == b[i] {
			v = 1
		}
		m |= v << i
	}
	return m
}

// emitCompare leaves in predicate register to how two registers compare.
func (d *decoder) emitCompare(cmp string, t dtype, to, a, b int) error {
	if t.kind() == kindBits && cmp != "eq" && cmp != "ne" || t.kind() == kindSigned && strings.Contains("lo ls hi hs", cmp) {
		return d.unsupported()
	}
	if t.class() == class64 {
		table := map[dtype]map[string]comparison[uint64]{kindFloat: floats64, kindSigned: signed64}[t.kind()]
		if table == nil {
			table = unsigned64
		}
		c, ok := table[cmp]
		if !ok {
			return d.unsupported()
		}
		d.emit(runCompare(c, func(w *warp) []lanes64 { return w.r64 }, to, a, b))
		return nil
	}
	table, kind := unsigned32, ".u32"
	switch t.kind() {
	case kindFloat:
		table, kind = floats32, ".f32"
	case kindSigned:
		table, kind = signed32, ".s32"
	}
	c, ok := table[cmp]
	if !ok {
		return d.unsupported()
	}
	if f := compares32[c.name+kind]; f != nil {
		c.f = f
	}
	d.emit(runCompare(c, func(w *warp) []lanes32 { return w.r32 }, to, a, b))
	return nil
}

func runCompare[T word](c comparison[T], file func(w *warp) []lanes[T], to, a, b int) runner {
	if c.swap {
		a, b = b, a
	}
	var flip uint32
	if c.negated {
		flip = full
	}
	return func(w *warp, mask uint32) error {
		r := file(w)
		w.setPred(to, c.f(&r[a], &r[b])^flip, mask)
		return nil
	}
}

func (w *warp) setPred(to int, value, mask uint32) {
	w.pred[to] = w.pred[to]&^mask | value&mask
}

// predOp is logic on predicates.
type predOp struct {
	f       func(a, b uint32) uint32
	sources int
}

var tablePred = map[string]*predOp{
	"and.pred": {func(a, b uint32) uint32 { return a & b }, 2},
	"or.pred":  {func(a, b uint32) uint32 { return a | b }, 2},
	"xor.pred": {func(a, b uint32) uint32 { return a ^ b }, 2},
	"not.pred": {func(a, _ uint32) uint32 { return ^a }, 1},
}

func runPred(f func(a, b uint32) uint32, to, a, b int) runner {
	return func(w *warp, mask uint32) error {
		w.setPred(to, f(w.pred[a], w.pred[b]), mask)
		return nil
	}
}

func (d *decoder) predicateLogic(e *predOp) error {
	s, err := d.sources(e.sources, pred)
	if err != nil {
		return err
	}
	to, err := d.target(d.s.args[0], pred)
	if err != nil {
		return err
	}
	d.emit(runPred(e.f, to, s[0], s[1]))
	return nil
}

// selectPredicate is selp.type d, a, b, p.
func (d *decoder) selectPredicate() error {
	_, t, err := d.take("")
	if err != nil {
		return err
	}
	if err := d.arity(4, 4); err != nil {
		return err
	}
	p, err := d.source(d.s.args[3], pred)
	if err != nil {
		return err
	}
	if t == pred {
		return d.unsupported()
	}
	return d.emitSelect(t, p)
}

// emitSelect leaves in operand 0 the operand 1 where predicate p is set, and
// operand 2 elsewhere.
func (d *decoder) emitSelect(t dtype, p int) error {
	var s [2]int
	for i := range s {
		var err error
		if s[i], err = d.source(d.s.args[i+1], t); err != nil {
			return err
		}
	}
	to, err := d.target(d.s.args[0], t)
	if err != nil {
		return err
	}
	if t.class() == class64 {
		d.emit(func(w *warp, mask uint32) error {
			w.t64 = w.r64[s[1]]
			blend(&w.t64, &w.r64[s[0]], w.pred[p])
			blend(&w.r64[to], &w.t64, mask)
			return nil
		})
		return nil
	}
	d.emit(func(w *warp, mask uint32) error {
		w.t32 = w.r32[s[1]]
		blend(&w.t32, &w.r32[s[0]], w.pred[p])
		blend(&w.r32[to], &w.t32, mask)
		return nil
	})
	return nil
}
