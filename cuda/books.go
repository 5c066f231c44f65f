package cuda

import "sync"

// kindMemory are the kinds that the driver looks up by their numbers, and takes
// from any context.
var kindMemory = [kinds]bool{kindAllocation: true, kindPinned: true, kindRange: true, kindPage: true}

// made names a thing that a context has made.
type made struct {
	kind   int
	handle uint64
}

// books say which context of a library made what is live. It is a plain map and a
// lock, since a pair of put and take then allocates nothing.
type books struct {
	mu     sync.Mutex
	makers map[made]*Context // guarded by mu
}

func (b *books) put(thing made, maker *Context) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.makers == nil {
		b.makers = map[made]*Context{}
	}
	b.makers[thing] = maker
}

// take removes what c may take away, and returns who made it; nil where there is
// no such thing.
func (b *books) take(thing made, c *Context) *Context {
	b.mu.Lock()
	defer b.mu.Unlock()
	maker := b.makers[thing]
	if maker != c && !kindMemory[thing.kind] {
		return nil
	}
	delete(b.makers, thing)
	return maker
}

// maker returns who made a thing, nil for what is not live.
func (b *books) maker(thing made) *Context {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.makers[thing]
}

// giveUp forgets what a context has made.
func (b *books) giveUp(c *Context) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for thing, maker := range b.makers {
		if maker == c {
			delete(b.makers, thing)
		}
	}
}
