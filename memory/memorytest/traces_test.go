package memorytest_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"io"
	"slices"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tarn/memory"
	"tarn/memory/memorytest"
)

// traceHashes are the SHA-256 of the files that the traces' specification
// gives, with seed 0 and 4 streams.
var traceHashes = map[string]string{
	"a_mlp":       "c017b6b37e6373baba2c90e73a2e78ca7c2de6d6dd4101eea966ce2377640b5f",
	"b_tfm12":     "beba53553d74fd5887867d486aeb7c5db374c315f1856c324b416db7bb3a8fd7",
	"b_tfm24":     "69adab25294f66488d6b67ffeb14606cc8c4a1fca6395a8003a4baa007d37056",
	"b_tfm24ckpt": "059276e02d7f35ab2d416e762dc3c27505273eea588aeeb1572f275e2ba15072",
	"b_tfm48":     "44358f09f5e36d9ba0049769059c0663239f2e0cb5e44619b68158962d643fc2",
	"c_var24":     "f8e7457b08ed4edb7bc8cf3672264e036ca456d85b644b6cbff8623bfb6d7359",
	"c_var24ckpt": "e438132ee669f4064a7ca9ac14012b95c8decbb1e65b00c6c47a2bee46d552c4",
	"c_var24quad": "8c32f808ec40e454fe81da7cadd020ae6da3a974ac17c58218a35b89e3a4221a",
	"d_serve":     "abed263c8f62b966b3443ebc7e6911c60e24a739c21ac18687f66295a0d1fabd",
	"e2_fragpool": "57363e62f5d68c505168a87dbe531b6a9c7fcc71846d90d66558009d82139b4c",
	"e_frag":      "e2323e28c0e3c99bee0b807d314f8d676fad8bc931dd633437c0fc2b1406f12a",
	"f_stress32k": "2e2a7d03012c0e74bcacf8b3e29b75159624daa998948d42825539c7445ac3c5",
	"f_stress4k":  "35014cd4ca8787f810fc67a8b3d6789cf37b6ed90b3bca561e3732b0439c06a2",
	"g_hit1":      "5e673d5695f33036f386305b8d5d77bdba2484c184ff64c8c115f5659e4ced2e",
	"g_hit16":     "f0578de54b4aedd5fc4e2c8e6a7c0fae720427e54622c5c0bef237495dec91e3",
}

// otherHashes are those with seed 7 and 3 streams, where they differ.
var otherHashes = map[string]string{
	"c_var24":     "4f68ceb766168211552e50a9a23cba738c648b5443ebe60571454382f2e7866a",
	"c_var24ckpt": "5eee7dc9ef3f27a571553b766538006c7671c1aae3a31dc4406b9958bcaffb9f",
	"c_var24quad": "05848253e0b99b50ba36c049c55b624cfbdfb0cc88ae10fa9122dddff89df498",
	"d_serve":     "fac8e259c3d57ea5d68573a099b2fc9d9110790a2ca98a915fa316a83d7fac9d",
	"f_stress32k": "9f04ece59cad1cc24463207fea206b1f48a545275b55917a8d1902b3fffa7f78",
	"f_stress4k":  "587a384d0b066a43fa4a1f66d6e7aeefebf566496b380330716fcbdfd9f88915",
}

func fileOf(t testing.TB, trace *memorytest.Trace) []byte {
	t.Helper()
	var file bytes.Buffer
	require.NoError(t, memorytest.WriteTrace(&file, trace))
	return file.Bytes()
}

func hashOf(file []byte) string {
	sum := sha256.Sum256(file)
	return hex.EncodeToString(sum[:])
}

// Ensure that the traces are those that published figures speak of, and that
// their files hold all of them.
func TestTraces(t *testing.T) {
	var names []string
	for trace := range memorytest.Traces(0, 4) {
		names = append(names, trace.Name)
		file := fileOf(t, trace)
		assert.Equal(t, traceHashes[trace.Name], hashOf(file), trace.Name)
		read, err := memorytest.ReadTrace(bytes.NewReader(file))
		require.NoError(t, err, trace.Name)
		assert.True(t, slices.Equal(trace.Events, read.Events), trace.Name)
		trace.Events, read.Events, read.Name = nil, nil, trace.Name
		assert.Equal(t, trace, read)
	}
	assert.Len(t, traceHashes, len(names))
	assert.Equal(t, names, memorytest.TraceNames())
}

