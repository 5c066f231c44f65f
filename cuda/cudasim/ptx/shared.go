package ptx

// sharedVariable is a .shared variable; of is the kernel that declares it, nil
// for the module.
type sharedVariable struct {
	of *function
	declared
}

// placeShared lays out shared memory as kernel f sees it: the variables of the
// module, which every kernel pays for, then its own, then the dynamic part, in
// which all .extern arrays begin.
func (m *Module) placeShared(f *function) map[string]symbol {
	at, dynamicAlign := 0, 16
	placed := map[string]symbol{}
	var open []string
	for _, v := range m.shared {
		switch {
		case v.of != nil && v.of != f:
		case v.open:
			open = append(open, v.name)
			dynamicAlign = max(dynamicAlign, v.align)
		default:
			at = align(at, v.align)
			placed[v.name] = symbol{sharedWindow + uint64(at), v.size}
			at += v.size
		}
	}
	f.kernel.shared, f.kernel.dynamic = at, align(at, dynamicAlign)
	for _, name := range open {
		placed[name] = symbol{sharedWindow + uint64(f.kernel.dynamic), 0}
	}
	return placed
}
