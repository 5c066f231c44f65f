//go:build cgo && (linux || darwin)

package gpu

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tarn/cuda"
	"tarn/cuda/cudasim"
	"tarn/kernels"
)

// planted is a device that bugs are planted on, which may be lost by them.
type planted struct {
	machine *cudasim.Machine
	*Kernels
}

func newPlanted(t *testing.T) planted {
	m, err := cudasim.Open(cudasim.Config{SharedRaces: true, Memory: 64 << 20})
	require.NoError(t, err)
	t.Cleanup(func() { _ = m.Close() }) // what a lost device had is left
	d, err := m.Library().Device(0)
	require.NoError(t, err)
	c, err := d.Open()
	require.NoError(t, err)
	return planted{m, New(c)}
}

// dense returns a dense operand of that many bytes of zeros behind skip bytes of
// an allocation that ends with it.
func (p planted) dense(t *testing.T, d kernels.DType, skip int64, dims ...int64) kernels.View {
	v := kernels.View{DType: d, Rank: int8(len(dims))}
	copy(v.Dims[:], dims)
	size := skip + v.Len()*d.Size()
	at, err := p.context.Alloc(size)
	require.NoError(t, err)
	require.NoError(t, p.context.Fill8(0, at, 0, size))
	return countsLike(v, uintptr(at)+uintptr(skip))
}

// without loads the kernels of m whose names begin with prefix, and of their text
// not the n-th barrier, from 0. It returns the kernel of that one, "" where there
// are not so many.
func (p planted) without(t *testing.T, m *module, prefix string, n int) (kernel string) {
	text, err := texts.ReadFile("ptx/" + m.name + ".ptx")
	require.NoError(t, err)
	var kept []string
	entry := prefix // that a line is of, or where it is of none the prefix
	for line := range strings.Lines(string(text)) {
		if _, after, begins := strings.Cut(line, ".entry "); begins {
			entry, _, _ = strings.Cut(after, "(")
		}
		barrier := strings.Contains(line, "bar.sync")
		if strings.HasPrefix(entry, prefix) {
			if barrier && n == 0 {
				kernel = entry
			} else {
				kept = append(kept, line)
			}
			if barrier {
				n--
			}
		}
		if strings.HasPrefix(line, "}") {
			entry = prefix
		}
	}
	l := &p.loaded[m.index]
	l.module, err = p.context.Load(strings.Join(kept, ""))
	require.NoError(t, err)
	fs := make([]*cuda.Function, len(m.names))
	for i, name := range m.names {
		if strings.HasPrefix(name, prefix) {
			fs[i], err = l.module.Function(name)
			require.NoError(t, err)
		}
	}
	l.functions.Store(&fs)
	return kernel
}

// fault waits for the work and returns what was wrong with it.
func (p planted) fault(t *testing.T, code cuda.Code) error {
	t.Helper()
	err := p.context.SyncStream(0)
	var call *cuda.Error
	require.ErrorAs(t, err, &call)
	require.Equal(t, code, call.Code)
	require.NotEmpty(t, p.machine.Reports())
	t.Log(p.machine.Reports()[0])
	return p.machine.Reports()[0]
}

