//go:build cgo

package shim

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
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
	mandatory := 0
	for e := range Entry(len(ops)) {
		names := Names(e)
		table, err := Fill(addresses(names...))
		if err == nil {
			require.Equal(t, []string{table.Feature(e)}, table.Missing(), names)
			continue
		}
		mandatory++
		require.Nil(t, table)
		require.ErrorIs(t, err, errMissing)
		require.EqualError(t, err, fmt.Sprintf("it has no %s: no %s: not here", strings.Join(names, " or "), names[0]))
	}
	optional := 8 + 2 + 1 + 8 + 1 + 4 + 6
	require.Equal(t, len(ops)-optional, mandatory, "all but virtual memory, names and UUIDs, host functions, graphs, their updates, peers, pools")
}

func TestFillSwitchesFeaturesOff(t *testing.T) {
	table, err := Fill(addresses("cuGetErrorName", "cuMemMap", "cuMemUnmap"))
	require.NoError(t, err)
	require.Equal(t, []string{"error names", "virtual memory"}, table.Missing())
	require.Empty(t, table.ErrorName(0), "an entry that is not there is not called")
	out := table.Call(Reserve, 0, 1, 0, 0, 0)
	require.Equal(t, Out{Entry: Reserve, Missing: true}, out, "nor one of the same feature")
	require.False(t, out.OK())
}

// The rows of the two languages are the same.
func TestEntriesMatchTheTable(t *testing.T) {
	version := regexp.MustCompile(`_v\d$`)
	for e := range Entry(len(ops)) {
		for _, name := range Names(e) {
			require.Equal(t, e.Op(), version.ReplaceAllString(name, ""))
		}
	}
	require.Nil(t, Names(LaunchKernel+1))
	require.Equal(t, len(ops), int(LaunchKernel)+1)
}

// An entry that takes more than numbers has a method of its own.
func TestCallTakesNumbers(t *testing.T) {
	table, err := Fill(addresses())
	require.NoError(t, err)
	for _, e := range []Entry{GetErrorName, DeviceGetName, DeviceGetUUID, SetCurrent, ModuleLoad,
		ModuleGetFunction, LaunchKernel} {
		require.True(t, table.Call(e, 0, 0, 0, 0, 0).Missing, e.Op())
	}
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
