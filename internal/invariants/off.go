//go:build !invariants

package invariants

// Enabled reports whether the binary was built with the tag invariants.
const Enabled = false

// Sometimes is true in about percent of 100 calls, and never without the tag.
func Sometimes(int) bool { return false }
