package memory

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
)

// Tag says what bytes are for, so that the books can tell them apart.
type Tag uint8

// The tags that every process has.
const (
	Untagged  Tag = iota // no more is known
	Workspace            // scratch memory of a kernel, gone when the op is
)

// maxTags bounds the tags of a process: each table keeps counters for all.
const maxTags = 16

var tags = struct {
	sync.Mutex
	names []string // by Tag; guarded by the mutex
}{names: []string{Untagged: "untagged", Workspace: "workspace"}}

// numTags is len(tags.names), for Alloc to read without the lock.
var numTags atomic.Uint32

func init() { numTags.Store(uint32(len(tags.names))) }

// NewTag returns the tag of a name, the same for the same name. There can be
// 16 in a process, the predefined ones included; call it to initialise a
// package's variable. It panics when there are more.
func NewTag(name string) Tag {
	tags.Lock()
	defer tags.Unlock()
	if i := slices.Index(tags.names, name); i >= 0 {
		return Tag(i)
	}
	if len(tags.names) == maxTags {
		panic(fmt.Sprintf("memory: NewTag(%q): there are %d tags already: %q", name, maxTags, tags.names))
	}
	tags.names = append(tags.names, name)
	numTags.Store(uint32(len(tags.names)))
	return Tag(len(tags.names) - 1)
}

// Retag says what the block of h is for from now on. The error is a
// [*HandleError], or a [*RequestError] for a tag that NewTag did not make.
func (a *Allocator) Retag(h Handle, tag Tag) error {
	if uint32(tag) >= numTags.Load() {
		return &RequestError{Device: a.props.Name, Tag: tag}
	}
	d := a.directory.Load()
	t := d.ofID(h.table)
	if t == nil {
		return a.handleError("Retag", h, ErrForeignBlock)
	}
	t.mu.Lock()
	b, err := t.lookup(h)
	if err == nil && b.tag != tag {
		t.tags[b.tag].sub(b.requested)
		t.tags[tag].add(b.requested)
		b.tag = tag
	}
	t.mu.Unlock()
	return a.handleError("Retag", h, err)
}

// String returns the name of t.
func (t Tag) String() string {
	tags.Lock()
	defer tags.Unlock()
	if int(t) < len(tags.names) {
		return tags.names[t]
	}
	return fmt.Sprintf("tag %d", uint8(t))
}
