package memory

import (
	"cmp"
	"fmt"
	"slices"
)

// Warning names a piece of a settings text that has no effect.
type Warning struct {
	Key    string
	Text   string // the piece
	Offset int    // of Text, in bytes
	Reason string
}

// String prints the warning as errors are printed.
func (w Warning) String() string {
	return fmt.Sprintf("memory: settings: %q at byte %d: %s", w.Text, w.Offset, w.Reason)
}

// idleSettings are what makes a key useless. For a garbage_collection_threshold
// the lack of a limit is none: it is a share of the device then.
var idleSettings = [...]struct {
	key    string
	when   func(s *Settings) bool
	reason string
}{
	{"max_split_size_mb", func(s *Settings) bool { return s.Expandable == ExpandableOn },
		"has no effect with expandable_segments:True"},
	{"garbage_collection_threshold", func(s *Settings) bool { return s.Expandable == ExpandableOn },
		"has no effect with expandable_segments:True"},
	{"max_non_split_rounding_mb", func(s *Settings) bool { return s.MaxSplitSize == 0 },
		"has no effect without max_split_size_mb"},
	{"roundup_power2_divisions", func(s *Settings) bool { return !s.rounds() },
		"has no effect: no steps are coarser than 512 bytes"},
	{"throw_on_cudamalloc_oom", func(s *Settings) bool { return s.MemoryFraction == 0 },
		"has no effect without per_process_memory_fraction"},
	{"expandable_segments_reserve", func(s *Settings) bool { return s.Expandable == ExpandableOff },
		"has no effect with expandable_segments:False"},
	{"pinned_num_register_threads", func(s *Settings) bool { return !s.Pinned.UseHostRegister },
		"has no effect without pinned_use_cuda_host_register:True"},
}

// warn adds a warning about a piece of the text.
func (p *settingParser) warn(k *setting, at textSpan, reason string) {
	p.warnings = append(p.warnings, Warning{k.name, p.text[at.from:at.to], at.from, reason})
}

// allWarnings returns the warnings of the reading and those of the whole.
func (p *settingParser) allWarnings() []Warning {
	for k, v := range p.given {
		if reason := p.settings.idle(k); reason != "" {
			p.warn(k, v.textSpan, reason)
		}
	}
	slices.SortFunc(p.warnings, func(a, b Warning) int { return cmp.Compare(a.Offset, b.Offset) })
	return p.warnings
}

// idle says why a key has no effect in s, "" if it has one.
func (s *Settings) idle(k *setting) string {
	switch {
	case k.inert != "":
		return k.inert
	case k.native && s.Backend == asyncBackend:
		return "has no effect with backend:" + asyncBackend
	}
	for _, i := range idleSettings {
		if i.key == k.name && i.when(s) {
			return i.reason
		}
	}
	return ""
}
