package memorytest_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// numScenarios is how many tests of PyTorch's allocator there are, numbered in
// the inventory that they are taken from.
const numScenarios = 106

// scenario is one of them, told in the terms of this allocator.
type scenario struct {
	number int
	name   string
	test   func(t *testing.T)
}

// path is the name of the subtest.
func (s scenario) path() string { return fmt.Sprintf("%02d_%s", s.number, s.name) }

// scenarios are those that are tested here. Those about segments and addresses
// run with segments alone, all others with segments and with pages.
var scenarios = []scenario{
	{3, "check_error", scenarioCheckError},
	{6, "set_per_process_memory_fraction", scenarioSetMemoryFraction},
	{7, "get_per_process_memory_fraction", scenarioGetMemoryFraction},
	{8, "workspace_allocation", scenarioWorkspace},
	{11, "streams", scenarioStreams},
	{13, "pinned_memory_empty_cache", scenarioPinnedEmptyCache},
	{15, "host_memory_stats", scenarioHostMemoryStats},
	{19, "matmul_memory_use", scenarioSamePeak},
	{20, "lazy_init", scenarioLazyInit},
	{21, "is_pinned_no_context", scenarioPinnedLazyInit},
	{22, "graph_capture_oom", scenarioCaptureOOM},
	{23, "repeat_graph_capture_workspace", scenarioCaptureWorkspace},
	{24, "graph_two_successive", scenarioTwoGraphs},
	{25, "graph_concurrent_replay", scenarioGraphsAtOnce},
	{26, "graph_three_successive", scenarioThreeGraphs},
	{27, "graph_memory_stats", scenarioGraphStats},
	{28, "graph_record_stream", scenarioGraphRecordStream},
	{29, "alloc_beside_a_capture", scenarioAllocInCapture},
	{30, "capture_of_two_streams", scenarioCaptureOfTwoStreams},
	{31, "graph_reset_and_recapture", scenarioRecapture},
	{34, "memory_snapshot", scenarioSnapshot},
	{38, "memory_plots", scenarioPlots},
	{40, "memory_plots_segment_stack", scenarioSegmentStacks},
	{41, "memory_plots_history_context", scenarioHistorySwitched},
	{42, "memory_plots_metadata", scenarioMetadata},
	{46, "memory_snapshot_file", scenarioSnapshotFile},
	{47, "notifies_oom", scenarioNotifiesOOM},
	{48, "raises_oom", scenarioRaisesOOM},
	{50, "max_split_expandable", scenarioMaxSplitExpandable},
	{51, "garbage_collect_expandable", scenarioGarbageCollectExpandable},
	{52, "allocator_settings", scenarioAllocatorSettings},
	{53, "allocator_backend", scenarioAllocatorBackend},
	{54, "memory_fraction_setting", scenarioMemoryFractionSetting},
	{55, "raw_alloc", scenarioRawAlloc},
	{56, "device_memory_used", scenarioDeviceMemoryUsed},
	{65, "pool_live_allocations", scenarioPoolLiveAllocations},
	{66, "allocate_in_thread_to_pool", scenarioThreadInPool},
	{67, "pin_memory_no_use", scenarioPinnedLiveInCapture},
	{68, "pin_memory_no_use2", scenarioPinnedUnusedInCapture},
	{73, "pool_empty_cache", scenarioPoolSnapshot},
	{74, "pool_empty_cache_inactive", scenarioPoolInactive},
	{75, "pool_with_upstream", scenarioPoolUpstream},
	{77, "pool_limited_memory", scenarioPoolLimited},
	{78, "pool_no_split", scenarioPoolNoSplit},
	{79, "deleted_pool_not_used_on_oom", scenarioPoolDeleted},
	{80, "pool_multithread", scenarioPoolsOfThreads},
	{81, "pool_empty_cache_multithread", scenarioPoolEmptyCacheOfThreads},
	{82, "nested_pools", scenarioPoolsNested},
	{83, "pool_expandable", scenarioPoolExpandable},
	{84, "pool_of_one_thread", scenarioPoolOfOneThread},
	{86, "memory_stats_multigpu", scenarioStatsOfTwoDevices},
	{87, "memory_stat_consistency", scenarioStatConsistency},
	{97, "reserve_on_a_device", scenarioReserveOnDevice},
	{98, "pinned_round_threshold_64", scenarioPinnedRoundThreshold},
	{99, "pinned_round_threshold_128", scenarioPinnedRoundSmall},
	{100, "pinned_max_cached_32", scenarioPinnedNotCached},
	{101, "pinned_max_cached_128", scenarioPinnedCached},
	{102, "pinned_round_256_cached_128", scenarioPinnedLargerThanCache},
	{103, "pinned_both_64", scenarioPinnedBoth},
	{105, "pool_free_without_alloc", scenarioFreeWithoutAlloc},
}

