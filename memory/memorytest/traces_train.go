package memorytest

// mlp trains a network of six layers with Adam, in float32. Backward frees
// what a layer saved as soon as it has used it.
func mlp(steps int) *recorder {
	r := new(recorder)
	widths := []int64{784, 1024, 1024, 512, 512, 256, 10}
	for l := 1; l < len(widths); l++ {
		for range 3 { // the parameters and Adam's two moments
			r.alloc(widths[l-1] * widths[l] * f32)
			r.alloc(widths[l] * f32)
		}
	}
	r.startRun()
	for range steps {
		mlpStep(r, 256, widths)
	}
	return r
}

func mlpStep(r *recorder, batch int64, widths []int64) {
	last := len(widths) - 1
	images, labels := r.alloc(batch*widths[0]*f32), r.alloc(batch*i64)
	saved := make([][]uint32, len(widths)) // by layer
	for l := 1; l < last; l++ {
		sums := r.alloc(batch * widths[l] * f32)
		saved[l] = []uint32{r.alloc(batch * widths[l] * f32), r.alloc(batch * widths[l])} // ReLU and its mask
		r.free(sums)
	}
	saved[last] = []uint32{r.alloc(batch * widths[last] * f32)}
	logSoftmax := r.alloc(batch * widths[last] * f32)
	loss := r.alloc(f32)
	gradient := r.alloc(batch * widths[last] * f32)
	r.free(logSoftmax)

	var gradients []uint32 // of the parameters
	for l := last; l >= 1; l-- {
		gradients = append(gradients, r.alloc(widths[l-1]*widths[l]*f32), r.alloc(widths[l]*f32))
		below := r.alloc(batch * widths[l-1] * f32)
		r.free(gradient)
		if gradient = below; l > 1 {
			gradient = r.alloc(batch * widths[l-1] * f32) // through ReLU
			r.free(below)
		}
		r.free(saved[l]...)
	}
	r.free(gradient)
	for _, g := range gradients {
		r.free(r.alloc(r.size(g))) // Adam's step
	}
	r.free(gradients...)
	r.free(loss, images, labels)
}

// transformer is a language model, trained in half precision by an optimiser
// that keeps the parameters and two moments in float32.
type transformer struct {
	layers               int
	hidden               int64 // width of an activation
	batch, vocab, heads  int64
	quadratic, recompute bool // attention's scores are stored; activations are not
}

// train records steps of training, each with a sequence of length() tokens.
func (m transformer) train(steps int, length func() int64) *recorder {
	r := new(recorder)
	m.parameters(r, f16)
	for range 3 {
		m.parameters(r, f32)
	}
	r.startRun()
	for range steps {
		m.step(r, length())
	}
	return r
}

// parameters allocates the model's with that many bytes an element.
func (m transformer) parameters(r *recorder, bytes int64) {
	h := m.hidden
	for range m.layers {
		for _, n := range []int64{
			3 * h * h, h * h, 4 * h * h, 4 * h * h, // attention in and out, MLP up and down
			h, h, h, h, // two norms
			3 * h, h, 4 * h, h, // biases
		} {
			r.alloc(n * bytes)
		}
	}
	r.alloc(m.vocab * h * bytes)
}

// pass is one step of training on its way.
type pass struct {
	transformer
	*recorder

	activation int64    // bytes of one
	perToken   int64    // bytes of a float for each token
	scores     int64    // bytes of a layer's scores of attention
	rows       int64    // bytes of a float for each row of them
	gradients  []uint32 // of the parameters
}

func (m transformer) step(r *recorder, length int64) {
	tokens := m.batch * length
	p := &pass{
		transformer: m, recorder: r,
		activation: tokens * m.hidden * f16,
		perToken:   tokens * f32,
		scores:     m.heads * tokens * length * f16,
		rows:       m.heads * tokens * f32,
	}
	ids := r.alloc(tokens * i64)
	x := r.alloc(p.activation)
	saved := make([][]uint32, m.layers)
	for l := range saved {
		saved[l], x = p.forward(x)
		if m.recompute {
			for len(saved[l]) > 1 {
				saved[l] = p.drop(saved[l], 1)
			}
		}
	}
	loss, gradient := p.head(x, tokens)
	for l := m.layers - 1; l >= 0; l-- {
		if m.recompute {
			var out uint32
			saved[l], out = p.forward(saved[l][0])
			r.free(out)
		}
		gradient = p.backward(saved[l], gradient)
	}
	r.free(gradient)
	for _, g := range p.gradients {
		r.free(r.alloc(r.size(g) * 2)) // in float32, for the optimiser
	}
	r.free(p.gradients...)
	r.free(loss, ids)
}