func TestTracesOfAnotherSeed(t *testing.T) {
	for name, want := range otherHashes {
		trace, ok := memorytest.TraceByName(name, 7, 3)
		require.True(t, ok, name)
		assert.Equal(t, want, hashOf(fileOf(t, trace)), name)
	}
	_, ok := memorytest.TraceByName("h_none", 0, 4)
	assert.False(t, ok)
	assert.Panics(t, func() { memorytest.TraceByName("d_serve", 0, 0) })
	assert.Panics(t, func() { memorytest.TraceByName("d_serve", 0, 257) })
}

// Ensure that each trace's beginning plays, and that the books are right where
// it ends. The whole ones are for the benchmark.
func TestReplay(t *testing.T) {
	for _, name := range memorytest.TraceNames() {
		t.Run(name, func(t *testing.T) {
			whole, _ := memorytest.TraceByName(name, 0, 4)
			trace := whole.Prefix(whole.Prelude + 4000)
			require.NotEmpty(t, fileOf(t, trace), "a prefix is a trace")
			target := newTarget(t, newFake(t, memorytest.FakeConfig{Capacity: 1 << 50}), false)
			a := target.Allocator
			r := memorytest.NewReplay(a, trace)
			for range 2 {
				require.NoError(t, r.Play(len(trace.Events)/2))
				require.NoError(t, a.Check())
				require.NoError(t, r.Play(len(trace.Events)))
				require.NoError(t, r.Rewind())
			}
			require.NoError(t, a.Check())
			s := a.Stats()
			require.NoError(t, memorytest.CheckStats(s))
			assert.Zero(t, s.AllocatedBytes.All.Current)
			assert.EqualValues(t, len(trace.Events), s.Allocation.All.Allocated, "twice the blocks")
			assert.GreaterOrEqual(t, s.ReservedBytes.All.Peak, trace.PeakLive)
			require.NoError(t, a.Close())
		})
	}
}

// Ensure that a replay says where memory ran out, keeps what it has, and can
// begin again.
func TestReplayReportsOutOfMemory(t *testing.T) {
	trace, _ := memorytest.TraceByName("e2_fragpool", 0, 4)
	a := newTarget(t, newFake(t, memorytest.FakeConfig{Capacity: 2000 * mib}), false).Allocator
	r := memorytest.NewReplay(a, trace)
	for range 2 {
		require.NoError(t, r.Play(6))
		assert.EqualValues(t, 1100*mib, a.Stats().AllocatedBytes.All.Current, "the first 800 and the 300")
		require.NoError(t, r.Rewind())
		assert.Zero(t, a.Stats().AllocatedBytes.All.Current)
	}
	small := newTarget(t, newFake(t, memorytest.FakeConfig{Capacity: 1000 * mib}), false).Allocator
	trace, _ = memorytest.TraceByName("e_frag", 0, 4)
	r = memorytest.NewReplay(small, trace)
	err := r.Play(len(trace.Events))
	var at *memorytest.ReplayError
	require.ErrorAs(t, err, &at)
	assert.Equal(t, 1, at.Index)
	assert.Equal(t, trace.Events[1], at.Event)
	var oom *memory.OutOfMemoryError
	require.ErrorAs(t, err, &oom)
	assert.ErrorContains(t, err, "replay of e_frag, event 1 (alloc 524288000 bytes into slot 1 on stream 0): fake:0 out of memory")
	assert.EqualValues(t, 800*mib, small.Stats().AllocatedBytes.All.Current)
	require.NoError(t, r.Rewind())
	require.NoError(t, errors.Join(small.Close(), a.Close()))
}

// smallFile is the file of a trace of two blocks, the second on stream 5.
func smallFile(t testing.TB) []byte {
	return fileOf(t, &memorytest.Trace{
		Prelude: 1, Slots: 2, PeakLive: 1536,
		Events: []memorytest.TraceEvent{
			{Size: 1000, Slot: 0}, {Size: 4, Slot: 1, Stream: 5}, {Size: 4, Slot: 1, Stream: 5, Free: true},
		},
	})
}

