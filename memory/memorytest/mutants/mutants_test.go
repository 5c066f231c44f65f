package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestMutantsFitTheSource keeps the list in step with the code that it changes.
func TestMutantsFitTheSource(t *testing.T) {
	root, err := moduleRoot()
	require.NoError(t, err)
	names := make(map[string]bool)
	for _, m := range mutants {
		assert.False(t, names[m.name], "two are called %q", m.name)
		names[m.name] = true
		src, err := os.ReadFile(filepath.Join(root, "memory", m.file))
		if assert.NoError(t, err, m.name) {
			assert.Equal(t, 1, strings.Count(string(src), m.old), "%s: how often %s has %q", m.name, m.file, m.old)
		}
		assert.NotEqual(t, m.old, m.new, m.name)
	}
}

// TestMutantsNameTests looks for the tests in the source, by their top names:
// to run them takes minutes.
func TestMutantsNameTests(t *testing.T) {
	root, err := moduleRoot()
	require.NoError(t, err)
	known := make(map[string]string)
	for _, m := range mutants {
		pkg := m.pkg()
		if known[pkg] == "" {
			files, err := filepath.Glob(filepath.Join(root, pkg, "*_test.go"))
			require.NoError(t, err)
			for _, file := range files {
				src, err := os.ReadFile(file)
				require.NoError(t, err)
				known[pkg] += string(src)
			}
		}
		top, _, _ := strings.Cut(m.test, "/")
		assert.Contains(t, known[pkg], "func "+top+"(t *testing.T) {", m.name)
	}
}

// TestTwoMutants runs two to the end, and one that changes nothing.
func TestTwoMutants(t *testing.T) {
	root, err := moduleRoot()
	require.NoError(t, err)
	r := runner{root: root, clean: make(map[string]error)}
	for _, tc := range []struct {
		mutant
		want verdict
	}{
		{mutants[0], caught},
		{mutant{"a no-op", "table.go", "t.clock++", "t.clock += 1", mutants[0].test}, survived},
	} {
		got, err := r.try(tc.mutant)
		require.NoError(t, err, tc.name)
		assert.Equal(t, tc.want, got, tc.name)
	}
	_, err = r.try(mutant{"no test", "table.go", "t.clock++", "", "TestNothing"})
	assert.ErrorContains(t, err, "there is no test TestNothing in ./memory")
	_, err = r.try(mutant{"no place", "table.go", "no such text", "", mutants[0].test})
	assert.ErrorContains(t, err, `memory/table.go has "no such text" 0 times, not once`)
}

func TestJudge(t *testing.T) {
	exit := &exec.ExitError{}
	for _, tc := range []struct {
		out  string
		err  error
		want verdict
	}{
		{"ok tarn/memory", nil, survived},
		{"--- FAIL: TestX (0.00s)\n\tError: Not equal", exit, caught},
		{"--- FAIL: TestX (0.00s)\npanic: runtime error", exit, crashed},
		{"fatal error: all goroutines are asleep - deadlock!", exit, crashed},
		{"panic: test timed out after 1m0s", exit, crashed},
		{"signal: killed", exit, crashed},
		{"FAIL tarn/memory [build failed]", exit, broken},
	} {
		got, err := judge([]byte(tc.out), tc.err)
		require.NoError(t, err)
		assert.Equal(t, tc.want, got, tc.out)
	}
	_, err := judge(nil, errors.New("no go command"))
	assert.Error(t, err)
}
