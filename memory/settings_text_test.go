package memory

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// randomSettings are valid.
func randomSettings(rng *rand.Rand) (s Settings) {
	some := func() bool { return rng.IntN(2) == 0 }
	size := func(least int64) int64 {
		if some() {
			return 0
		}
		return least + rng.Int64N(1<<rng.IntN(30))*mebi
	}
	if some() {
		s.Backend = []string{"native", asyncBackend}[rng.IntN(2)]
	}
	s.LargeSegment = size(2 * mebi)
	s.MaxSplitSize = size(s.largeSegment())
	s.MaxNonSplitRounding = size(s.largeSegment())
	for i := range s.RoundupPower2Divisions {
		if rng.IntN(3) > 0 && i > 0 {
			s.RoundupPower2Divisions[i] = s.RoundupPower2Divisions[i-1]
		} else if some() {
			s.RoundupPower2Divisions[i] = 1 << rng.IntN(31)
		}
	}
	if some() {
		s.GCThreshold = max(rng.Float64(), 0.001)
	}
	s.MemoryFraction = []float64{0, NoMemory, rng.Float64(), 1}[rng.IntN(4)]
	s.ThrowOnMallocOOM = some()
	s.Expandable = Expandable(rng.IntN(3))
	s.ExpandableReserve = []Reserve{{}, {Fraction: rng.Float64() + 0.1}, {Bytes: 1 + rng.Int64N(1<<50)}}[rng.IntN(3)]
	s.Pinned = PinnedSettings{
		UseHostRegister: some(), BackgroundThreads: some(), RegisterThreads: 1 << rng.IntN(8) &^ rng.IntN(2),
		ReserveSegment: size(mebi), MaxRoundThreshold: size(mebi), MaxCached: size(mebi),
	}
	return s
}

func TestSettingsRoundTrip(t *testing.T) {
	assert.Empty(t, Settings{}.String())
	rng := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		s := randomSettings(rng)
		require.NoError(t, s.Validate(), "%+v", s)
		got, _, err := ParseSettings(s.String())
		require.NoError(t, err, s.String())
		require.Equal(t, s, got, s.String())
	}
}

// The text is the one that people write.
func TestSettingsString(t *testing.T) {
	for _, text := range []string{
		"roundup_power2_divisions:[256:1,512:2,1024:4,>:8]",
		"roundup_power2_divisions:[128:8,256:16,512:1,2048:8,>:2]",
		"roundup_power2_divisions:[1:0,2:4]",
		"roundup_power2_divisions:4",
		"backend:cudaMallocAsync,max_split_size_mb:128,per_process_memory_fraction:0",
		"expandable_segments:False,expandable_segments_reserve:40G",
	} {
		s, _, err := ParseSettings(text)
		require.NoError(t, err)
		assert.Equal(t, text, s.String())
	}
}

func FuzzParseSettings(f *testing.F) {
	for _, k := range settingKeys {
		f.Add(k.name + ":True," + k.alias + ":20")
	}
	f.Add("roundup_power2_divisions:[256:1,512:2,1024:4,>:8], max_split_size_mb:200,backend:native,")
	f.Add("expandable_segments_reserve:1e-9g,garbage_collection_threshold:0x1p-3")
	f.Add("per_process_memory_fraction:1e-400,pinned_num_register_threads:8,[:]")
	f.Fuzz(func(t *testing.T, text string) {
		s, warnings, err := ParseSettings(text)
		if err != nil {
			checkPlace(t, text, err)
			return
		}
		for _, w := range warnings {
			require.Equal(t, w.Text, text[w.Offset:w.Offset+len(w.Text)])
		}
		require.NoError(t, s.Validate())
		again, _, err := ParseSettings(s.String())
		require.NoError(t, err, s.String())
		require.Equal(t, s, again)
		require.Equal(t, s.String(), again.String())
	})
}
