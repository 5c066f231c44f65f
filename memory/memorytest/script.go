package memorytest

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tarn/cuda"
	"tarn/memory"
)

// RunScript plays a golden script: the story of an allocator over a fake
// device. With rewrite it writes the outputs instead of comparing them.
//
// A script is a list of cases, apart by empty lines. A case is comments (#)
// and commands, a line ----, and the output. Sizes are written 100, 4KiB,
// 20MiB; streams s0, s1.
//
//	device SIZE [limit SIZE]      comes first; its streams are asynchronous
//	alloc NAME SIZE STREAM        a block with a name
//	read NAME STREAM...           these streams use it, after its owner's
//	free NAME [STREAM...]         used on these streams
//	abandon NAME [STREAM...]      as the cleanup of a lost owner does
//	complete STREAM               the device finishes its work
//	empty cache
//	blocks                        segments, and what is live in them
//	stats                         the books in a line
//	calls                         upstream calls since the last time
//	summary
func RunScript(t *testing.T, file string, rewrite bool) {
	t.Helper()
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	var s script
	var cases []string
	for i, want := range strings.Split(strings.TrimRight(string(text), "\n"), "\n\n") {
		commands, _, _ := strings.Cut(want, "\n----")
		got := commands + "\n----"
		for line := range strings.Lines(commands) {
			line = strings.TrimSpace(line)
			if line == "" || line[0] == '#' {
				continue
			}
			out, err := s.command(strings.Fields(line))
			if err != nil {
				t.Fatalf("%s: case %d: %q: %v", file, i+1, line, err)
			}
			got += strings.TrimRight("\n"+out, "\n")
		}
		cases = append(cases, got)
		if !rewrite && got != want {
			t.Errorf("%s: case %d: got\n%s\n\nwant\n%s\n\ngo test -rewrite writes it anew; look at the difference", file, i+1, got, want)
		}
	}
	if s.a != nil {
		require.NoError(t, s.a.Check())
		var live *memory.LiveBlocksError
		if err := s.a.Close(); err != nil {
			require.ErrorAs(t, err, &live)
		}
		require.NoError(t, s.fake.Leaked())
	}
	if rewrite {
		text := strings.Join(cases, "\n\n") + "\n"
		require.NoError(t, os.WriteFile(file, []byte(text), 0o644))
	}
}

// script is the state of a running script.
type script struct {
	fake     *Fake
	a        *memory.Allocator
	blocks   map[string]*named
	segments map[cuda.DevicePtr]int // numbers in order of appearance
	calls    Calls                  // when they were last shown
}

// named is a block of a script. It stays known when it is freed, so that it
// can be freed again.
type named struct {
	memory.Block
	stream cuda.Stream
	live   bool
}

var errSyntax = errors.New("not a command")

func (s *script) command(words []string) (out string, err error) {
	verb, args := words[0], words[1:]
	if verb == "device" {
		return "", s.open(args)
	}
	if s.a == nil {
		return "", errors.New("the first command must be device")
	}
	switch {
	case verb == "alloc" && len(args) == 3:
		return s.alloc(args[0], args[1], args[2])
	case verb == "complete" && len(args) == 1:
		stream, err := parseStream(args[0])
		s.fake.Complete(stream)
		return "", err
	case verb == "empty" && len(args) == 1 && args[0] == "cache":
		return describe(s.a.EmptyCache()), nil
	case verb == "blocks" && len(args) == 0:
		return s.layout(), nil
	case verb == "stats" && len(args) == 0:
		return s.stats(), nil
	case verb == "calls" && len(args) == 0:
		now := s.fake.Calls()
		out = fmt.Sprintf("calls: %v\n", now.Since(s.calls))
		s.calls = now
		return out, nil
	case verb == "summary" && len(args) == 0:
		return s.a.Summary(), nil
	case (verb == "read" || verb == "free" || verb == "abandon") && len(args) > 0:
		return s.onBlock(verb, args[0], args[1:])
	}
	return "", errSyntax
}

func (s *script) open(args []string) (err error) {
	if len(args) != 1 && !(len(args) == 3 && args[1] == "limit") {
		return errSyntax
	}
	var cfg memory.Config
	cfg.NoBackgroundGC = true
	capacity, err := parseSize(args[0])
	if err == nil && len(args) == 3 {
		cfg.Limit, err = parseSize(args[2])
	}
	if err != nil {
		return err
	}
	s.fake = NewFake(FakeConfig{Capacity: capacity, Asynchronous: true})
	s.blocks = make(map[string]*named)
	s.segments = make(map[cuda.DevicePtr]int)
	s.a, err = memory.New(s.fake, cfg)
	return err
}

