package ptx

import (
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// instructions calls f for each line of testdata/accepts.txt, with version ""
// for what no module may have.
func instructions(t *testing.T, f func(version, target, instruction string)) {
	text, err := os.ReadFile("testdata/accepts.txt")
	require.NoError(t, err)
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if line[0] == '#' {
			continue
		}
		version, rest, _ := strings.Cut(line, " ")
		if version == "none" {
			f("", "", rest)
			continue
		}
		target, instruction, _ := strings.Cut(rest, " ")
		f(version, target, instruction)
	}
}

func compileInstruction(version, target, instruction string) (*Module, error) {
	return Compile(strings.NewReplacer("7.0", version, "sm_75", target).Replace(header) + `.entry k() {
	.reg .pred %p<9>; .reg .b16 %h<9>; .reg .b32 %r<9>; .reg .f32 %f<9>; .reg .b64 %d<9>; .reg .f64 %g<9>; .reg .f16 %e<9>; .reg .f16x2 %x<9>;
` + instruction + "\n}")
}

// Every instruction of the list is taken by the modules for which NVIDIA's
// assembler takes it, and refused by the others with its line.
func TestAcceptsWhatPtxasDoes(t *testing.T) {
	number := func(s string) int {
		major, minor, _ := strings.Cut(s, ".")
		a, err := strconv.Atoi(major)
		require.NoError(t, err)
		b, err := strconv.Atoi(minor)
		require.NoError(t, err)
		return a*100 + b
	}
	arch := func(s string) int {
		n, err := strconv.Atoi(strings.TrimPrefix(s, "sm_"))
		require.NoError(t, err)
		return n
	}
	instructions(t, func(version, target, instruction string) {
		for _, m := range [][2]string{
			{"6.4", "sm_53"}, {"6.4", "sm_70"}, {"6.5", "sm_75"}, {"7.0", "sm_75"}, {"7.0", "sm_80"}, {"7.1", "sm_80"}, {"7.5", "sm_86"},
			{"7.8", "sm_86"}, {"7.8", "sm_90"}, {"8.3", "sm_90"},
		} {
			_, err := compileInstruction(m[0], m[1], instruction)
			if version != "" && number(version) <= number(m[0]) && arch(target) <= arch(m[1]) {
				require.NoError(t, err, "%s for %v", instruction, m)
				continue
			}
			var e *ParseError
			require.ErrorAs(t, err, &e, "%s for %v", instruction, m)
			require.Equal(t, 6, e.Line)
		}
	})
}

// Operands that are missing or of another kind are refused, or fit after all and
// then run, if only into an error.
func TestOtherOperands(t *testing.T) {
	done := map[string]bool{} // kinds of instructions
	instructions(t, func(_, _, instruction string) {
		name, rest, ok := strings.Cut(strings.TrimSuffix(instruction, ";"), " ")
		if !ok || strings.ContainsAny(rest, ";{") {
			return
		}
		args, parts := strings.Split(rest, ","), strings.Split(name, ".")
		kind := strings.Join(parts[:min(len(parts), 2)], ".")
		if done[kind] {
			return
		}
		done[kind] = true
		for i := range args {
			for _, other := range []string{"", "7", "%p1", "%p1|%p2", "!%p3", "_", "[%d1+8]", "{%r1, %r2}", "{%h1}", "nothing", "%d3", "WARP_SZ"} {
				changed := append(append(append([]string{}, args[:i]...), other), args[i+1:]...)
				if other == "" {
					changed = args[:i]
				}
				m, err := compileInstruction("8.3", "sm_90", name+" "+strings.Join(changed, ",")+";")
				if err != nil {
					var e *ParseError
					require.ErrorAs(t, err, &e)
					continue
				}
				if err := m.kernels["k"].Launch(flat(1), flat(32), 0, nil, Allocations{}); err != nil {
					require.Contains(t, err.Error(), name)
				}
			}
		}
	})
}
