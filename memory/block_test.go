package memory

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tarn/cuda"
)

func TestRecordsNeverMove(t *testing.T) {
	var r records
	i, first := r.get()
	assert.EqualValues(t, 1, i, "record 0 stands for none")
	for range 10 * chunkLen {
		r.get()
	}
	assert.Same(t, first, r.at(i))
	assert.False(t, r.has(0))
	assert.True(t, r.has(r.fresh-1))
	assert.False(t, r.has(r.fresh))
}

func TestRecordKeepsItsGeneration(t *testing.T) {
	var r records
	i, b := r.get()
	b.size, b.state = 512, stateLive
	b.endGeneration()
	r.put(i)
	j, b := r.get()
	require.Equal(t, i, j, "an unused record is used again")
	assert.Equal(t, block{generation: 2}, *b)
	b.generation = math.MaxUint32
	b.endGeneration()
	assert.EqualValues(t, 1, b.generation, "0 is no generation")
}

func TestDirectory(t *testing.T) {
	d := newDirectory(nil, nil)
	assert.Nil(t, d.ofID(1))
	assert.Nil(t, d.ofStream(0))
	var streams []cuda.Stream
	for n := range 100 {
		s := cuda.Stream(n * 4096)
		streams = append(streams, s)
		before := d
		d = d.with(newTable(uint32(1000+3*n), s, nil))
		assert.Nil(t, before.ofStream(s), "a directory never changes")
	}
	for n, s := range streams {
		byStream, byID := d.ofStream(s), d.ofID(uint32(1000+3*n))
		require.NotNil(t, byStream)
		assert.Same(t, byStream, byID)
		assert.Equal(t, s, byStream.stream)
		assert.Nil(t, d.ofID(uint32(1001+3*n)))
		assert.Nil(t, d.ofStream(s+1))
	}
}