func (s *script) alloc(name, size, stream string) (string, error) {
	n, err := parseSize(size)
	if err != nil {
		return "", err
	}
	st, err := parseStream(stream)
	if err != nil {
		return "", err
	}
	if b := s.blocks[name]; b != nil && b.live {
		return "", fmt.Errorf("block %s is live", name)
	}
	b, err := s.a.Alloc(n, st, memory.Untagged)
	if err != nil {
		return describe(err), nil
	}
	s.blocks[name] = &named{b, st, true}
	if n == 0 {
		return "", nil
	}
	return "", s.fake.Write(st, b.Ptr, b.Size)
}

// onBlock reads, frees or abandons a block.
func (s *script) onBlock(verb, name string, streams []string) (string, error) {
	b, ok := s.blocks[name]
	if !ok {
		return "", fmt.Errorf("no block %s", name)
	}
	var usedOn []cuda.Stream
	for _, word := range streams {
		st, err := parseStream(word)
		if err != nil {
			return "", err
		}
		usedOn = append(usedOn, st)
	}
	switch verb {
	case "read":
		for _, st := range usedOn {
			s.fake.Wait(st, b.stream)
			if err := s.fake.Read(st, b.Ptr, b.Size); err != nil {
				return "", err
			}
		}
		return "", nil
	case "abandon":
		s.a.Abandon(b.Handle, usedOn...)
		b.live = false
		return "", nil
	}
	b.live = false
	return describe(s.a.Free(b.Handle, usedOn...)), nil
}

// describe leaves out what differs from run to run: the numbers of handles.
func describe(err error) string {
	if handle := (*memory.HandleError)(nil); errors.As(err, &handle) {
		err = handle.Err
	}
	if err == nil {
		return ""
	}
	return "error: " + err.Error() + "\n"
}

// layout shows each segment as the pieces that tile it. A piece with no name
// is free, or waits for other streams.
func (s *script) layout() string {
	s.fake.mu.Lock()
	defer s.fake.mu.Unlock()
	if len(s.fake.allocs) == 0 {
		return "no segments\n"
	}
	names := make(map[cuda.DevicePtr]string)
	var live regions
	for name, b := range s.blocks {
		if b.live {
			names[b.Ptr] = name
			live.insert(region{ptr: b.Ptr, size: b.Size})
		}
	}
	var out strings.Builder
	for _, segment := range s.fake.allocs {
		if s.segments[segment.ptr] == 0 {
			s.segments[segment.ptr] = len(s.segments) + 1
		}
		pieces := []string{}
		at := segment.ptr
		gap := func(to cuda.DevicePtr) {
			if to > at {
				pieces = append(pieces, "- "+formatSize(int64(to-at)))
			}
		}
		for _, b := range live {
			if segment.ptr <= b.ptr && b.ptr < segment.end() {
				gap(b.ptr)
				pieces = append(pieces, names[b.ptr]+" "+formatSize(b.size))
				at = b.end()
			}
		}
		gap(segment.end())
		fmt.Fprintf(&out, "segment %d, %s: %s\n", s.segments[segment.ptr], formatSize(segment.size), strings.Join(pieces, " | "))
	}
	return out.String()
}

func (s *script) stats() string {
	st := s.a.Stats()
	out := fmt.Sprintf("requested %s, allocated %s, reserved %s", formatSize(st.RequestedBytes.All.Current),
		formatSize(st.AllocatedBytes.All.Current), formatSize(st.ReservedBytes.All.Current))
	for _, extra := range []struct {
		name string
		n    int64
	}{{"pinned", st.PinnedBytes}, {"pending", st.PendingBytes}, {"released by GC", st.GCReleased.Bytes}} {
		if extra.n > 0 {
			out += fmt.Sprintf(", %s %s", extra.name, formatSize(extra.n))
		}
	}
	return out + "\n"
}

var units = []struct {
	name string
	size int64
}{{"MiB", 1 << 20}, {"KiB", 1 << 10}, {"", 1}}

func parseSize(word string) (int64, error) {
	for _, u := range units {
		if digits, ok := strings.CutSuffix(word, u.name); ok {
			n, err := strconv.ParseInt(digits, 10, 40)
			return n * u.size, err
		}
	}
	return 0, errSyntax
}

// formatSize writes a size exactly, in the largest unit that allows it.
func formatSize(n int64) string {
	for _, u := range units {
		if n != 0 && n%u.size == 0 {
			return strings.TrimSpace(fmt.Sprintf("%d %s", n/u.size, u.name))
		}
	}
	return "0"
}

func parseStream(word string) (cuda.Stream, error) {
	digits, ok := strings.CutPrefix(word, "s")
	n, err := strconv.ParseUint(digits, 10, 16)
	if !ok || err != nil {
		return 0, fmt.Errorf("%q is not a stream", word)
	}
	return cuda.Stream(n), nil
}
