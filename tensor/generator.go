package tensor

import (
	"sync"

	"tarn/kernels"
)

// Generator is where random numbers come from: a seed, and how many blocks of
// words have been drawn (Philox, see kernels.RandomUniform). Each call that draws
// takes the next blocks, so calls in the same order give the same numbers on all
// devices, with any number of threads; those of a normal distribution may differ
// in their last digits. It may be used from many goroutines at once; which of
// them gets which numbers is then theirs to order.
//
// In a capture drawing is [ErrCapture]: a graph would draw the same numbers at
// each replay. In a [Checkpoint], whose function runs twice, ops on what the
// function gets, and at its [Tensor.Place], draw the same numbers both times, and
// once from the generator. What draws elsewhere there needs a generator that is made
// anew each time, with [NewGenerator] or SetState.
type Generator struct {
	mu    sync.Mutex
	state GeneratorState
}

// GeneratorState is all that a generator is: what to save to draw the same
// numbers again.
type GeneratorState struct {
	Seed   uint64
	Offset uint64 // blocks drawn
}

// NewGenerator returns a generator at the first number of a seed. Generators with
// different seeds have nothing to do with each other.
func NewGenerator(seed uint64) *Generator {
	return &Generator{state: GeneratorState{Seed: seed}}
}

// State returns where g is.
func (g *Generator) State() GeneratorState {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.state
}

// SetState makes g go on from s.
func (g *Generator) SetState(s GeneratorState) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.state = s
}

// reserve takes the blocks that op id needs for n elements on s. near is an
// operand: a capture refuses where that is being recorded, and a checkpoint's
// function draws again what it drew at first. A call that fails
// later leaves its numbers out.
func (g *Generator) reserve(s *Stream, near *Tensor, id kernels.ID, d DType, n int64) (kernels.RandomAttr, error) {
	if g == nil {
		panic("tensor: random numbers of a nil Generator")
	}
	if c := s.dev.capture.Load(); c != nil {
		if err := c.refuseOp(s, near, "a graph would draw the same random numbers at each replay"); err != nil {
			return kernels.RandomAttr{}, err
		}
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	from := near.env.get().region.draw(g.state)
	if from == g.state {
		g.state.Offset += kernels.RandomBlocks(id, d, n)
	}
	return kernels.RandomAttr{Seed: from.Seed, Offset: from.Offset}, nil
}
