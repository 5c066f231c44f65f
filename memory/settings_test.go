package memory

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// divisionsOf makes divisions from what slots 0 to 15 have, as runs of {count, n}.
func divisionsOf(runs ...[2]int) (all [roundupSlots]int) {
	i := 0
	for _, r := range runs {
		setAll(all[i:i+r[0]], r[1])
		i += r[0]
	}
	return all
}

// TestSettingsParse has the texts of PyTorch's tests, by their numbers in the
// list of its scenarios, and others.
func TestSettingsParse(t *testing.T) {
	all := divisionsOf([2]int{16, 4})
	for text, want := range map[string]Settings{
		"": {}, " \t\n": {},

		// 88, the string that sets all values
		"max_split_size_mb:40,max_non_split_rounding_mb:30,garbage_collection_threshold:0.5," +
			"roundup_power2_divisions:[64:8,128:2,256:4,512:2,1024:4,>:1]," +
			"expandable_segments:True,pinned_use_background_threads:True": {
			MaxSplitSize: 40 << 20, MaxNonSplitRounding: 30 << 20, GCThreshold: 0.5,
			RoundupPower2Divisions: divisionsOf([2]int{7, 8}, [2]int{1, 2}, [2]int{1, 4}, [2]int{1, 2}, [2]int{1, 4}, [2]int{5, 1}),
			Expandable:             ExpandableOn, Pinned: PinnedSettings{BackgroundThreads: true},
		},
		// 88, the others
		"max_split_size_mb:20,max_non_split_rounding_mb:40,garbage_collection_threshold:0.8": {
			MaxSplitSize: 20 << 20, MaxNonSplitRounding: 40 << 20, GCThreshold: 0.8,
		},
		"large_segment_size_mb:15,max_split_size_mb:20,max_non_split_rounding_mb:40,garbage_collection_threshold:0.8": {
			LargeSegment: 15 << 20, MaxSplitSize: 20 << 20, MaxNonSplitRounding: 40 << 20, GCThreshold: 0.8,
		},
		"roundup_power2_divisions:[128:8,256:16,512:1,2048:8,>:2]": {
			RoundupPower2Divisions: divisionsOf([2]int{8, 8}, [2]int{1, 16}, [2]int{1, 1}, [2]int{1, 0}, [2]int{1, 8}, [2]int{4, 2}),
		},
		"roundup_power2_divisions:4":          {RoundupPower2Divisions: all},
		"expandable_segments:False,":          {Expandable: ExpandableOff},
		"pinned_use_background_threads:False": {},

		// 12, 13, 32, 50, 51
		"pinned_use_cuda_host_register:True,pinned_num_register_threads:8": {
			Pinned: PinnedSettings{UseHostRegister: true, RegisterThreads: 8},
		},
		"pinned_use_cuda_host_register:False":    {},
		"graph_capture_record_stream_reuse:True": {},
		"max_split_size_mb:40":                   {MaxSplitSize: 40 << 20},
		"garbage_collection_threshold:0.5":       {GCThreshold: 0.5},
		// 48, 52
		"max_split_size_mb:1024": {MaxSplitSize: 1 << 30},
		"roundup_power2_divisions:[64:8,128:2,256:4,512:2,1024:4,>:1]": {
			RoundupPower2Divisions: divisionsOf([2]int{7, 8}, [2]int{1, 2}, [2]int{1, 4}, [2]int{1, 2}, [2]int{1, 4}, [2]int{5, 1}),
		},
		"release_lock_on_cudamalloc:True": {}, "release_lock_on_hipmalloc:False": {},
		// 53, but for the key with a bad value that PyTorch does not look at
		"max_split_size_mb:20,backend:cudaMallocAsync": {MaxSplitSize: 20 << 20, Backend: "cudaMallocAsync"},
		// 54
		"per_process_memory_fraction:0.0": {MemoryFraction: NoMemory},
		"per_process_memory_fraction:-0":  {MemoryFraction: NoMemory},
		"per_process_memory_fraction:0.5": {MemoryFraction: 0.5},
		"per_process_memory_fraction:1.0": {MemoryFraction: 1},
		// 91
		"expandable_segments_reserve_by_class:[serving:0.25,ads_sparse:8G]": {},
		// 98 to 103
		"pinned_max_round_threshold_mb:64":                                {Pinned: PinnedSettings{MaxRoundThreshold: 64 << 20}},
		"pinned_max_cached_size_mb:32":                                    {Pinned: PinnedSettings{MaxCached: 32 << 20}},
		"pinned_max_round_threshold_mb:256,pinned_max_cached_size_mb:128": {Pinned: PinnedSettings{MaxRoundThreshold: 256 << 20, MaxCached: 128 << 20}},

		"backend : native":       {Backend: "native"},
		"backend:hipMallocAsync": {Backend: "cudaMallocAsync"},
		"pinned_use_hip_host_register:True,pinned_free_catch_all:True": {Pinned: PinnedSettings{UseHostRegister: true}},
		"pinned_reserve_segment_size_mb:2":                             {Pinned: PinnedSettings{ReserveSegment: 2 << 20}},
		"throw_on_cudamalloc_oom:True,per_process_memory_fraction:0.1": {ThrowOnMallocOOM: true, MemoryFraction: 0.1},
		" max_split _size_mb : 4 0\t,\nlarge_segment_size_mb:25 , ":    {MaxSplitSize: 40 << 20, LargeSegment: 25 << 20},
		"max_split_size_mb:16,large_segment_size_mb:15":                {MaxSplitSize: 16 << 20, LargeSegment: 15 << 20},
		"max_split_size_mb:7,max_split_size_mb:40":                     {MaxSplitSize: 40 << 20},
		"roundup_power2_divisions:[],":                                 {},
		"roundup_power2_divisions:[ >:8, ]":                            {RoundupPower2Divisions: divisionsOf([2]int{1, 0}, [2]int{15, 8})},
		"roundup_power2_divisions:[1048576:2,1:0]":                     {RoundupPower2Divisions: divisionsOf([2]int{1, 0}, [2]int{15, 2})},
		"roundup_power2_divisions:4,roundup_power2_divisions:[1:2]":    {RoundupPower2Divisions: divisionsOf([2]int{1, 2})},
	} {
		s, _, err := ParseSettings(text)
		if assert.NoError(t, err, text) {
			assert.Equal(t, want, s, text)
			assert.NoError(t, s.Validate(), text)
		}
	}
}

