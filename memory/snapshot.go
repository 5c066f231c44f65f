package memory

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"tarn/cuda"
)

// Snapshot is all that an allocator has at one moment. In JSON it has the keys
// of PyTorch's memory snapshots, and its viewer reads it. Who takes one may
// keep it; its stacks are shared between blocks.
//
// What is on its way between upstream and a stream at that moment is in no
// segment.
type Snapshot struct {
	Device   string            `json:"device"`
	PageSize int64             `json:"page_size"` // in bytes, of segments that are runs of pages
	Segments []SnapshotSegment `json:"segments"`  // in order of address
	// DeviceTraces has a history for each device up to this one, which has the
	// last. The others' are empty. See RecordHistory.
	DeviceTraces [][]Event        `json:"device_traces"`
	Settings     SnapshotSettings `json:"allocator_settings"`
}

// SnapshotSegment is a range that its blocks tile.
type SnapshotSegment struct {
	Device    int             `json:"device"` // its number
	Address   cuda.DevicePtr  `json:"address"`
	Size      int64           `json:"total_size"`
	Allocated int64           `json:"allocated_size"` // bytes in blocks that clients have
	Active    int64           `json:"active_size"`    // these and the pending ones
	Requested int64           `json:"requested_size"` // of active blocks, before rounding
	Stream    cuda.Stream     `json:"stream"`
	Pool      string          `json:"segment_type"`           // "small" or "large"
	Private   string          `json:"private_pool,omitempty"` // name of its private pool, while that is open
	Pages     bool            `json:"is_expandable"`          // it is a run of pages
	Frames    []Frame         `json:"frames,omitempty"`       // whose request took it upstream, if it is known
	Blocks    []SnapshotBlock `json:"blocks"`                 // in order of address
}

// SnapshotBlock is a piece of a segment.
type SnapshotBlock struct {
	Address   cuda.DevicePtr `json:"address"`
	Size      int64          `json:"size"`
	Requested int64          `json:"requested_size"` // before rounding; 0 if it is free
	State     BlockState     `json:"state"`
	Tag       string         `json:"tag,omitempty"`    // "" if it is free
	Frames    []Frame        `json:"frames,omitempty"` // who allocated it, if it is known
	// Since is when a client got the block, in microseconds since 1970; 0 if it
	// is free or no history was on.
	Since int64 `json:"since_us,omitempty"`
	// Age is how many blocks its stream has freed since this one became free.
	Age uint64 `json:"age,omitempty"`
}

// BlockState says who has a block, in PyTorch's words.
type BlockState string

// The states of blocks.
const (
	BlockAllocated   BlockState = "active_allocated"    // a client
	BlockPendingFree BlockState = "active_pending_free" // nobody, but other streams may still use it
	BlockInactive    BlockState = "inactive"            // nobody: it is free
)

// SnapshotSettings are the settings of the allocator, as PyTorch's snapshots
// show them.
type SnapshotSettings struct {
	Text         string         `json:"PYTORCH_CUDA_ALLOC_CONF"` // as ParseSettings reads them
	MaxSplitSize int64          `json:"max_split_size"`          // bytes; -1 for no bound
	GCThreshold  float64        `json:"garbage_collection_threshold"`
	Expandable   bool           `json:"expandable_segments"`      // segments are runs of pages
	Roundup      map[string]int `json:"roundup_power2_divisions"` // by MiB
	Limit        int64          `json:"limit,omitempty"`          // bytes; 0 for none
}

// Snapshot returns what the allocator has now. Blocks that were abandoned are
// freed first. All streams wait while it is taken. The history gets an event
// of it, for later ones to show.
func (a *Allocator) Snapshot() Snapshot {
	a.drainAbandoned(true)
	d := draft{device: ordinal(a.props.Name), segments: []SnapshotSegment{}}
	tables := a.lockAll()
	for _, t := range tables {
		for slot := range t.segments {
			if t.segments[slot].size > 0 {
				d.segment(t, uint32(slot))
			}
		}
	}
	h := a.history.Load()
	if h != nil {
		d.events = h.latest()
		h.record(event{action: ActionSnapshot, size: d.active})
	}
	s := Snapshot{Device: a.props.Name, PageSize: a.arenas[largePool].page, Segments: d.segments, Settings: a.policy.Load().snapshot()}
	a.unlockAll(tables)

	d.tell(&a.stacks)
	slices.SortFunc(s.Segments, func(p, q SnapshotSegment) int { return cmp.Compare(p.Address, q.Address) })
	s.DeviceTraces = make([][]Event, d.device+1)
	for i := range s.DeviceTraces {
		s.DeviceTraces[i] = []Event{}
	}
	s.DeviceTraces[d.device] = d.history(&a.stacks)
	return s
}

// Events returns the history of the snapshot, oldest first.
func (s Snapshot) Events() []Event {
	if len(s.DeviceTraces) == 0 {
		return nil
	}
	return s.DeviceTraces[len(s.DeviceTraces)-1]
}

// ordinal returns the number at the end of a device's name, 0 if it has none.
func ordinal(name string) int {
	_, digits, _ := strings.Cut(name, ":")
	n, err := strconv.ParseUint(digits, 10, 16)
	if err != nil {
		return 0
	}
	return int(n)
}

// snapshot returns the settings that p follows.
func (p *policy) snapshot() SnapshotSettings {
	s := SnapshotSettings{
		Text: p.Settings.String(), MaxSplitSize: p.MaxSplitSize, GCThreshold: p.GCThreshold,
		Expandable: p.paged, Roundup: make(map[string]int, roundupSlots),
	}
	if s.MaxSplitSize == 0 {
		s.MaxSplitSize = -1
	}
	for i, n := range p.RoundupPower2Divisions {
		s.Roundup[strconv.Itoa(1<<i)] = n
	}
	if p.limit < unlimited {
		s.Limit = max(p.limit, 1) // 0 means none
	}
	return s
}
