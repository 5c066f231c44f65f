package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// mutant is a change of one line that a test must notice.
type mutant struct {
	name string
	file string // in package memory
	old  string // occurs once in it; more than the line only where that needs it
	new  string
	test string // as in go test -run
}

// verdict is what a test said of a mutant.
type verdict string

const (
	caught   verdict = "caught"
	survived verdict = "SURVIVED"
	crashed  verdict = "CRASHED" // a panic, or a timeout
	broken   verdict = "NOT COMPILED"
)

// runner runs tests of the module at root. clean has what the tests said
// without a mutant, by name.
type runner struct {
	root  string
	clean map[string]error
}

func moduleRoot() (string, error) {
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}").Output()
	return strings.TrimSpace(string(out)), err
}

// try returns the verdict on m. It is an error if the test does not pass
// without m.
func (r *runner) try(m mutant) (verdict, error) {
	pkg := m.pkg()
	id := pkg + " " + m.test
	if _, known := r.clean[id]; !known {
		r.clean[id] = r.passes(pkg, m.test)
	}
	if err := r.clean[id]; err != nil {
		return "", err
	}
	overlay, remove, err := r.apply(m)
	if err != nil {
		return "", err
	}
	defer remove()
	out, err := r.test(pkg, m.test, "-overlay="+overlay)
	return judge(out, err)
}

// pkg returns the package of m's test, by what lies where: the suites over the
// fakes and the golden scripts are in memorytest.
func (m mutant) pkg() string {
	for _, suite := range []string{"TestAllocator", "TestTraces", "TestScripts"} {
		if strings.HasPrefix(m.test, suite) {
			return "./memory/memorytest"
		}
	}
	return "./memory"
}

// passes returns an error unless there is such a test and it passes.
func (r *runner) passes(pkg, test string) error {
	out, err := r.test(pkg, test, "-v")
	switch {
	case err != nil:
		return fmt.Errorf("the test %s fails without it: %w\n%s", test, err, out)
	case !bytes.Contains(out, []byte("--- PASS: "+test+" ")):
		return fmt.Errorf("there is no test %s in %s", test, pkg)
	}
	return nil
}

// test runs a test. The invariants stay off: their panics would come first.
func (r *runner) test(pkg, test, flag string) ([]byte, error) {
	pattern := "^" + strings.ReplaceAll(test, "/", "$/^") + "$"
	cmd := exec.Command("go", "test", "-tags=", "-vet=off", "-count=1", "-failfast", "-timeout=60s", "-run="+pattern, flag, pkg)
	cmd.Dir = r.root
	return cmd.CombinedOutput()
}

// apply writes m's file and the overlay that puts it in place.
func (r *runner) apply(m mutant) (overlay string, remove func(), err error) {
	file := filepath.Join(r.root, "memory", m.file)
	src, err := os.ReadFile(file)
	if err != nil {
		return "", nil, err
	}
	if n := bytes.Count(src, []byte(m.old)); n != 1 {
		return "", nil, fmt.Errorf("memory/%s has %q %d times, not once", m.file, m.old, n)
	}
	dir, err := os.MkdirTemp("", "mutants")
	if err != nil {
		return "", nil, err
	}
	remove = func() { os.RemoveAll(dir) }
	changed := filepath.Join(dir, m.file)
	overlay = filepath.Join(dir, "overlay.json")
	text, err := json.Marshal(map[string]any{"Replace": map[string]string{file: changed}})
	err = errors.Join(err,
		os.WriteFile(changed, bytes.Replace(src, []byte(m.old), []byte(m.new), 1), 0o666),
		os.WriteFile(overlay, text, 0o666))
	if err != nil {
		remove()
	}
	return overlay, remove, err
}

// judge reads the output of a test and how it ended.
func judge(out []byte, failed error) (verdict, error) {
	says := func(text string) bool { return bytes.Contains(out, []byte(text)) }
	switch exit := (*exec.ExitError)(nil); {
	case failed == nil:
		return survived, nil
	case !errors.As(failed, &exit):
		return "", failed
	case says("[build failed]"), says("[setup failed]"):
		return broken, nil
	case says("panic: "), says("fatal error: "), !says("--- FAIL: "):
		return crashed, nil
	}
	return caught, nil
}