// drop frees the last n of saved and returns the others.
func (p *pass) drop(saved []uint32, n int) []uint32 {
	for range n {
		last := len(saved) - 1
		p.free(saved[last])
		saved = saved[:last]
	}
	return saved
}

// parameterGradients makes gradients of that many elements each.
func (p *pass) parameterGradients(elements ...int64) {
	for _, n := range elements {
		p.gradients = append(p.gradients, p.alloc(n*f16))
	}
}

// forward records one layer on x. What backward needs is saved, x first.
func (p *pass) forward(x uint32) (saved []uint32, out uint32) {
	saved = []uint32{x}
	save := func(sizes ...int64) {
		for _, size := range sizes {
			saved = append(saved, p.alloc(size))
		}
	}
	save(p.activation, p.perToken, p.perToken) // norm, mean, deviation
	qkv := p.alloc(3 * p.activation)
	save(p.activation, p.activation, p.activation) // query, key, value
	p.free(qkv)
	if p.quadratic {
		scores := p.alloc(p.scores)
		save(p.scores) // softmax
		p.free(scores)
	} else {
		save(p.rows) // log of the sum of exponentials
	}
	save(p.activation) // attention's result
	projection := p.alloc(p.activation)
	save(p.activation) // added to x
	p.free(projection)
	save(p.activation, p.perToken, p.perToken)
	save(4*p.activation, 4*p.activation) // MLP up, GELU
	down := p.alloc(p.activation)
	out = p.alloc(p.activation)
	p.free(down)
	return saved, out
}

// head records the loss over the vocabulary and its backward. It frees x.
func (p *pass) head(x uint32, tokens int64) (loss, gradient uint32) {
	norm := p.alloc(p.activation)
	logits := p.alloc(tokens * p.vocab * f16)
	logSoftmax := p.alloc(tokens * p.vocab * f32)
	loss = p.alloc(f32)
	ofLogits := p.alloc(tokens * p.vocab * f16)
	p.free(logSoftmax, logits)
	p.parameterGradients(p.vocab * p.hidden)
	gradient = p.alloc(p.activation)
	p.free(ofLogits, norm, x)
	return loss, gradient
}

// backward records the backward of one layer: last saved, first freed. It
// frees the gradient of the layer's result and returns that of x.
func (p *pass) backward(saved []uint32, gradient uint32) uint32 {
	h := p.hidden
	gelu := p.alloc(4 * p.activation)
	p.parameterGradients(4*h*h, h)
	saved = p.drop(saved, 1)
	up := p.alloc(4 * p.activation)
	p.free(gelu)
	saved = p.drop(saved, 1)
	norm := p.alloc(p.activation)
	p.parameterGradients(4*h*h, 4*h)
	p.free(up)
	input := p.alloc(p.activation)
	p.parameterGradients(h, h)
	p.free(norm)
	saved = p.drop(saved, 3)
	middle := p.alloc(p.activation) // between the layer's halves
	p.free(input, gradient)
	saved = p.drop(saved, 1)

	projection := p.alloc(p.activation)
	p.parameterGradients(h*h, h)
	saved = p.drop(saved, 1)
	qkv, saved := p.attentionBackward(saved, projection)
	norm = p.alloc(p.activation)
	p.parameterGradients(3*h*h, 3*h)
	p.free(qkv)
	saved = p.drop(saved, 3)
	gradient = p.alloc(p.activation)
	p.free(norm, middle)
	p.parameterGradients(h, h)
	p.drop(saved, 1)
	return gradient
}

// attentionBackward turns the gradient of attention's result, which it frees,
// into that of query, key and value.
func (p *pass) attentionBackward(saved []uint32, result uint32) (qkv uint32, rest []uint32) {
	if p.quadratic {
		softmax := p.alloc(p.scores)
		scores := p.alloc(p.scores)
		p.free(softmax)
		saved = p.drop(saved, 1)
		qkv = p.alloc(3 * p.activation)
		p.free(scores)
	} else {
		qkv = p.alloc(3 * p.activation)
		saved = p.drop(saved, 1)
	}
	p.free(result)
	return qkv, p.drop(saved, 3)
}