func TestSettingsRefuse(t *testing.T) {
	const threads = "must be a power of two, at most 128"
	for text, want := range map[string]string{
		// 52, 88
		"foo:1,bar:2":                                   `"foo" at byte 0: there is no such key`,
		"garbage_collection_threshold:1.2":              `"garbage_collection_threshold:1.2" at byte 0: must be a number more than 0 and less than 1`,
		"max_split_size_mb:2":                           `"max_split_size_mb:2" at byte 0: must be at least 20, the size of a large segment`,
		"expandable_segments:none":                      `"expandable_segments:none" at byte 0: must be True or False`,
		"release_lock_on_cudamalloc:none":               `"release_lock_on_cudamalloc:none" at byte 0: must be True or False`,
		"pinned_use_cuda_host_register:none":            `"pinned_use_cuda_host_register:none" at byte 0: must be True or False`,
		"pinned_num_register_threads:none":              `"pinned_num_register_threads:none" at byte 0: ` + threads,
		"pinned_num_register_threads:1024":              `"pinned_num_register_threads:1024" at byte 0: ` + threads,
		"max_split_size_mb:20,large_segment_size_mb:25": `"max_split_size_mb:20" at byte 0: must be at least 25, the size of a large segment`,
		// 53: PyTorch reports the backend and does not look further
		"max_split_size_mb:20,backend:cudaMallocAsync,release_lock_on_cudamalloc:none": `"release_lock_on_cudamalloc:none" at byte 45: must be True or False`,
		// 54
		"per_process_memory_fraction:-0.1": `"per_process_memory_fraction:-0.1" at byte 0: must be a number from 0 to 1`,
		"per_process_memory_fraction:1.1":  `"per_process_memory_fraction:1.1" at byte 0: must be a number from 0 to 1`,
		"per_process_memory_fraction:NaN":  `"per_process_memory_fraction:NaN" at byte 0: must be a number from 0 to 1`,
		// 89
		"max_split_size_mb":              `"max_split_size_mb" at byte 0: has no value`,
		"max_split_size_mb:":             `"max_split_size_mb:" at byte 0: has no value`,
		"roundup_power2_divisions:[64:8": `"roundup_power2_divisions:[64:8" at byte 0: the list has no ] at its end`,
		"garbage_collection_threshold:":  `"garbage_collection_threshold:" at byte 0: has no value`,

		"backend:native,max_split_size_mb: 7":        `"max_split_size_mb: 7" at byte 15: must be at least 20, the size of a large segment`,
		"max_split_size_mb:0":                        `"max_split_size_mb:0" at byte 0: must be at least 20, the size of a large segment`,
		"max_split_size_mb:-5":                       `"max_split_size_mb:-5" at byte 0: must be a whole number of MiB`,
		"max_split_size_mb:40MB":                     `"max_split_size_mb:40MB" at byte 0: must be a whole number of MiB`,
		"max_split_size_mb:1099511627777":            `"max_split_size_mb:1099511627777" at byte 0: must be at most 1099511627776`,
		"max_split_size_mb:99999999999999999999":     `"max_split_size_mb:99999999999999999999" at byte 0: must be at most 1099511627776`,
		"max_non_split_rounding_mb:19":               `"max_non_split_rounding_mb:19" at byte 0: must be at least 20, the size of a large segment`,
		"large_segment_size_mb:1":                    `"large_segment_size_mb:1" at byte 0: must be at least 2`,
		"pinned_reserve_segment_size_mb:0":           `"pinned_reserve_segment_size_mb:0" at byte 0: must be at least 1`,
		"garbage_collection_threshold:0":             `"garbage_collection_threshold:0" at byte 0: must be a number more than 0 and less than 1`,
		"garbage_collection_threshold:1":             `"garbage_collection_threshold:1" at byte 0: must be a number more than 0 and less than 1`,
		"garbage_collection_threshold:nan":           `"garbage_collection_threshold:nan" at byte 0: must be a number more than 0 and less than 1`,
		"garbage_collection_threshold:x":             `"garbage_collection_threshold:x" at byte 0: must be a number more than 0 and less than 1`,
		"pinned_num_register_threads:0":              `"pinned_num_register_threads:0" at byte 0: ` + threads,
		"pinned_num_register_threads:3":              `"pinned_num_register_threads:3" at byte 0: ` + threads,
		"backend:cuda":                               `"backend:cuda" at byte 0: must be native or cudaMallocAsync`,
		"expandable_segments:true":                   `"expandable_segments:true" at byte 0: must be True or False`,
		"expandable_segment:True":                    `"expandable_segment" at byte 0: there is no such key; did you mean expandable_segments?`,
		"max_slpit_size_mb:40":                       `"max_slpit_size_mb" at byte 0: there is no such key; did you mean max_split_size_mb?`,
		"release_lock_on_hipmaloc:True":              `"release_lock_on_hipmaloc" at byte 0: there is no such key; did you mean release_lock_on_hipmalloc?`,
		"ab:1":                                       `"ab" at byte 0: there is no such key`,
		"backend:native,,":                           `"," at byte 15: a key is missing here`,
		":1":                                         `":" at byte 0: a key is missing here`,
		"backend,":                                   `"backend" at byte 0: has no value`,
		"backend::":                                  `"backend:" at byte 0: has no value`,
		"backend:native:native":                      `":" at byte 14: a comma must come before this`,
		"backend:native]":                            `"]" at byte 14: a comma must come before this`,
		"backend:[native:1]":                         `"backend:[native:1]" at byte 0: must be one value, not a list`,
		"roundup_power2_divisions:0":                 `"roundup_power2_divisions:0" at byte 0: must be a power of two, at most 1073741824`,
		"roundup_power2_divisions:3":                 `"roundup_power2_divisions:3" at byte 0: must be a power of two, at most 1073741824`,
		"roundup_power2_divisions:2147483648":        `"roundup_power2_divisions:2147483648" at byte 0: must be a power of two, at most 1073741824`,
		"roundup_power2_divisions:[64:8,128:6]":      `"128:6" at byte 31: divisions must be 0 or a power of two, at most 1073741824`,
		"roundup_power2_divisions:[64:8, 100 : 2]":   `"100 : 2" at byte 32: an interval must begin at a power of two of MiB, or be >`,
		"roundup_power2_divisions:[0:8]":             `"0:8" at byte 26: an interval must begin at a power of two of MiB, or be >`,
		"roundup_power2_divisions:[":                 `"roundup_power2_divisions:[" at byte 0: the list has no ] at its end`,
		"roundup_power2_divisions:[64:8,":            `"roundup_power2_divisions:[64:8," at byte 0: the list has no ] at its end`,
		"roundup_power2_divisions:[64]":              `"]" at byte 28: does not fit here: a list is [name:value,name:value]`,
		"roundup_power2_divisions:[64:8:1]":          `":" at byte 30: does not fit here: a list is [name:value,name:value]`,
		"roundup_power2_divisions:[:8]":              `":" at byte 26: does not fit here: a list is [name:value,name:value]`,
		"roundup_power2_divisions:[64:8,backend:x,,": `"," at byte 41: does not fit here: a list is [name:value,name:value]`,
	} {
		s, warnings, err := ParseSettings(text)
		require.Error(t, err, text)
		assert.Equal(t, "memory: settings: "+want, err.Error())
		assert.Zero(t, s, text)
		assert.Empty(t, warnings, text)
		checkPlace(t, text, err)
	}
}

