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

// String returns the name of t.
func (t Tag) String() string {
	tags.Lock()
	defer tags.Unlock()
	if int(t) < len(tags.names) {
		return tags.names[t]
	}
	return fmt.Sprintf("tag %d", uint8(t))
}
