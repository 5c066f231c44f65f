//go:build cgo

package shim

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

// addresses resolves all names but the given ones, to addresses that are not
// called.
func addresses(missing ...string) func(string) (uintptr, error) {
	return func(name string) (uintptr, error) {
		for _, m := range missing {
			if name == m {
				return 0, fmt.Errorf("no %s: %w", name, errMissing)
			}
		}
		return 0x1000, nil
	}
}

var errMissing = errors.New("not here")

func TestFill(t *testing.T) {
	table, err := Fill(addresses())
	require.NoError(t, err)
	require.Empty(t, table.Missing())
}

func TestFillDemandsMandatoryEntries(t *testing.T) {
	for _, name := range []string{"cuInit", "cuDriverGetVersion", "cuDeviceGetCount"} {
		table, err := Fill(addresses(name))
		require.Nil(t, table)
		require.ErrorIs(t, err, errMissing)
		require.EqualError(t, err, fmt.Sprintf("it has no %s: no %s: not here", name, name))
	}
}

func TestFillSwitchesFeaturesOff(t *testing.T) {
	table, err := Fill(addresses("cuGetErrorName"))
	require.NoError(t, err)
	require.Equal(t, []string{"error names"}, table.Missing())
	require.Empty(t, table.ErrorName(0), "an entry that is not there is not called")
}

func TestFirstPrefers(t *testing.T) {
	names := []string{"cuThing_v3", "cuThing_v2", "cuThing"}
	var asked []string
	resolve := func(lacking ...string) func(string) (uintptr, error) {
		asked = nil
		inner := addresses(lacking...)
		return func(name string) (uintptr, error) {
			asked = append(asked, name)
			return inner(name)
		}
	}
	_, err := first(names, resolve("cuThing_v3"))
	require.NoError(t, err)
	require.Equal(t, names[:2], asked)

	_, err = first(names, resolve(names...))
	require.EqualError(t, err, "no cuThing_v3: not here")
	require.Equal(t, names, asked)
}