// checkPlace checks that an error quotes the text that it points to.
func checkPlace(t *testing.T, text string, err error) {
	t.Helper()
	var bad *SettingsError
	require.ErrorAs(t, err, &bad)
	require.Positive(t, bad.Length)
	require.Equal(t, text[bad.Offset:bad.Offset+bad.Length], bad.Text)
	require.NotEmpty(t, bad.Reason)
}

func TestSettingsErrorNamesTheKey(t *testing.T) {
	for text, key := range map[string]string{
		"release_lock_on_hipmalloc:1":    "release_lock_on_cudamalloc",
		"backend:x":                      "backend",
		"backend:native backend:x":       "backend",
		"foo:1":                          "foo",
		"roundup_power2_divisions:[1:3]": "roundup_power2_divisions",
		",":                              "",
	} {
		_, _, err := ParseSettings(text)
		var bad *SettingsError
		require.ErrorAs(t, err, &bad, text)
		assert.Equal(t, key, bad.Key, text)
	}
}

func TestSettingsValidate(t *testing.T) {
	tooFine := divisionsOf([2]int{3, 0}, [2]int{1, 6})
	for want, s := range map[string]Settings{
		`"max_split_size_mb:7": must be at least 20, the size of a large segment`:                                       {MaxSplitSize: 7 << 20},
		`"max_split_size_mb:40": 41943041 bytes are not whole MiB`:                                                      {MaxSplitSize: 40<<20 + 1},
		`"max_split_size_mb:-1": must be at least 20, the size of a large segment`:                                      {MaxSplitSize: -mebi},
		`"large_segment_size_mb:0": must be at least 2`:                                                                 {LargeSegment: 1},
		`"garbage_collection_threshold:NaN": must be a number more than 0 and less than 1`:                              {GCThreshold: math.NaN()},
		`"per_process_memory_fraction:-0.5": must be a number from 0 to 1`:                                              {MemoryFraction: -0.5},
		`"backend:hipMallocAsync": must be native or cudaMallocAsync`:                                                   {Backend: "hipMallocAsync"},
		`"expandable_segments:3": must be ExpandableAuto, ExpandableOn or ExpandableOff`:                                {Expandable: 3},
		`"expandable_segments_reserve:-1": must be positive`:                                                            {ExpandableReserve: Reserve{Fraction: -1}},
		`"expandable_segments_reserve:1G": must be a fraction or a number of bytes, not both`:                           {ExpandableReserve: Reserve{0.5, 1 << 30}},
		`"pinned_num_register_threads:-2": must be a power of two, at most 128`:                                         {Pinned: PinnedSettings{RegisterThreads: -2}},
		`"roundup_power2_divisions:[4:0,8:6]": divisions from 8 MiB on must be 0 or a power of two, at most 1073741824`: {RoundupPower2Divisions: tooFine},
	} {
		err := s.Validate()
		if assert.Error(t, err, want) {
			assert.Equal(t, "memory: settings: "+want, err.Error())
		}
	}
	assert.NoError(t, Settings{}.Validate())
}
