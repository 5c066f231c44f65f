package tensor_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"tarn/tensor"
)

// graphRig is where programs run: a device whose kernels are the reference, and
// those that have to agree with it.
type graphRig struct {
	reference *machine
	others    []*machine
	ran       map[string]int // calls by name
	dropped   map[string]int
}

func newGraphRig(t testing.TB) *graphRig {
	rig := &graphRig{reference: newGraphMachine(t, "reference", newReference(t)), ran: map[string]int{}, dropped: map[string]int{}}
	for _, kind := range testDevices {
		rig.others = append(rig.others, newGraphMachine(t, kind.name, kind.open(t)))
	}
	return rig
}

func newGraphMachine(t testing.TB, name string, d *tensor.Device) *machine {
	var more [2]*tensor.Stream
	for i := range more {
		s, err := d.NewStream()
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, s.Close()) })
		more[i] = s
	}
	return &machine{name: name, d: d, second: more[0], third: more[1]}
}

// check runs p everywhere and says what differs.
func (rig *graphRig) check(p *graphProgram) error {
	var runs []graphOutcome
	for i := range 3 {
		var noise *rand.Rand
		if i > 0 {
			noise = rand.New(rand.NewPCG(uint64(i), 5))
		}
		o, err := rig.reference.run(p, noise)
		if err != nil {
			return fmt.Errorf("reference: %w", err)
		}
		runs = append(runs, o)
	}
	if p.plain() && len(runs[0].failures) == 0 {
		rig.reference.inline = true
		o, err := rig.reference.run(p, nil)
		rig.reference.inline = false
		if err == nil && len(o.failures) == 0 { // a result that needs no gradient has no history then
			err = p.compare(o, runs)
		}
		if err != nil {
			return fmt.Errorf("reference without Checkpoint: %w", err)
		}
	}
	for _, m := range rig.others {
		o, err := m.run(p, nil)
		if err == nil {
			err = p.compare(o, runs)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", m.name, err)
		}
	}
	return nil
}

// try draws the program of some bytes and checks it. One that fails is made
// smaller before it is told.
func (rig *graphRig) try(t testing.TB, name string, bytes []byte) {
	p, err := drawProgram(name, bytes, rig.reference, rig.dropped)
	require.NoError(t, err, "drawing %v", p)
	for name, n := range p.calls() {
		rig.ran[name] += n
	}
	err = rig.check(p)
	if err == nil {
		return
	}
	small := p.shrink(func(q *graphProgram) bool { return rig.check(q) != nil })
	t.Errorf("%s fails, with\n\t%v\nMade smaller it fails with\n\t%v\n%v", name, err, rig.check(small), small)
}

// bytesOf are those of a seed.
func bytesOf(seed uint64) []byte {
	r := rand.New(rand.NewPCG(seed, 17))
	b := make([]byte, 800)
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	return b
}

// TestOpGraphs runs random graphs of ops, with their gradients, on the devices
// of this build and on one whose kernels are the reference, compares all that
// comes of them, and counts what is left of their memory. TARN_GRAPHS=n+m runs
// m graphs from seed n on.
func TestOpGraphs(t *testing.T) {
	from, n := uint64(0), uint64(20)
	if s := os.Getenv("TARN_GRAPHS"); s != "" {
		_, err := fmt.Sscanf(s, "%d+%d", &from, &n)
		require.NoError(t, err)
	}
	rig := newGraphRig(t)
	for seed := from; seed < from+n; seed++ {
		rig.try(t, "seed "+strconv.FormatUint(seed, 10), bytesOf(seed))
	}
	total := 0
	for _, name := range slices.Sorted(maps.Keys(rig.ran)) {
		total += rig.ran[name]
	}
	t.Logf("%d graphs, %d calls of %d ops: %v", n, total, len(rig.ran), rig.ran)
	for _, why := range slices.Sorted(maps.Keys(rig.dropped)) {
		t.Logf("refused %d: %s", rig.dropped[why], why)
	}
}

// FuzzOpGraphs is TestOpGraphs for bytes of the fuzzer's choice.
func FuzzOpGraphs(f *testing.F) {
	for seed := range uint64(4) {
		f.Add(bytesOf(seed))
	}
	rig := newGraphRig(f)
	f.Fuzz(func(t *testing.T, bytes []byte) { rig.try(t, "a fuzzed graph", bytes) })
}
