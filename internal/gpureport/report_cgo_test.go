//go:build cgo && (linux || darwin)

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestReport(t *testing.T) {
	torch := filepath.Join(t.TempDir(), "torch.txt")
	require.NoError(t, os.WriteFile(torch, []byte("launch_us\t5\n"), 0o600))
	var out strings.Builder
	require.NoError(t, run([]string{"-sim", "-quick", "-torch", torch}, &out), out.String())
	for _, part := range []string{"set access", "matmul", "mlp_8_eager_us", "mlp_8_graph_us", "bf16_64_tflop_s"} {
		require.Contains(t, out.String(), part)
	}
	require.Regexp(t, `(?m)^exp +7869 +0  0$`, out.String(), "the same on two simulated devices")
	require.Regexp(t, `launch_us +\S+ +5 +\S+`, out.String())
	t.Log(out.String())
}

func TestReportRefuses(t *testing.T) {
	require.ErrorContains(t, run([]string{"-sim", "-device", "7"}, new(strings.Builder)), "no device 7")
	torch := filepath.Join(t.TempDir(), "torch.txt")
	require.NoError(t, os.WriteFile(torch, []byte("launch_us\tfast\n"), 0o600))
	require.ErrorContains(t, run([]string{"-torch", torch}, new(strings.Builder)), "no figure")
}
