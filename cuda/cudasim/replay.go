package cudasim

import "sync/atomic"

// replay runs the nodes of a graph and returns the first error by index.
func replay(nodes []*node) error {
	if chained(nodes) {
		for _, n := range nodes {
			if err := n.work.do(); err != nil {
				return err
			}
		}
		return nil
	}
	return replayBranches(nodes)
}

// chained reports whether each node comes after the one before it.
func chained(nodes []*node) bool {
	for i, n := range nodes {
		if i > 0 && (len(n.after) != 1 || n.after[0].index != i-1) {
			return false
		}
	}
	return true
}

// replayBranches has a goroutine for each node, which waits for those before it
// and for no others: branches share no order, as streams do not.
func replayBranches(nodes []*node) error {
	var failed atomic.Bool // written by a failure alone, so it orders nothing else
	errs := make([]error, len(nodes))
	ended := make([]chan struct{}, len(nodes))
	for i := range ended {
		ended[i] = make(chan struct{})
	}
	for i, n := range nodes {
		go func() {
			defer close(ended[i])
			for _, before := range n.after {
				<-ended[before.index]
			}
			if failed.Load() {
				return
			}
			if errs[i] = n.work.do(); errs[i] != nil {
				failed.Store(true)
			}
		}()
	}
	for i := range nodes {
		<-ended[i]
	}
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

func (w *work) do() error {
	if w.run == nil {
		return nil
	}
	return w.run()
}
