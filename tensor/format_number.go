package tensor

import (
	"fmt"
	"math"
	"strconv"
)

// cells are the elements that are printed, in row-major order. Those that have a
// say in it are no wider than width, and the others are padded to it.
type cells struct {
	texts []string
	width int
}

// floatCells writes values in one form, as PyTorch does: whole where all that
// are finite are whole, scientific where they are large, small or far apart. 0,
// NaN and infinities have no say in the form nor in the width.
func floatCells(values []float64, verb rune, digits int) cells {
	least, most, whole := math.Inf(1), 0.0, true
	for _, v := range values {
		if counts(v) {
			least, most = min(least, math.Abs(v)), max(most, math.Abs(v))
			whole = whole && v == math.Trunc(v)
		}
	}
	science := most/least > 1000 || most > 1e8 || most > 0 && least < 1e-4
	switch verb {
	case 'e':
		science = most > 0
	case 'f':
		science = false
	}
	c := cells{make([]string, len(values)), 1}
	for i, v := range values {
		c.texts[i] = floatText(v, science, whole, digits)
		if counts(v) {
			c.width = max(c.width, len(c.texts[i]))
		}
	}
	return c.aligned()
}

// counts reports whether v has a say.
func counts(v float64) bool { return v != 0 && !math.IsInf(v, 0) && !math.IsNaN(v) }

func floatText(v float64, science, whole bool, digits int) string {
	switch {
	case math.IsNaN(v):
		return "nan"
	case math.IsInf(v, 1):
		return "inf"
	case math.IsInf(v, -1):
		return "-inf"
	case science:
		return strconv.FormatFloat(v, 'e', digits, 64)
	case whole:
		return strconv.FormatFloat(v, 'f', 0, 64) + "."
	}
	return strconv.FormatFloat(v, 'f', digits, 64)
}

func intCells(values []int64) cells {
	c := cells{make([]string, len(values)), 1}
	for i, v := range values {
		c.texts[i] = strconv.FormatInt(v, 10)
		c.width = max(c.width, len(c.texts[i]))
	}
	return c.aligned()
}

// truthCells writes truth values as Python does.
func truthCells(values []bool) cells {
	c := cells{make([]string, len(values)), 1}
	for i, v := range values {
		c.texts[i] = "False"
		if v {
			c.texts[i] = "True"
		}
		c.width = max(c.width, len(c.texts[i]))
	}
	return c.aligned()
}

func (c cells) aligned() cells {
	for i, s := range c.texts {
		c.texts[i] = fmt.Sprintf("%*s", c.width, s)
	}
	return c
}