// Ensure that what a file claims is not believed, and that the error names the
// byte.
func TestReadTraceRefuses(t *testing.T) {
	const prelude, count, slots, peak, first, second, third, end = 0, 8, 16, 24, 32, 48, 64, 80
	for name, c := range map[string]struct {
		word  int    // the uint64 that is overwritten
		value uint64 // with this
		at    int64
		says  string
	}{
		"prelude":         {prelude, 4, 0, "a prelude of 4 events where there are 3"},
		"huge count":      {count, 1<<64 - 1, end, "the file ends in the records of 18446744073709551615 events"},
		"count":           {count, 4, end, "the file ends in the records of 4 events"},
		"low count":       {count, 2, third, "more follows after 2 events"},
		"huge slots":      {slots, 1 << 63, 16, "9223372036854775808 slots where there are 3 events"},
		"few slots":       {slots, 1, second + 4, "slot 1 where there are 1"},
		"peak":            {peak, 1 << 63, 24, "a peak of 9223372036854775808 live bytes, the events have one of 1536"},
		"op":              {first, 2 << 8, first + 1, "op 2 is neither"},
		"free of nothing": {first, 1 << 8, first + 4, "free of slot 0, which is empty"},
		"filled":          {second, 5, second + 4, "alloc into slot 0, which is filled"},
		"size 0":          {first + 8, 0, first + 8, "alloc of 0 bytes"},
		"huge size":       {first + 8, 1<<64 - 1, first + 8, "alloc of 18446744073709551615 bytes"},
		"wrong size":      {third + 8, 5, third + 8, "free of 5 bytes of slot 1, which has 4"},
		"wrong stream":    {third, 1<<32 | 1<<8 | 4, third, "free of slot 1 on stream 4, its block is of stream 5"},
	} {
		t.Run(name, func(t *testing.T) {
			file := smallFile(t)
			binary.LittleEndian.PutUint64(file[c.word:], c.value)
			_, err := memorytest.ReadTrace(bytes.NewReader(file))
			var bad *memorytest.TraceError
			require.ErrorAs(t, err, &bad)
			assert.Equal(t, c.at, bad.Byte)
			assert.Contains(t, bad.Reason, c.says)
		})
	}
}

func TestReadTraceOfBrokenReaders(t *testing.T) {
	file := smallFile(t)
	for n := range file {
		_, err := memorytest.ReadTrace(bytes.NewReader(file[:n]))
		var bad *memorytest.TraceError
		require.ErrorAs(t, err, &bad, "%d bytes", n)
		assert.EqualValues(t, n, bad.Byte)
		assert.ErrorIs(t, err, io.ErrUnexpectedEOF)

		broken := io.MultiReader(bytes.NewReader(file[:n]), iotest.ErrReader(io.ErrClosedPipe))
		_, err = memorytest.ReadTrace(broken)
		require.ErrorAs(t, err, &bad, "%d bytes", n)
		assert.EqualValues(t, n, bad.Byte)
		assert.ErrorIs(t, err, io.ErrClosedPipe)
	}
	trace, err := memorytest.ReadTrace(iotest.OneByteReader(bytes.NewReader(file)))
	require.NoError(t, err)
	assert.Equal(t, file, fileOf(t, trace))
}

func TestWriteTraceRefuses(t *testing.T) {
	huge := memorytest.TraceEvent{Size: 1 << 60}
	crowd := &memorytest.Trace{Slots: 5, PeakLive: 1 << 62}
	for range crowd.Slots {
		crowd.Events = append(crowd.Events, huge)
		huge.Slot++
	}
	for name, c := range map[string]struct {
		trace *memorytest.Trace
		at    int64
	}{
		"more than 2^62 bytes": {crowd, 32 + 4*16 + 8},
		"negative slots":       {&memorytest.Trace{Slots: -1}, 16},
		"negative prelude":     {&memorytest.Trace{Prelude: -1}, 0},
	} {
		var file bytes.Buffer
		var bad *memorytest.TraceError
		require.ErrorAs(t, memorytest.WriteTrace(&file, c.trace), &bad, name)
		assert.Equal(t, c.at, bad.Byte, name)
		assert.Zero(t, file.Len(), name)
	}
	trace, _ := memorytest.TraceByName("e_frag", 0, 4)
	broken, w := io.Pipe()
	require.NoError(t, broken.CloseWithError(io.ErrNoProgress))
	assert.ErrorIs(t, memorytest.WriteTrace(w, trace), io.ErrNoProgress)
}

// FuzzReadTrace looks for files that are read and are not what is written.
func FuzzReadTrace(f *testing.F) {
	f.Add(smallFile(f))
	f.Fuzz(func(t *testing.T, file []byte) {
		trace, err := memorytest.ReadTrace(bytes.NewReader(file))
		if err != nil {
			var bad *memorytest.TraceError
			require.ErrorAs(t, err, &bad)
			require.LessOrEqual(t, bad.Byte, int64(len(file)))
			return
		}
		require.Equal(t, file, fileOf(t, trace))
	})
}
