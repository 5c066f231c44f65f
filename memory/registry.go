package memory

import (
	"slices"
	"strings"
	"sync"
)

// registry has the allocators that are not closed, in order of their making.
var registry struct {
	sync.Mutex
	allocators []*Allocator
}

func register(a *Allocator) {
	registry.Lock()
	defer registry.Unlock()
	registry.allocators = append(registry.allocators, a)
}

func unregister(a *Allocator) {
	registry.Lock()
	defer registry.Unlock()
	registry.allocators = slices.DeleteFunc(registry.allocators, func(b *Allocator) bool { return a == b })
}

// Summary returns the tables of all allocators that are not closed, or of those
// of the devices named, in order of their devices' names. See
// [Allocator.Summary].
func Summary(devices ...string) string {
	registry.Lock()
	all := slices.Clone(registry.allocators)
	registry.Unlock()
	slices.SortStableFunc(all, func(a, b *Allocator) int {
		return strings.Compare(a.props.Name, b.props.Name)
	})
	var b strings.Builder
	for _, a := range all {
		if len(devices) > 0 && !slices.Contains(devices, a.props.Name) {
			continue
		}
		b.WriteString(a.Summary())
	}
	return b.String()
}
