package conformance_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"tarn/cuda/internal/conformance"
)

func TestResult(t *testing.T) {
	for _, c := range []struct {
		want, got string
		ok        bool
	}{
		{"INVALID_VALUE", "INVALID_VALUE", true},
		{"INVALID_VALUE", "OK", false},
		{"INVALID_VALUE or OK", "OK", true},
		{"refused", "NOT_SUPPORTED", true},
		{"refused", "OK", false},
		{"does not wait", "waits", false},
	} {
		r := conformance.Result{Row: "row", Want: c.want, Got: c.got}
		assert.Equal(t, c.ok, r.OK(), r)
	}
}

func TestRowsHaveNamesOfTheirOwn(t *testing.T) {
	names, lost := conformance.Rows()
	seen := map[string]bool{}
	for _, name := range names {
		assert.False(t, seen[name], name)
		seen[name] = true
	}
	assert.Greater(t, lost, 0)
	assert.Less(t, lost, len(names))
}
