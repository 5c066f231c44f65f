package ptx

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const header = ".version 7.0\n.target sm_75\n.address_size 64\n"

// snippet is a kernel with one parameter, out, and registers of each kind.
func snippet(t testing.TB, body string) *Kernel {
	t.Helper()
	m, err := Compile(snippetText(body))
	require.NoError(t, err)
	k, err := m.Kernel("k")
	require.NoError(t, err)
	return k
}

func snippetText(body string) string {
	return header + `.visible .entry k(.param .u64 out)
{
	.reg .pred %p<9>;
	.reg .b16 %h<9>;
	.reg .b32 %r<9>;
	.reg .f32 %f<9>;
	.reg .b64 %d<9>;
	.reg .f64 %g<9>;
` + body + "\n}\n"
}

// eval runs an instruction, given without its operands, in one thread. The
// sources are args, as the bits of registers; so is what it returns.
func eval(t testing.TB, instruction string, args ...uint64) uint64 {
	t.Helper()
	name := strings.Split(strings.Fields(instruction)[0], ".")
	var b strings.Builder
	widths := operandWidths(name)
	fmt.Fprintf(&b, "\tld.param.u64 %%d8, [out];\n")
	operands := []string{resultRegister(widths[0], 0)}
	for i, a := range args {
		w := widths[min(i+1, len(widths)-1)]
		r := resultRegister(w, i+1)
		fmt.Fprintf(&b, "\tmov.b%d %s, %#x;\n", w, r, a)
		operands = append(operands, r)
	}
	fmt.Fprintf(&b, "\t%s %s;\n\tst.global.b%d [%%d8], %s;\n\tret;", instruction, strings.Join(operands, ", "), widths[0], operands[0])
	k := snippet(t, b.String())
	var d device
	out, bytes := alloc(t, &d, []uint64{0})
	require.NoError(t, k.Launch(flat(1), flat(1), 0, pack(t, k, out), &d))
	return values[uint64](t, bytes)[0]
}

func resultRegister(width, i int) string {
	return map[int]string{16: "%h", 32: "%r", 64: "%d"}[width] + fmt.Sprint(i)
}

// operandWidths are the bits of an instruction's result and sources.
func operandWidths(name []string) []int {
	width := func(s string) int { return max(dtypes[s].bits(), 16) }
	last := name[len(name)-1]
	w := width(last)
	switch {
	case name[0] == "cvt":
		return []int{width(name[len(name)-2]), w}
	case strings.Contains(strings.Join(name, "."), ".wide."):
		return []int{2 * w, w, w, 2 * w}
	case name[0] == "shl" || name[0] == "shr" || name[0] == "bfe":
		return []int{w, w, 32}
	case name[0] == "popc" || name[0] == "clz":
		return []int{32, w}
	}
	return []int{w}
}