// covered are those that another test has all of: its folder and its name.
var covered = []struct {
	number    int
	name      string
	dir, test string
}{
	{1, "memory_allocation", ".", "TestAllocatorOverFakes/Scenario/01_memory_allocation"},
	{2, "memory_stats", ".", "TestAllocatorOverFakes/Scenario/02_memory_stats"},
	{4, "out_of_memory", ".", "TestAllocatorOverFakes/Scenario/04_out_of_memory"},
	{5, "out_of_memory_retry", ".", "TestAllocatorOverFakes/Scenario/05_out_of_memory_retry"},
	{9, "record_stream", ".", "TestAllocatorOverFakes/Scenario/09_record_stream"},
	{10, "record_stream_on_shifted_view", ".", "TestAllocatorOverFakes/Scenario/10_record_stream_of_part"},
	{14, "pinned_memory_use_background_threads", "..", "TestSettingsParse"},
	{35, "memory_snapshot_with_cpp", "..", "TestStacks"},
	{37, "direct_traceback", "..", "TestStacks"},
	{39, "memory_plots_free_stack", "..", "TestStacksOfFrees"},
	{49, "allocator_fuzz", ".", "TestAllocatorOverFakes/Scenario/49_allocator_fuzz"},
	{76, "block_freed_after_its_pool", "..", "TestClosedPoolsLiveBlocks"},
	{85, "memory_stats_step_by_step", ".", "TestAllocatorOverFakes/Scenario/85_memory_stats_step_by_step"},
	{88, "allocator_config", "..", "TestSettingsParse"},
	{89, "malformed_config_raises_value_error", "..", "TestSettingsRefuse"},
	{90, "reserve_default_fraction_and_gib", "..", "TestSettingsReserve"},
	{91, "reserve_per_class_override_and_fallback", "..", "TestSettingsReserve"},
	{92, "reserve_huge_value_saturates", "..", "TestSettingsReserve"},
	{93, "reserve_invalid_values_are_ignored", "..", "TestSettingsReserve"},
	{94, "clamp_reserve_bytes", "..", "TestSettingsReserve"},
	{104, "expandable_segments_rerun_all", ".", "TestAllocatorOverFakes"},
	{106, "accelerator_memory_api", ".", "TestAllocatorOverHost"},
}

// Why a scenario is neither.
const (
	onCUDA      = "driver: with the CUDA upstream"
	pythonOnly  = "Python only: "
	checkpoints = pythonOnly + "the graph trees of torch.compile put a pool back into a state that it had; here a pool only goes on"
	joins       = "driver: only CUDA knows which streams of a capture have joined; what waits for one is kept until the end"
	usedPinned  = "a graph copies from its pinned blocks at each replay, so the program keeps them; the pinned pool hears of no capture"
)

// notHere are those that do not apply.
var notHere = []struct {
	number       int
	name, reason string
}{
	{12, "pinned_memory_with_cudaregister", onCUDA + ", which locks the pages; the pool takes what it is given"},
	{16, "cudart_register", onCUDA},
	{17, "copy_non_blocking", onCUDA + ", whose copies they are"},
	{18, "to_non_blocking", onCUDA + ", whose copies they are"},
	{32, "graph_capture_reclaim_2_streams", joins},
	{33, "graph_capture_reclaim_4_streams", joins},
	{36, "memory_snapshot_script", pythonOnly + "TorchScript"},
	{43, "memory_snapshot_skip_actions", "no action is left out of a history; who reads it picks"},
	{44, "memory_compile_regions", pythonOnly + "torch.compile"},
	{45, "cycles_and_memory_profiler_viz", pythonOnly + "reference cycles and the profiler"},
	{57, "checkpoint_simple", checkpoints},
	{58, "allocated_in_middle_of_segment", checkpoints},
	{59, "multiple_middle_allocations", checkpoints},
	{60, "middle_allocations_contiguous", checkpoints},
	{61, "additional_free_following_checkpoint", checkpoints},
	{62, "tensor_dies_after_checkpoint", checkpoints},
	{63, "assigning_back_deleter_fns_to_tensor", checkpoints},
	{64, "checkpoint_resnet", checkpoints},
	{69, "pin_memory_use", usedPinned},
	{70, "two_graphs", usedPinned},
	{71, "unpinned_memory_use", onCUDA + ", which refuses such a copy"},
	{72, "mempool_id", "a pool is a value, not a number"},
	{95, "stream_reserve_class_tag_round_trip", "no classes of streams: addresses are reserved for a device, not for each stream"},
	{96, "set_default_reserve_fraction_precedence", "no default that code sets beside the settings, so nothing takes precedence"},
}

// TestScenario runs the tests of PyTorch's allocator.
func TestScenario(t *testing.T) {
	for _, s := range scenarios {
		t.Run(s.path(), s.test)
	}
}

// TestScenariosAreComplete counts the numbers, and finds the tests that are
// said to cover some.
func TestScenariosAreComplete(t *testing.T) {
	times := map[int]int{}
	names := map[string]int{}
	count := func(number int, name string) {
		times[number]++
		assert.Zero(t, names[name], "%d and %d have the same name", number, names[name])
		names[name] = number
	}
	for _, s := range scenarios {
		count(s.number, s.name)
	}
	for _, c := range covered {
		count(c.number, c.name)
		requireTest(t, c.dir, c.test)
	}
	for _, n := range notHere {
		count(n.number, n.name)
		assert.NotEmpty(t, n.reason, n.name)
	}
	for n := range numScenarios {
		assert.Equal(t, 1, times[n+1], "scenario %d", n+1)
	}
	assert.Len(t, times, numScenarios, "numbers that there are not")
}

// requireTest demands that a folder has a test, by its function's name. What
// comes after Scenario/ is a test of the suite TestAllocator.
func requireTest(t *testing.T, dir, test string) {
	t.Helper()
	function, _, _ := strings.Cut(test, "/")
	requireMatch(t, filepath.Join(dir, "*_test.go"), `(?m)^func `+function+`\(t \*testing\.T\)`)
	if _, name, ok := strings.Cut(test, "/Scenario/"); ok {
		requireMatch(t, "scenarios.go", `(?m)^\t\{"`+name+`", scenario`)
	}
}

// requireMatch demands that one of some files has what a pattern describes.
func requireMatch(t *testing.T, files, pattern string) {
	t.Helper()
	paths, err := filepath.Glob(files)
	require.NoError(t, err)
	for _, path := range paths {
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		if regexp.MustCompile(pattern).Match(text) {
			return
		}
	}
	t.Errorf("no file %s has %s", files, pattern)
}
