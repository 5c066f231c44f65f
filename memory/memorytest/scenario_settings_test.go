package memorytest_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tarn/memory"
	"tarn/memory/memorytest"
)

// scenarioAllocatorSettings looks at blocks of 84 MiB and 400 MiB under one
// text of settings after another. Each text begins with the defaults.
func scenarioAllocatorSettings(t *testing.T) {
	for _, tc := range []struct {
		text            string
		request, active int64 // MiB
	}{
		{"", 84, 84},
		{"roundup_power2_divisions:4", 84, 96},
		{"garbage_collection_threshold:0.5,max_split_size_mb:40", 84, 84},
		{"roundup_power2_divisions:[64:8,128:2,256:4,512:2,1024:4,>:1]", 84, 88},
		{"roundup_power2_divisions:[64:8,128:2,256:2,512:2,1024:4,>:1]", 400, 512},
		{"release_lock_on_cudamalloc:True", 84, 84},
	} {
		inBothModes(t, 1024*mib, memory.Config{Settings: parse(t, tc.text)}, func(s *stage) {
			b := s.alloc(tc.request * mib)
			now := s.a.Stats()
			assert.Equal(s.T, tc.active*mib, now.ActiveBytes.All.Current, tc.text)
			assert.Equal(s.T, tc.request*mib, now.RequestedBytes.All.Current, tc.text)
			s.free(b)
		})
	}
	for _, text := range []string{
		"foo:1,bar:2", "garbage_collection_threshold:1.2", "max_split_size_mb:2", "release_lock_on_cudamalloc:none",
		"pinned_use_cuda_host_register:none", "pinned_num_register_threads:none", "pinned_num_register_threads:1024",
	} {
		_, _, err := memory.ParseSettings(text)
		var bad *memory.SettingsError
		assert.ErrorAs(t, err, &bad, text)
	}
}

// scenarioAllocatorBackend reads the environment, and so does the next one.
func scenarioAllocatorBackend(t *testing.T) {
	settings, err := fromEnv("max_split_size_mb:20,backend:cudaMallocAsync,release_lock_on_cudamalloc:True")
	require.NoError(t, err)
	assert.Equal(t, "cudaMallocAsync", settings.Backend)
	// PyTorch does not look at what its other backend has no use for.
	_, err = fromEnv("max_split_size_mb:20,backend:cudaMallocAsync,release_lock_on_cudamalloc:none")
	assert.ErrorContains(t, err, "must be True or False")
}

func scenarioMemoryFractionSetting(t *testing.T) {
	for text, want := range map[string]int64{"0.0": 0, "0.5": 512 * mib, "1.0": 1024 * mib} {
		settings, err := fromEnv("per_process_memory_fraction:" + text)
		require.NoError(t, err)
		inBothModes(t, 1024*mib, memory.Config{Settings: settings}, func(s *stage) {
			if want > 0 {
				s.free(s.alloc(want))
			}
			assert.Equal(s.T, max(want, 1), s.outOfMemory(want+1).Limit)
		})
	}
	for _, text := range []string{"-0.1", "1.1"} {
		_, err := fromEnv("per_process_memory_fraction:" + text)
		var bad *memory.SettingsError
		require.ErrorAs(t, err, &bad)
		assert.Equal(t, "per_process_memory_fraction", bad.Key)
		assert.Equal(t, "PYTORCH_CUDA_ALLOC_CONF", bad.Variable)
	}
}

// fromEnv reads settings from an environment that has PyTorch's variable.
func fromEnv(text string) (memory.Settings, error) {
	return memory.SettingsFromEnv(func(name string) (string, bool) { return text, name == "PYTORCH_CUDA_ALLOC_CONF" })
}

// scenarioReserveOnDevice looks at the address range that an arena gets: what
// the settings say, and never more than 9/8 of the device.
func scenarioReserveOnDevice(t *testing.T) {
	const total = 1024 * mib
	for text, want := range map[string]int64{
		"expandable_segments_reserve:0.5":  total / 2,
		"expandable_segments_reserve:1G":   1024 * mib,
		"expandable_segments_reserve:100G": total / 8 * 9,
	} {
		s := newStage(t, memorytest.FakeConfig{Capacity: total, Granularity: 2 * mib, KeepLog: true},
			memory.Config{Settings: parse(t, text)})
		s.free(s.alloc(100))
		var reserved []int64
		for _, e := range s.fake.Log() {
			if e.Call == memorytest.CallReserve {
				reserved = append(reserved, e.Size)
			}
		}
		assert.Equal(t, []int64{want}, reserved, text)
	}
}
