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
	f             compare[T]
	swap, negated bool
}

// comparisons of integers read as S.
func comparisons[T word, S integral]() map[string]comparison[T] {
	less, atMost := comparison[T]{f: lessThan[T, S]}, comparison[T]{f: lessThan[T, S], swap: true, negated: true}
	greater, atLeast := comparison[T]{f: lessThan[T, S], swap: true}, comparison[T]{f: lessThan[T, S], negated: true}
	return map[string]comparison[T]{
		"eq": {f: equal[T]}, "ne": {f: equal[T], negated: true},
		"lt": less, "le": atMost, "gt": greater, "ge": atLeast,
		"lo": less, "ls": atMost, "hi": greater, "hs": atLeast,
	}
}

// floatComparisons: the ordered ones are false if a source is NaN; those that
// end in u are true then.
func floatComparisons[T word](float func(T) float64) map[string]comparison[T] {
	test := func(f func(x, y float64) bool) compare[T] {
		return func(a, b *lanes[T]) (m uint32) {
			for i := range a {
				m |= bit(f(float(a[i]), float(b[i]))) << i
			}
			return m
		}
	}
	less := test(func(x, y float64) bool { return x < y })
	atMost := test(func(x, y float64) bool { return x <= y })
	same := test(func(x, y float64) bool { return x == y })
	other := test(func(x, y float64) bool { return x < y || x > y })
	ordered := test(func(x, y float64) bool { return x == x && y == y })
	return map[string]comparison[T]{
		"eq": {f: same}, "ne": {f: other},
		"lt": {f: less}, "le": {f: atMost}, "gt": {f: less, swap: true}, "ge": {f: atMost, swap: true},
		"equ": {f: other, negated: true}, "neu": {f: same, negated: true},
		"ltu": {f: atMost, swap: true, negated: true}, "leu": {f: less, swap: true, negated: true},
		"gtu": {f: atMost, negated: true}, "geu": {f: less, negated: true},
		"num": {f: ordered}, "nan": {f: ordered, negated: true},
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

// setPredicate is setp.cmp[.boolop][.ftz].type p, a, b[, q].
func (d *decoder) setPredicate() error {
	op := d.s.op
	t, ok := dtypes[op[len(op)-1]]
	if !ok || len(op) < 3 || t == pred || t.bits() < 16 || t == f16 {
		return d.unsupported()
	}
	join, flush := "", false
	for _, part := range op[2 : len(op)-1] {
		switch {
		case part == "ftz" && t == f32:
			flush = true
		case (part == "and" || part == "or" || part == "xor") && join == "":
			join = part
		default:
			return d.unsupported()
		}
	}
	if n := 3 + int(bit(join != "")); len(d.s.args) != n {
		return d.refuse("%s with %d operands", d.s.name(), len(d.s.args))
	}
	to, err := d.target(d.s.args[0], pred)
	if err != nil {
		return err
	}
	result := to
	if join != "" {
		result = d.temp(classPred)
	}
	if err := d.compare(op[1], t, flush, result); err != nil {
		return err
	}
	if join == "" {
		return nil
	}
	with, err := d.source(d.s.args[3], pred)
	if err != nil {
		return err
	}
	d.emit(runPred(tablePred[join+".pred"].f, to, result, with))
	return nil
}

func (d *decoder) compare(cmp string, t dtype, flush bool, to int) error {
	a, err := d.source(d.s.args[1], t)
	if err != nil {
		return err
	}
	b, err := d.source(d.s.args[2], t)
	if err != nil {
		return err
	}
	extend := op32(nil)
	switch {
	case flush:
		extend = flushF32
	case t == s16:
		extend = extend16
	}
	if extend != nil {
		x, y := d.temp(class32), d.temp(class32)
		d.emit(run32(extend, x, a, 0, 0))
		d.emit(run32(extend, y, b, 0, 0))
		a, b = x, y
	}
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
	table := map[dtype]map[string]comparison[uint32]{kindFloat: floats32, kindSigned: signed32}[t.kind()]
	if table == nil {
		table = unsigned32
	}
	c, ok := table[cmp]
	if !ok {
		return d.unsupported()
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
	var s [2]int
	for i := range s {
		if s[i], err = d.source(d.s.args[i+1], t); err != nil {
			return err
		}
	}
	p, err := d.source(d.s.args[3], pred)
	if err != nil {
		return err
	}
	to, err := d.target(d.s.args[0], t)
	if err != nil || t == pred {
		return d.unsupported()
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
