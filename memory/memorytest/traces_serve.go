package memorytest

// served is the model of the serving trace.
var served = transformer{layers: 16, hidden: 2048, vocab: 32000}

// Of served: a key or value head answers to that many queries' heads, and a
// cache has room for that many tokens more than the prompt.
const (
	headGroup  = 4
	cacheSpare = 64
)

// conversation is one request to a server, under way.
type conversation struct {
	stream uint8
	batch  int64
	prompt int64    // tokens
	caches []uint32 // keys and values, by layer
	left   int64    // tokens to come
}

// server answers up to 10 conversations at a time, one token of a random one
// in each step.
type server struct {
	*recorder
	random  xorshift
	streams int
	active  []*conversation
}

// serve records a server until it has answered that many conversations.
func serve(conversations, streams int, seed uint64) *recorder {
	s := &server{recorder: new(recorder), random: xorshift(seed), streams: streams}
	h := served.hidden
	for range served.layers {
		for _, n := range []int64{3 * h * h, h * h, 4 * h * h, 4 * h * h, h, h} {
			s.alloc(n * f16)
		}
	}
	s.alloc(served.vocab * h * f16)
	s.startRun()
	for done := 0; done < conversations; {
		if len(s.active) < 10 && (len(s.active) == 0 || s.random.below(3) == 0) {
			s.admit()
		}
		if s.answer(int(s.random.below(int64(len(s.active))))) {
			done++
		}
	}
	for _, c := range s.active {
		s.free(c.caches...)
	}
	return s.recorder
}

// admit starts a conversation with its prompt.
func (s *server) admit() {
	c := &conversation{
		batch:  1 << s.random.below(5),
		prompt: 16 + s.random.below(1008),
	}
	c.stream = uint8(s.random.below(int64(s.streams)))
	c.left = 4 + s.random.below(60)
	for range 2 * served.layers {
		size := c.batch * (c.prompt + cacheSpare) * served.hidden / headGroup * f16
		c.caches = append(c.caches, s.allocOn(c.stream, size))
	}
	s.forward(c, c.prompt)
	s.active = append(s.active, c)
}

// answer makes the next token of the i-th conversation, and reports whether it
// was the last one.
func (s *server) answer(i int) bool {
	c := s.active[i]
	s.forward(c, 1)
	if c.left--; c.left > 0 {
		return false
	}
	for l := len(c.caches) - 1; l >= 0; l-- {
		s.free(c.caches[l])
	}
	last := len(s.active) - 1
	s.active[i] = s.active[last]
	s.active = s.active[:last]
	return true
}

// forward records the model on that many tokens of each sequence.
func (s *server) forward(c *conversation, tokens int64) {
	alloc := func(size int64) uint32 { return s.allocOn(c.stream, size) }
	activation := c.batch * tokens * served.hidden * f16
	x := alloc(activation)
	for range served.layers {
		norm := alloc(activation)
		qkv := alloc(3 * activation)
		s.free(norm)
		attention := alloc(activation)
		s.free(qkv)
		up := alloc(4 * activation)
		s.free(attention)
		out := alloc(activation)
		s.free(up, x)
		x = out
	}
	logits := alloc(c.batch * served.vocab * f32)
	token := alloc(c.batch * i64)
	s.free(logits, x, token)
}
