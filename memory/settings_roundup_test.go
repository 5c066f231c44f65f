package memory

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestSettingsRounded has the sizes that were checked against PyTorch.
func TestSettingsRounded(t *testing.T) {
	for _, c := range []struct {
		size      int64
		divisions int
		want      int64
	}{
		{1, 0, 512}, {511, 4, 512}, {512, 1, 512}, {513, 0, 1024}, {513, 1, 1024},
		{1200, 4, 1536}, // 1280 by PyTorch's documentation, but its steps are below 512
		{2048, 4, 2048}, {2049, 4, 2560}, {5000, 4, 5120},
		{84 << 20, 0, 84 << 20}, {84 << 20, 4, 96 << 20}, {84 << 20, 8, 88 << 20},
		{400 << 20, 2, 512 << 20}, {512 << 20, 2, 512 << 20}, {512<<20 + 1, 2, 768 << 20},
		{maxRequest, 8, maxRequest}, {maxRequest - 1, 2, maxRequest}, {maxRequest - 1, maxDivisions, maxRequest},
	} {
		var s Settings
		setAll(s.RoundupPower2Divisions[:], c.divisions)
		assert.Equal(t, c.want, s.rounded(c.size), "%d bytes, %d divisions", c.size, c.divisions)
	}
}

// TestSettingsRoundedByInterval is PyTorch's 52 and 88.
func TestSettingsRoundedByInterval(t *testing.T) {
	for text, want := range map[string]map[int64]int64{
		"":                           {84: 84},
		"roundup_power2_divisions:4": {84: 96},
		"garbage_collection_threshold:0.5,max_split_size_mb:40":        {84: 84},
		"roundup_power2_divisions:[64:8,128:2,256:4,512:2,1024:4,>:1]": {40: 40, 84: 88, 140: 192, 400: 448, 3000: 3000},
		"roundup_power2_divisions:[64:8,128:2,256:2,512:2,1024:4,>:1]": {84: 88, 400: 512},
	} {
		s, _, err := ParseSettings(text)
		require.NoError(t, err)
		for size, rounded := range want {
			assert.Equal(t, rounded, s.rounded(size<<20)>>20, "%d MiB with %s", size, text)
		}
	}
}

func TestSettingsRoundupSlots(t *testing.T) {
	for size, want := range map[int64]int{
		1: 0, 1<<20 - 1: 0, 1 << 20: 0, 2<<20 - 1: 0, 2 << 20: 1, 64 << 20: 6, 96 << 20: 6, 128<<20 - 1: 6,
		32 << 30: 15, 64 << 30: 15, maxRequest: 15,
	} {
		assert.Equal(t, want, roundupSlot(size), "%d", size)
	}
}

// What is rounded is a multiple of the granule, large enough, less than a step
// too large, and rounded already.
func TestSettingsRoundedProperties(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for range 5000 {
		s := Settings{RoundupPower2Divisions: randomSettings(rng).RoundupPower2Divisions}
		size := 1 + rng.Int64N(1<<(1+rng.IntN(60)))
		got := s.rounded(size)
		step := int64(minBlockSize)
		if d := s.RoundupPower2Divisions[roundupSlot(size)]; d > 1 {
			step = max(step, size/int64(d))
		}
		require.Zero(t, got%minBlockSize, "%d with %v", size, s)
		require.GreaterOrEqual(t, got, size, "with %v", s)
		require.Less(t, got-size, step+1, "%d with %v", size, s)
	}
}

// TestSettingsReserve is PyTorch's 90, 92, 93 and 94, and of 91 and 96 what
// does not need a class.
func TestSettingsReserve(t *testing.T) {
	const total = 100 << 30
	for word, want := range map[string]int64{
		"0.5": 50 << 30, "40G": 40 << 30, "0.25": 25 << 30, "8g": 8 << 30, "0.9": 90 << 30, // 90, 91
		"1e20G": total / 8 * 9, "1e300": total / 8 * 9, "2": total / 8 * 9, "113G": total / 8 * 9, // 92, 94
		"1.125": total / 8 * 9, "112.5G": total / 8 * 9,
	} {
		s, warnings, err := ParseSettings("expandable_segments_reserve:" + word)
		require.NoError(t, err)
		assert.Empty(t, warnings)
		assert.Equal(t, want, s.ExpandableReserve.Of(total), word)
	}
	assert.EqualValues(t, total/8*9, Reserve{}.Of(total))

	s, _, err := ParseSettings("expandable_segments_reserve:1e20G")
	require.NoError(t, err)
	assert.EqualValues(t, math.MaxInt64, s.ExpandableReserve.Bytes)

	for _, word := range []string{"abc", "G", "-1", "0", "12X", "inf", "nan", "NaNG", "1e-12G", "1e400"} { // 93
		text := fmt.Sprintf("expandable_segments_reserve:0.5,expandable_segments_reserve:%s,backend:native", word)
		s, warnings, err := ParseSettings(text)
		require.NoError(t, err)
		assert.Equal(t, Settings{ExpandableReserve: Reserve{Fraction: 0.5}, Backend: "native"}, s)
		assert.Equal(t, []Warning{{
			Key: "expandable_segments_reserve", Text: "expandable_segments_reserve:" + word, Offset: 32,
			Reason: "must be a fraction of the device's memory, such as 0.5, or GiB, such as 40G; passed over",
		}}, warnings)
	}
}
