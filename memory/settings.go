package memory

import (
	"fmt"
	"math"
	"strings"
)

// Settings change the policy of an allocator. They are those of PyTorch, and
// the text that [ParseSettings] reads has its grammar. The zero Settings are
// the defaults.
type Settings struct {
	// Backend says who serves requests: "native", which is the default, or
	// "cudaMallocAsync", the driver's own pool. (backend)
	Backend string

	// LargeSegment is the size in bytes of the segments that requests between
	// 1 MiB and 10 MiB share; 0 for 20 MiB. (large_segment_size_mb)
	LargeSegment int64
	// MaxSplitSize is the size in bytes from which on blocks are not split,
	// and are not used for smaller requests; 0 for no bound. It is no less
	// than LargeSegment. (max_split_size_mb)
	MaxSplitSize int64
	// MaxNonSplitRounding is how many bytes larger than its request a block of
	// MaxSplitSize or more may be; 0 for the size of a large segment, which is
	// also the least. (max_non_split_rounding_mb)
	MaxNonSplitRounding int64
	// RoundupPower2Divisions says into how many steps a power of two is cut
	// that requests are rounded up to. Slot i is for requests from 2^i MiB on,
	// below 2^(i+1) MiB; the first has all smaller ones, the last all larger
	// ones. 0 and 1 leave it at 512 bytes. (roundup_power2_divisions)
	RoundupPower2Divisions [roundupSlots]int
	// GCThreshold is the share of the limit, or of the device where there is
	// none, past which cached segments that were not used of late go back
	// before more are taken; in (0, 1), 0 for off. Pages never do: they go where
	// they are needed.
	// (garbage_collection_threshold)
	GCThreshold float64

	// MemoryFraction is the share of the device's memory that the allocator
	// may reserve, up to 1; 0 for no bound, [NoMemory] for nothing at all.
	// (per_process_memory_fraction)
	MemoryFraction float64
	// ThrowOnMallocOOM refuses what would go past MemoryFraction at once,
	// without a try to make room. (throw_on_cudamalloc_oom)
	ThrowOnMallocOOM bool

	// Expandable says whether segments grow in place. (expandable_segments)
	Expandable Expandable
	// ExpandableReserve is the address space of expandable segments.
	// (expandable_segments_reserve)
	ExpandableReserve Reserve

	// Pinned has the settings of page-locked host memory: those of an allocator
	// of package pinned, not of this one.
	Pinned PinnedSettings
}

// PinnedSettings are the settings of page-locked host memory.
type PinnedSettings struct {
	// UseHostRegister takes ordinary memory and locks its pages afterwards.
	// (pinned_use_cuda_host_register)
	UseHostRegister bool
	// RegisterThreads is how many threads touch the pages first: a power of
	// two up to 128; 0 for 1. (pinned_num_register_threads)
	RegisterThreads int
	// BackgroundThreads has events looked at beside the work.
	// (pinned_use_background_threads)
	BackgroundThreads bool
	// ReserveSegment is the size in bytes of a segment that is taken at the
	// start and served from first; 0 for none. (pinned_reserve_segment_size_mb)
	ReserveSegment int64
	// MaxRoundThreshold is the size in bytes above which requests are not
	// rounded up to a power of two; 0 for no bound.
	// (pinned_max_round_threshold_mb)
	MaxRoundThreshold int64
	// MaxCached is the size in bytes above which blocks are neither rounded
	// nor kept when they are freed; 0 for no bound. (pinned_max_cached_size_mb)
	MaxCached int64
}

// NoMemory is the MemoryFraction of a limit of zero bytes. It is what
// per_process_memory_fraction:0 means, while 0 in Go is the default.
const NoMemory = -1.0

// Expandable says whether segments grow in place, page by page.
type Expandable uint8

// The values of Expandable.
const (
	ExpandableAuto Expandable = iota // where the upstream has virtual memory
	ExpandableOn
	ExpandableOff
)

// Reserve is an amount of address space: a Fraction of the device's memory or
// a number of Bytes, one of the two. The zero Reserve is 9/8 of the memory.
type Reserve struct {
	Fraction float64
	Bytes    int64
}

// Of returns the bytes to reserve on a device with that much memory. They are
// never more than 9/8 of it: mapped pages cannot fill more.
func (r Reserve) Of(total int64) int64 {
	most := total + total/8
	switch share := r.Fraction * float64(total); {
	case r.Bytes > 0:
		return min(r.Bytes, most)
	case r.Fraction > 0 && share < float64(most):
		return int64(share)
	}
	return most
}

// SettingsError says what is wrong with settings. Those that came from a text
// have a place in it.
type SettingsError struct {
	Variable string // of the environment, "" where it was not read
	Text     string // the offending piece
	Offset   int    // of Text, in bytes
	Length   int    // of Text, in bytes; 0 if the settings were made in Go
	Key      string // "" where none was found
	Reason   string
}

func (e *SettingsError) Error() string {
	var b strings.Builder
	b.WriteString("memory: settings: ")
	if e.Variable != "" {
		b.WriteString(e.Variable + ": ")
	}
	fmt.Fprintf(&b, "%q", e.Text)
	if e.Length > 0 {
		fmt.Fprintf(&b, " at byte %d", e.Offset)
	}
	return b.String() + ": " + e.Reason
}

// Validate reports a value that is out of its range as a *SettingsError, by
// the rules of ParseSettings.
func (s Settings) Validate() error {
	for i := range settingKeys {
		k := &settingKeys[i]
		if f := k.of(&s); f != nil {
			if reason := f.check(); reason != "" {
				return &SettingsError{Text: k.name + ":" + f.text(), Key: k.name, Reason: reason}
			}
		}
	}
	return nil
}

// String returns the text that ParseSettings turns into s again, if s is
// valid. Of the zero Settings it is empty.
func (s Settings) String() string {
	var pairs []string
	for i := range settingKeys {
		k := &settingKeys[i]
		if f := k.of(&s); f != nil && f.text() != "" {
			pairs = append(pairs, k.name+":"+f.text())
		}
	}
	return strings.Join(pairs, ",")
}

// largeSegment returns the size of a large segment in bytes.
func (s *Settings) largeSegment() int64 {
	if s.LargeSegment == 0 {
		return largeSegment
	}
	return s.LargeSegment
}

// finite reports whether f is a number, and not infinite.
func finite(f float64) bool { return !math.IsNaN(f) && !math.IsInf(f, 0) }
