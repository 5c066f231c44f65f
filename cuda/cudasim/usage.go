package cudasim

// usage is who uses a thing: the newest op of each stream that was told to. It is
// guarded by the machine. It finds misuse, and nothing waits for it.
type usage struct{ ops []*op }

func (u *usage) add(o *op) {
	left := u.ops[:0]
	for _, other := range u.ops {
		if other.stream != o.stream && !other.past() {
			left = append(left, other)
		}
	}
	u.ops = append(left, o)
}

// busy returns work that is not done, nil if there is none.
func (u *usage) busy() *op {
	for _, o := range u.ops {
		if !o.past() {
			return o
		}
	}
	return nil
}
