package memory

import (
	"bytes"
	"errors"
	"io"
	"log"
	"log/slog"
	"maps"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestSettingsWarn(t *testing.T) {
	for text, want := range map[string][]string{
		"": nil, "backend:native": nil,
		"garbage_collection_threshold:0.5":                      nil,
		"max_split_size_mb:40,max_non_split_rounding_mb:20":     nil,
		"roundup_power2_divisions:4,expandable_segments:True":   nil,
		"throw_on_cudamalloc_oom:False,backend:cudaMallocAsync": {`"throw_on_cudamalloc_oom:False" at byte 0: has no effect with backend:cudaMallocAsync`},
		// 53: PyTorch warns once for all of them
		"backend:cudaMallocAsync,expandable_segments:True, roundup_power2_divisions:[1:4]": {
			`"expandable_segments:True" at byte 24: has no effect with backend:cudaMallocAsync`,
			`"roundup_power2_divisions:[1:4]" at byte 50: has no effect with backend:cudaMallocAsync`,
		},
		"release_lock_on_cudamalloc:True": {
			`"release_lock_on_cudamalloc:True" at byte 0: changes nothing: no call to the driver is ever made under a lock`},
		"pinned_free_catch_all:True": {
			`"pinned_free_catch_all:True" at byte 0: changes nothing: an error in a free is returned and never ends the program`},
		"expandable_segments_reserve_by_class:[a:x]": {
			`"expandable_segments_reserve_by_class:[a:x]" at byte 0: changes nothing: address space is reserved for a device, not for each stream`},
		"expandable_segments:True,garbage_collection_threshold:0.5": {
			`"garbage_collection_threshold:0.5" at byte 25: has no effect with expandable_segments:True`},
		"max_split_size_mb:40,expandable_segments:True": {`"max_split_size_mb:40" at byte 0: has no effect with expandable_segments:True`},
		"max_non_split_rounding_mb:40":                  {`"max_non_split_rounding_mb:40" at byte 0: has no effect without max_split_size_mb`},
		"roundup_power2_divisions:[2:1,4:16384,>:0]":    {`"roundup_power2_divisions:[2:1,4:16384,>:0]" at byte 0: has no effect: no steps are coarser than 512 bytes`},
		"throw_on_cudamalloc_oom:True":                  {`"throw_on_cudamalloc_oom:True" at byte 0: has no effect without per_process_memory_fraction`},
		"expandable_segments:False,expandable_segments_reserve:40G": {
			`"expandable_segments_reserve:40G" at byte 26: has no effect with expandable_segments:False`},
		"pinned_num_register_threads:8": {
			`"pinned_num_register_threads:8" at byte 0: has no effect without pinned_use_cuda_host_register:True`},
		"max_split_size_mb:40, max_split_size_mb:80,max_split_size_mb:60": {
			`"max_split_size_mb:40" at byte 0: is given again further on, and the last one holds`,
			`"max_split_size_mb:80" at byte 22: is given again further on, and the last one holds`,
		},
		"pinned_use_hip_host_register:True,pinned_use_cuda_host_register:True": {
			`"pinned_use_hip_host_register:True" at byte 0: is given again further on, and the last one holds`},
	} {
		_, warnings, err := ParseSettings(text)
		require.NoError(t, err, text)
		var got []string
		for _, w := range warnings {
			got = append(got, strings.TrimPrefix(w.String(), "memory: settings: "))
			assert.NotNil(t, findSetting(w.Key))
		}
		assert.Equal(t, want, got, text)
	}
}

// env looks variables up in a map.
func env(vars map[string]string) func(string) (string, bool) {
	return func(name string) (string, bool) {
		text, ok := vars[name]
		return text, ok
	}
}

func TestSettingsFromEnv(t *testing.T) {
	vars := map[string]string{
		"TARN_ALLOC_CONF":         "max_split_size_mb:30",
		"PYTORCH_ALLOC_CONF":      "max_split_size_mb:31",
		"PYTORCH_CUDA_ALLOC_CONF": "max_split_size_mb:32",
	}
	for i, name := range settingsVariables {
		s, err := SettingsFromEnv(env(vars))
		require.NoError(t, err)
		assert.EqualValues(t, (30+i)<<20, s.MaxSplitSize)

		empty := maps.Clone(vars)
		empty[name] = ""
		s, err = SettingsFromEnv(env(empty))
		require.NoError(t, err)
		assert.Zero(t, s, "a variable that is set to nothing is set")

		// 89
		bad := maps.Clone(vars)
		bad[name] = "max_split_size_mb:"
		s, err = SettingsFromEnv(env(bad))
		assert.EqualError(t, err, "memory: settings: "+name+`: "max_split_size_mb:" at byte 0: has no value`)
		assert.True(t, errors.As(err, new(*SettingsError)))
		assert.Zero(t, s)
		delete(vars, name)
	}
	s, err := SettingsFromEnv(env(nil))
	require.NoError(t, err)
	assert.Zero(t, s)
}

func TestSettingsFromEnvLogsWarnings(t *testing.T) {
	var lines bytes.Buffer
	// What is default in slog goes through log, and SetDefault turns that round.
	defer func(l *slog.Logger, w io.Writer, flags int) {
		slog.SetDefault(l)
		log.SetOutput(w)
		log.SetFlags(flags)
	}(slog.Default(), log.Writer(), log.Flags())
	slog.SetDefault(slog.New(slog.NewTextHandler(&lines, &slog.HandlerOptions{
		ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			if a.Key == slog.TimeKey {
				return slog.Attr{}
			}
			return a
		},
	})))
	_, err := SettingsFromEnv(env(map[string]string{
		"PYTORCH_CUDA_ALLOC_CONF": "max_non_split_rounding_mb:40,throw_on_cudamalloc_oom:True",
	}))
	require.NoError(t, err)
	const line = `level=WARN msg="memory: a setting has no effect" variable=PYTORCH_CUDA_ALLOC_CONF `
	assert.Equal(t, line+
		`key=max_non_split_rounding_mb text=max_non_split_rounding_mb:40 reason="has no effect without max_split_size_mb"`+"\n"+line+
		`key=throw_on_cudamalloc_oom text=throw_on_cudamalloc_oom:True reason="has no effect without per_process_memory_fraction"`+"\n",
		lines.String())
}
