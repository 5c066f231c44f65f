package conformance

import (
	"fmt"
	"slices"
	"strings"

	"tarn/cuda/internal/shim"
)

// row is one fact. want has the answers that are right, separated by " or ".
type row struct {
	name, want string
	ask        func(d *driver) string
}

// Result is what a driver answered to a row.
type Result struct {
	Row       string
	Want, Got string
}

// OK reports whether the answer is one that the row allows.
func (r Result) OK() bool {
	wanted := strings.Split(r.Want, " or ")
	return slices.Contains(wanted, r.Got) ||
		slices.Contains(wanted, "refused") && r.Got != "OK" && !strings.Contains(r.Got, " ")
}

// String returns the row as a line of a table.
func (r Result) String() string {
	mark := " "
	if !r.OK() {
		mark = "X"
	}
	return fmt.Sprintf("%s %-66s %-28s %s", mark, r.Row, r.Got, r.Want)
}

// Rows returns the names of the rows. Those from lost on lose the device: each
// of them wants a process, or a simulated machine, of its own.
func Rows() (names []string, lost int) {
	for _, r := range rows() {
		names = append(names, r.name)
	}
	return names, len(names) - len(lostRows)
}

// Ask puts row i of Rows to device 0 of an initialised driver. An error means
// that it could not be asked.
func Ask(t *shim.Table, i int) (Result, error) {
	r := rows()[i]
	got, err := answer(t, r)
	if err != nil {
		return Result{}, fmt.Errorf("conformance: %s: %w", r.name, err)
	}
	return Result{Row: r.name, Want: r.want, Got: got}, nil
}

func rows() []row {
	return slices.Concat(argumentRows, memoryRows, poolRows, virtualRows, streamRows, moduleRows, graphRows, captureRows, lostRows)
}

// answer asks one row. What the row made is taken away after it.
func answer(t *shim.Table, r row) (got string, err error) {
	defer func() {
		switch fault := recover().(type) {
		case nil:
		case failure:
			err = fault.error
		default:
			panic(fault)
		}
	}()
	d := open(t)
	defer d.close()
	return r.ask(d), nil
}
