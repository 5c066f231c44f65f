package lint

import (
	"cmp"
	"fmt"
	"slices"
)

// Finding is a breach of a rule.
type Finding struct {
	Path string // from the module's root
	Line int    // 0 where the file as a whole is meant
	Rule string
	Msg  string
}

// String prints the finding as compilers do.
func (f Finding) String() string {
	return fmt.Sprintf("%s:%d: %s (%s)", f.Path, f.Line, f.Msg, f.Rule)
}

// Rule is one rule.
type Rule struct {
	Name  string
	Why   string
	check func(t *Tree, report reporter)
}

type reporter func(path string, line int, format string, args ...any)

// Rules returns all rules.
func Rules() []Rule {
	return []Rule{
		{"imports", "a layer that knows the ones above it cannot be understood or tested alone", checkImports},
		{"modules", "each dependency is paid for by everybody who builds Tarn", checkModules},
		{"loader", "importing a package must not start a driver; only who runs on devices opens them", checkLoader},
		{"cleanup", "a cleanup that does more than queue a handle races with everything; finalizers revive objects",
			checkCleanup},
		{"launch", "recording a use comes before a launch and KeepAlive after it: one place gets that right", checkLaunch},
		{"exit", "a library that ends the program takes the caller's work with it", checkExit},
		{"panic", "whoever reads the last line of a crash must see whose it is", checkPanic},
		{"sleep", "a test that sleeps is slow where it is right and wrong where it is fast", checkSleep},
		{"doc", "an exported name without a word is a promise that nobody made", checkDoc},
		{"size", "files that nobody wants to open are where faults live", checkSize},
		{"words", "what is missing is an issue, not a comment", checkWords},
		{"gofmt", "one form for all", checkFormat},
	}
}

// Check applies all rules and returns what they find, in order of place.
func Check(t *Tree) []Finding {
	var all []Finding
	for _, r := range Rules() {
		r.check(t, func(path string, line int, format string, args ...any) {
			all = append(all, Finding{path, line, r.Name, fmt.Sprintf(format, args...)})
		})
	}
	slices.SortStableFunc(all, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.Path, b.Path), cmp.Compare(a.Line, b.Line))
	})
	return all
}
