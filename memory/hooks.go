package memory

import "slices"

// hooks are functions of the user. They are called with no lock held, and may
// call the allocator.
type hooks struct {
	shortage []*func(need int64) // guarded by the device lock, as all here
	failed   []*func(err *OutOfMemoryError)
}

// OnShortage has f called by requests that nothing else could serve, before
// they fail: f may free what it can do without, such as a cache of the
// program's own, and the request is tried once more. need is the size of a
// block for it in bytes. A request that f makes and that fails calls f in turn:
// f must see to it that this ends. remove ends the calls.
func (a *Allocator) OnShortage(f func(need int64)) (remove func()) {
	return addHook(a, &a.hooks.shortage, f)
}

// OnOutOfMemory has f called with each [*OutOfMemoryError] before Alloc returns
// it. remove ends that.
func (a *Allocator) OnOutOfMemory(f func(err *OutOfMemoryError)) (remove func()) {
	return addHook(a, &a.hooks.failed, f)
}

func addHook[F any](a *Allocator, list *[]*F, f F) (remove func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	hook := &f
	*list = append(*list, hook)
	return func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		*list = slices.DeleteFunc(slices.Clone(*list), func(other *F) bool { return other == hook })
	}
}

// callHooks calls the functions of a list, in the order in which they came.
func callHooks[F any](a *Allocator, list *[]*F, call func(F)) {
	a.mu.Lock()
	hooks := slices.Clone(*list)
	a.mu.Unlock()
	for _, f := range hooks {
		call(*f)
	}
}

// failed shows err to those who want to know, and returns it.
func (a *Allocator) failed(err *OutOfMemoryError) error {
	callHooks(a, &a.hooks.failed, func(f func(*OutOfMemoryError)) { f(err) })
	return err
}

func (a *Allocator) hasShortageHooks() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.hooks.shortage) > 0
}

// callShortage calls the hooks for c and returns the bytes that were freed
// meanwhile.
func (c *climb) callShortage() (gained int64) {
	before := c.a.freed()
	callHooks(c.a, &c.a.hooks.shortage, func(f func(int64)) { f(c.r.rounded) })
	c.a.drainAbandoned(true)
	return c.a.freed() - before
}

// freed returns the sum of the bytes that ended being active.
func (a *Allocator) freed() (bytes int64) {
	tables := a.lockAll()
	defer a.unlockAll(tables)
	for _, t := range tables {
		bytes += t.books[activeBytes][allPools].freed
	}
	return bytes
}
