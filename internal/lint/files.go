package lint

import (
	"bytes"
	"cmp"
	"fmt"
	"go/format"
	"path"
	"regexp"
	"slices"
	"strings"
)

// How many lines a file may have.
const (
	maxLines     = 400
	maxTestLines = 600
)

// allowance lets a file be longer.
type allowance struct {
	lines  int
	reason string
}

// oversize are the files that are longer for a reason. An allowance that is
// no longer needed is a finding.
var oversize = map[string]allowance{}

// sourceExts are the files that the size rule is about.
var sourceExts = []string{".go", ".c", ".h", ".inc", ".cu", ".s", ".S"}

func checkSize(t *Tree, report reporter) {
	seen := map[string]bool{}
	for _, x := range t.texts {
		if !slices.Contains(sourceExts, path.Ext(x.path)) {
			continue
		}
		limit := x.budget()
		if a, ok := oversize[x.path]; ok {
			seen[x.path] = true
			if x.lines() <= limit {
				report(x.path, 0, "%d lines fit the budget: take its allowance away", x.lines())
			}
			limit = a.lines
		}
		if x.lines() > limit {
			report(x.path, 0, "%d lines, at most %d: split it by what it is about", x.lines(), limit)
		}
	}
	for name := range oversize {
		if !seen[name] {
			report(name, 0, "allowance for a file that is not there")
		}
	}
}

func (x text) lines() int { return bytes.Count(x.src, []byte("\n")) }

func (x text) budget() int {
	if strings.HasSuffix(x.path, "_test.go") {
		return maxTestLines
	}
	return maxLines
}

// Largest prints the n source files that use most of their budgets.
func Largest(t *Tree, n int) string {
	var source []text
	total := 0
	for _, x := range t.texts {
		if slices.Contains(sourceExts, path.Ext(x.path)) {
			source = append(source, x)
			total += x.lines()
		}
	}
	slices.SortStableFunc(source, func(a, b text) int {
		return cmp.Compare(b.lines()*a.budget(), a.lines()*b.budget())
	})
	var b strings.Builder
	fmt.Fprintf(&b, "%d source files, %d lines; the fullest:\n", len(source), total)
	for _, x := range source[:min(n, len(source))] {
		fmt.Fprintf(&b, "%5d of %d  %s\n", x.lines(), x.budget(), x.path)
	}
	return b.String()
}

// notes are words that mark work left undone. They are spelled so that this
// file has none of them.
var notes = regexp.MustCompile(`\b(TO` + `DO|FIX` + `ME|XX` + `X|HA` + `CK)\b`)

func checkWords(t *Tree, report reporter) {
	for _, x := range t.texts {
		for i, line := range strings.Split(string(x.src), "\n") {
			if w := notes.FindString(line); w != "" {
				report(x.path, i+1, "%s: do it, or file it", w)
			}
		}
	}
}

func checkFormat(t *Tree, report reporter) {
	for _, f := range t.files {
		formatted, err := format.Source(f.src)
		switch {
		case err != nil:
			report(f.path, 0, "gofmt: %v", err)
		case !bytes.Equal(formatted, f.src):
			report(f.path, differs(f.src, formatted), "not formatted: run gofmt")
		}
	}
}

// differs returns the first line in which a and b differ.
func differs(a, b []byte) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return 1 + bytes.Count(a[:n], []byte("\n"))
}
