package tensor

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// ErrEquation is about an equation of [Einsum] that cannot be read. The error says
// where, counted in bytes from 0.
var ErrEquation = errors.New("bad equation")

// label is a letter of an equation, or a dim that its "..." stands for.
type label int

// dotsLabel is the label of the last dim that "..." stands for; those before it
// count on from there.
const dotsLabel label = 256

// ellipsis stands in the labels of an equation for "...".
const ellipsis label = -1

// einsumEquation is an equation as it stands there.
type einsumEquation struct {
	in       [][]label
	out      []label
	explicit bool // it has an output
}

func equationError(at int, format string, args ...any) error {
	return fmt.Errorf("%w at %d: %s", ErrEquation, at, fmt.Sprintf(format, args...))
}

// parseEinsum reads an equation.
func parseEinsum(s string) (einsumEquation, error) {
	eq := einsumEquation{in: [][]label{nil}}
	for i := 0; i < len(s); i++ {
		list := &eq.in[len(eq.in)-1]
		if eq.explicit {
			list = &eq.out
		}
		switch c := s[i]; {
		case c == ' ':
		case c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z':
			if eq.explicit && slices.Contains(*list, label(c)) {
				return eq, equationError(i, "the output has %q twice", c)
			}
			*list = append(*list, label(c))
		case strings.HasPrefix(s[i:], "..."):
			if slices.Contains(*list, ellipsis) {
				return eq, equationError(i, "a second \"...\"")
			}
			*list = append(*list, ellipsis)
			i += 2
		case c == ',' && !eq.explicit:
			eq.in = append(eq.in, nil)
		case strings.HasPrefix(s[i:], "->") && !eq.explicit:
			eq.explicit = true
			i++
		default:
			return eq, equationError(i, "%q is no letter, \"...\"%s", c, map[bool]string{false: ", comma or \"->\""}[eq.explicit])
		}
	}
	return eq, eq.checkOutput(s)
}

// checkOutput demands that each letter of the output is one of an operand's.
func (eq *einsumEquation) checkOutput(s string) error {
	arrow := strings.Index(s, "->")
	for _, l := range eq.out {
		if l != ellipsis && !slices.ContainsFunc(eq.in, func(in []label) bool { return slices.Contains(in, l) }) {
			return equationError(arrow+strings.IndexByte(s[arrow:], byte(l)), "no operand has the output's %q", byte(l))
		}
	}
	return nil
}

// bind gives each dim of operands of the given shapes its label, and returns those
// of the output and the size of each label.
func (eq *einsumEquation) bind(shapes []Shape) (in [][]label, out []label, sizes map[label]int, err error) {
	if len(shapes) != len(eq.in) {
		return nil, nil, nil, fmt.Errorf("%w: %d operands for an equation of %d", ErrShape, len(shapes), len(eq.in))
	}
	sizes = map[label]int{}
	dots := 0 // dims that "..." stands for in the result
	for i, s := range shapes {
		labels, n, err := eq.spell(i, len(s))
		if err != nil {
			return nil, nil, nil, err
		}
		dots = max(dots, n)
		if err := sized(sizes, labels, s, i); err != nil {
			return nil, nil, nil, err
		}
		in = append(in, labels)
	}
	if !eq.explicit {
		return in, eq.implied(dots), sizes, nil
	}
	return in, spelled(eq.out, dots), sizes, nil
}

// spell returns the labels of operand i, of the given rank, and for how many dims
// its "..." stands.
func (eq *einsumEquation) spell(i, rank int) ([]label, int, error) {
	letters := len(eq.in[i])
	dots := slices.Contains(eq.in[i], ellipsis)
	if dots {
		letters--
	}
	if letters > rank || letters < rank && !dots {
		return nil, 0, fmt.Errorf("%w: operand %d has %d dims for %d letters", ErrShape, i, rank, letters)
	}
	return spelled(eq.in[i], rank-letters), rank - letters, nil
}

// spelled returns labels with those of n dims in the place of "...".
func spelled(labels []label, n int) []label {
	var all []label
	for _, l := range labels {
		if l != ellipsis {
			all = append(all, l)
			continue
		}
		for d := n - 1; d >= 0; d-- {
			all = append(all, dotsLabel+label(d))
		}
	}
	return all
}

// sized notes the sizes of operand i's labels.
func sized(sizes map[label]int, labels []label, s Shape, i int) error {
	for d, l := range labels {
		if first := slices.Index(labels, l); s[first] != s[d] {
			return fmt.Errorf("%w: %v is twice in operand %d, with sizes %d and %d", ErrShape, l, i, s[first], s[d])
		}
		switch have, ok := sizes[l]; {
		case !ok || have == 1:
			sizes[l] = s[d]
		case s[d] != 1 && s[d] != have:
			return fmt.Errorf("%w: %v has size %d in operand %d and %d before", ErrShape, l, s[d], i, have)
		}
	}
	return nil
}

// implied returns the output of an equation that has none.
func (eq *einsumEquation) implied(dots int) []label {
	count := map[label]int{}
	for _, in := range eq.in {
		for _, l := range in {
			count[l]++
		}
	}
	out := spelled([]label{ellipsis}, dots)
	for l := label('A'); l <= 'z'; l++ {
		if count[l] == 1 {
			out = append(out, l)
		}
	}
	return out
}

// String names the label in an error.
func (l label) String() string {
	if l >= dotsLabel {
		return fmt.Sprintf("dim %d of \"...\"", -1-int(l-dotsLabel))
	}
	return fmt.Sprintf("%q", byte(l))
}
