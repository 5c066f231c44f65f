package tensor_test

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"tarn/memory"
	"tarn/tensor"
)

// graphOutcome is what a program gave: numbers and failures, by what they are of.
type graphOutcome struct {
	lists    map[string]outcomeList
	failures map[string]string
}

// outcomeList is the elements of a tensor of a program.
type outcomeList struct {
	of      value // noValue for a gradient
	dt      tensor.DType
	numbers []float64
}

func newOutcome() graphOutcome {
	return graphOutcome{lists: map[string]outcomeList{}, failures: map[string]string{}}
}

// take notes t's elements, or why it has none.
func (o graphOutcome) take(what string, of value, t *tensor.Tensor) {
	x, err := elementsOf(t)
	if err != nil {
		o.fail(what, err)
		return
	}
	o.lists[what] = outcomeList{of: of, dt: t.DType(), numbers: x}
}

// fail notes that something has failed.
func (o graphOutcome) fail(what string, err error) {
	if err != nil {
		o.failures[what] = errorClass(err)
	}
}

// errGraphHook is what the hooks of programs fail with.
var errGraphHook = errors.New("a hook of the program")

// untyped begins the class of an error that no user could tell from others.
const untyped = "untyped: "

// errorClass says of an error what has to be the same on all devices: the op, the
// operands' shapes and the causes.
func errorClass(err error) string {
	var typed *tensor.Error
	if !errors.As(err, &typed) {
		return untyped + err.Error()
	}
	class := fmt.Sprint(typed.Op, typed.Shapes)
	causes := 0
	for _, cause := range []error{
		tensor.ErrShape, tensor.ErrDType, tensor.ErrValue, tensor.ErrDevice, tensor.ErrScope, tensor.ErrReleased, tensor.ErrIndex,
		tensor.ErrNoGradient, tensor.ErrNoHistory, tensor.ErrGraphFreed, tensor.ErrInPlace, errGraphHook,
	} {
		if errors.Is(err, cause) {
			causes++
			class += ", " + cause.Error()
		}
	}
	var memoryOut *memory.OutOfMemoryError
	if errors.As(err, &memoryOut) {
		return class + ", out of memory"
	}
	if causes == 0 {
		return untyped + err.Error()
	}
	return class
}

// units are, for each of p's tensors, the largest unit that its elements were
// rounded to on the way: 0 where every device does the same.
func (p *graphProgram) units() []float64 {
	units := make([]float64, p.values)
	addUnits(p.steps, units)
	return units
}

func addUnits(steps []graphStep, units []float64) {
	for i := range steps {
		st := &steps[i]
		if st.block != nil {
			addUnits(st.block.steps, units)
			continue
		}
		behind := 0.0
		st.operands(func(v value) {
			if v != noValue {
				behind = max(behind, units[v])
			}
		})
		for k, dt := range st.types {
			units[int(st.first)+k] = behind
			if st.call != nil && st.call.rounds {
				units[int(st.first)+k] = max(behind, unit(dt))
			}
		}
		for _, v := range st.blurs {
			units[v] = max(behind, unit(tensor.BFloat16))
		}
	}
}

// exact reports whether the results are exact, from whether the operands are.
func (st *graphStep) exact(operand func(v value) bool) bool {
	is := st.call == nil || !st.call.rounds
	st.operands(func(v value) { is = is && (v == noValue || operand(v)) })
	return is
}

// floor is 128 units, of the narrowest type, of the largest gradient: a softmax over
// one element leaves some of them where the reference has just 0.
func (p *graphProgram) floor(o graphOutcome) float64 {
	most, widest := 0.0, 0.0
	for _, l := range o.lists {
		widest = max(widest, unit(l.dt))
		if l.of != noValue {
			continue
		}
		for _, x := range l.numbers {
			if class(x) == 0 {
				most = max(most, math.Abs(x))
			}
		}
	}
	for i := range p.ups {
		for _, x := range p.ups[i].numbers() {
			most = max(most, math.Abs(x))
		}
	}
	return 128 * widest * most
}

// compare returns the first way in which got is not what the reference's runs
// gave, the first of which is the one that was not perturbed.
func (p *graphProgram) compare(got graphOutcome, runs []graphOutcome) error {
	want := runs[0]
	if !maps.Equal(got.failures, want.failures) {
		return fmt.Errorf("failures: %v, not %v", got.failures, want.failures)
	}
	units := p.units()
	floor := p.floor(want)
	for _, what := range slices.Sorted(maps.Keys(want.lists)) {
		w := want.lists[what]
		g, ok := got.lists[what]
		if !ok {
			return fmt.Errorf("%s: there is none", what)
		}
		rounded := unit(w.dt)
		if w.of != noValue {
			rounded = units[w.of]
		}
		if rounded == 0 {
			if !slices.EqualFunc(g.numbers, w.numbers, func(a, b float64) bool { return a == b || a != a && b != b }) {
				return fmt.Errorf("%s, exactly: %v, not %v", what, g.numbers, w.numbers)
			}
			continue
		}
		var perturbed [][]float64
		for _, o := range runs[1:] {
			perturbed = append(perturbed, o.lists[what].numbers)
		}
		allowed := floor
		if w.of != noValue {
			allowed = 2 * rounded // a logarithm of nearly 1 hangs on that
		}
		if d := differ(g.numbers, w.numbers, perturbed, w.dt.IsFloat(), rounded, allowed); d != "" {
			return fmt.Errorf("%s: %s", what, d)
		}
	}
	for what := range got.lists {
		if _, ok := want.lists[what]; !ok {
			return fmt.Errorf("%s: there is one", what)
		}
	}
	return nil
}

// sound returns an error for a failure that has no type.
func (o graphOutcome) sound() error {
	for what, class := range o.failures {
		if strings.HasPrefix(class, untyped) {
			return fmt.Errorf("%s: %s", what, class)
		}
	}
	return nil
}
