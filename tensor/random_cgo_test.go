//go:build cgo && (linux || darwin)

package tensor_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"tarn/cuda/cudasim"
	"tarn/tensor"
)

// program is a random one on two devices at once: on streams that come and go,
// and on the CPU, where there is no order to get wrong.
type program struct {
	*rand.Rand
	t       *testing.T
	d, cpu  *tensor.Device
	streams []*tensor.Stream
	pairs   [][2]*tensor.Tensor // the same tensor on both
}

const randomLen = 1 << 19 // elements: a page of 2 MiB

// TestRandomPrograms, which fill the device to its last page: streams, reuse of memory across them, pages that change
// hands, in place or not, all come to what the CPU comes to.
func TestRandomPrograms(t *testing.T) {
	seeds := uint64(4)
	if testing.Short() {
		seeds = 1
	}
	for seed := range seeds {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			_, _, d := newContext(t, cudasim.Config{Memory: 24 << 20, Delays: seed, Lazy: seed == 3})
			runProgram(t, d, seed)
		})
	}
}

func runProgram(t *testing.T, d *tensor.Device, seed uint64) {
	p := &program{Rand: rand.New(rand.NewPCG(seed, 1)), t: t, d: d, cpu: newCPU(t), streams: []*tensor.Stream{d.DefaultStream()}}
	for range 80 {
		p.step()
	}
	for len(p.pairs) > 0 {
		p.release(0)
	}
	for _, s := range p.streams[1:] {
		require.NoError(t, s.Close())
	}
	require.Zero(t, live(d))
}

func (p *program) stream() *tensor.Stream { return p.streams[p.IntN(len(p.streams))] }

func (p *program) step() {
	switch n := p.IntN(12); {
	case len(p.pairs) < 2 || n == 0:
		v := p.Float64()
		p.keep(tensor.Full(p.stream(), tensor.Float32, v, randomLen), tensor.Full(p.cpu, tensor.Float32, v, randomLen))
	case len(p.pairs) > 8 || n == 1:
		p.release(p.IntN(len(p.pairs)))
	case n == 2 && len(p.streams) < 4:
		s, err := p.d.NewStreamWith(p.IntN(3) - 1)
		require.NoError(p.t, err)
		p.streams = append(p.streams, s)
	case n == 3 && len(p.streams) > 1:
		last := len(p.streams) - 1
		require.NoError(p.t, p.streams[last].Close())
		p.streams = p.streams[:last]
	case n < 8:
		s, a, b := p.stream(), p.pairs[p.IntN(len(p.pairs))], p.pairs[p.IntN(len(p.pairs))]
		p.keep(half(a[0].On(s), b[0].On(s)), half(a[1], b[1]))
	default:
		s, i, b := p.stream(), p.IntN(len(p.pairs)), p.pairs[p.IntN(len(p.pairs))]
		a := p.pairs[i]
		for k, x := range []*tensor.Tensor{a[0].On(s), a[1]} {
			if n < 10 {
				require.NoError(p.t, x.CopyInPlace(b[k].On(nil)))
			} else {
				require.NoError(p.t, x.MulInPlace(x))
			}
		}
	}
}

// half returns the mean of a and b.
func half(a, b *tensor.Tensor) *tensor.Tensor {
	sum := a.Add(b)
	defer sum.Release()
	return sum.MulScalar(0.5)
}

func (p *program) keep(sim, cpu *tensor.Tensor) {
	require.NoError(p.t, sim.Err())
	require.NoError(p.t, cpu.Err())
	p.pairs = append(p.pairs, [2]*tensor.Tensor{sim, cpu})
}

// release lets pair i go; half of the time it is looked at before.
func (p *program) release(i int) {
	pair := p.pairs[i]
	if p.IntN(2) == 0 {
		require.Equal(p.t, data32(p.t, pair[1]), data32(p.t, pair[0].On(p.stream())))
	}
	require.NoError(p.t, pair[0].Release())
	require.NoError(p.t, pair[1].Release())
	p.pairs = append(p.pairs[:i], p.pairs[i+1:]...)
}