// TestPlantedMissingBarrier takes the barriers out of our kernels, one at a time.
// Without any of them there is a race in shared memory, where a block has more
// than one part of the work.
func TestPlantedMissingBarrier(t *testing.T) {
	float := func(p planted, dims ...int64) kernels.View { return p.dense(t, kernels.Float32, 0, dims...) }
	run := func(p planted, id kernels.ID, out kernels.View, in ...kernels.View) error {
		a := kernels.NewArgs()
		defer a.Put()
		a.Out, a.In = append(a.Out, out), append(a.In, in...)
		a.Attr.Alpha, a.Work.Ptr = 1, float(p, 1000).Ptr
		return p.table[id].Run(p.Queue(0), a)
	}
	rows := func(id kernels.ID) func(p planted) error {
		return func(p planted) error { return run(p, id, float(p, 3, 1), float(p, 3, 2048)) }
	}
	cols := func(id kernels.ID) func(p planted) error {
		return func(p planted) error { return run(p, id, float(p, 1, 80), float(p, 80, 80)) }
	}
	product := func(n int64) func(p planted) error {
		return func(p planted) error { return run(p, kernels.MatMul, float(p, n, n), float(p, n, n), float(p, n, n)) }
	}
	for _, c := range []struct {
		module *module
		prefix string
		run    func(p planted) error
	}{
		{copyModule, "transpose_b32", func(p planted) error {
			x := float(p, 70, 70)
			x.Strides[0], x.Strides[1] = 1, 70
			return run(p, kernels.Copy, float(p, 70, 70), x)
		}},
		{reduceModule, "sum_f32_rows_index32", rows(kernels.Sum)},
		{reduceModule, "sum_f32_cols_index32", cols(kernels.Sum)},
		{maxModule, "max_f32_rows_index32", rows(kernels.Max)},
		{maxModule, "max_f32_cols_index32", cols(kernels.Max)},
		{matmulModule, "matmul_f32_small_wide", product(64)},
		{matmulModule, "matmul_f32_small_any", product(63)},
		{lossModule, "cross_entropy_f32", func(p planted) error {
			return run(p, kernels.CrossEntropy, float(p), float(p, 3, 1031), p.dense(t, kernels.Int64, 0, 3))
		}},
		{lossModule, "cross_entropy_grad_f32", func(p planted) error {
			return run(p, kernels.CrossEntropyGrad, float(p, 3, 1031), float(p), float(p, 3, 1031), p.dense(t, kernels.Int64, 0, 3))
		}},
	} {
		for n, more := 0, true; more; n++ {
			t.Run(fmt.Sprint(c.prefix, " ", n), func(t *testing.T) {
				p := newPlanted(t)
				p.mostBlocks = 1
				kernel := p.without(t, c.module, c.prefix, n)
				// An op of two launches may find at the second that the first failed.
				if err := c.run(p); !errors.Is(err, cuda.ErrDeviceLost) {
					require.NoError(t, err)
				}
				if more = kernel != ""; !more {
					require.NoError(t, p.context.SyncStream(0), "with all barriers")
					require.Positive(t, n)
					return
				}
				found := p.fault(t, cuda.Code(719))
				require.ErrorContains(t, found, "race in shared memory")
				require.ErrorContains(t, found, ": kernel "+kernel+", ")
			})
			if t.Failed() {
				break
			}
		}
	}
}

// TestPlantedOverrun: a kernel is told of one element more than there is.
func TestPlantedOverrun(t *testing.T) {
	p := newPlanted(t)
	x := p.dense(t, kernels.Float32, 0, 1001)
	x.Dims[0]++
	require.NoError(t, p.do(kernels.Exp, 0, []kernels.View{x}, x))
	past := fmt.Sprintf("load of 4 bytes at global address %#x: nothing is live there", x.Ptr+4*1001)
	require.ErrorContains(t, p.fault(t, cuda.Code(700)), past)
}

// TestPlantedMisalignedVector: the kernel for vectors is launched on what is
// aligned to elements alone.
func TestPlantedMisalignedVector(t *testing.T) {
	p := newPlanted(t)
	out, in := p.dense(t, kernels.Float32, 0, 1024), p.dense(t, kernels.Float32, 4, 1024)
	require.NoError(t, p.do(kernels.Exp, 0, []kernels.View{out}, in))
	require.NoError(t, p.context.SyncStream(0), "the launcher chooses the other kernel")
	in.Ptr -= 4
	w := walkOver(&out, &in)
	require.True(t, w.inVectors(4))
	w.ptrs[1] += 4
	w = w.vectors(4)
	l, err := p.prepare(elementwise[kernels.Exp].f32.vectors)
	require.NoError(t, err)
	l.Ptr(cuda.DevicePtr(w.ptrs[0])).Ptr(cuda.DevicePtr(w.ptrs[1]))
	w.pass(l.Int64(1024), false).Uint32(0).Float32(1).Float32(0)
	require.NoError(t, l.Run(0, p.line(w.count)))
	require.ErrorContains(t, p.fault(t, cuda.Code(716)), "not aligned to 16 bytes")
}
