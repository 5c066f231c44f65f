package main

import (
	"bytes"
	"flag"
	"io"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestOptionsDefaults(t *testing.T) {
	o, err := parseOptions(nil, io.Discard)
	require.NoError(t, err)
	require.Equal(t, options{epochs: 8, batch: 64, hidden: []int{256, 128}, optimizer: "sgd", lr: 0.05, seed: 1, capacity: 256}, o)
}

func TestOptions(t *testing.T) {
	o, err := parseOptions(strings.Fields("-device cuda:3 -epochs 2 -batch 128 -hidden 32 -lr 0.5 -optimizer adamw "+
		"-seed 18446744073709551615 -limit 1000 -tests 300 -capacity 512 -threads 2 -json -no-scope"), io.Discard)
	require.NoError(t, err)
	require.Equal(t, options{
		device: device{"cuda", 3}, epochs: 2, batch: 128, hidden: []int{32}, optimizer: "adamw", lr: 0.5,
		seed: math.MaxUint64, limit: 1000, threads: 2, capacity: 512, tests: 300, json: true, noScope: true,
	}, o)

	o, err = parseOptions([]string{"-optimizer=adamw", "-hidden", "512, 256,128"}, io.Discard)
	require.NoError(t, err)
	require.Equal(t, 0.001, o.lr, "each optimizer has its own learning rate")
	require.Equal(t, []int{512, 256, 128}, o.hidden)
}

func TestOptionsRefuse(t *testing.T) {
	const more = "; mlp -help lists the flags"
	for args, want := range map[string]string{
		"-epochs 0":            `invalid value "0" for flag -epochs: want a whole number, 1 or more`,
		"-epochs 1.5":          `invalid value "1.5" for flag -epochs: want a whole number, 1 or more`,
		"-batch 0":             `invalid value "0" for flag -batch: want a whole number, 1 or more`,
		"-batch -64":           `invalid value "-64" for flag -batch: want a whole number, 1 or more`,
		"-limit -1":            `invalid value "-1" for flag -limit: want a whole number, 0 or more`,
		"-threads x":           `invalid value "x" for flag -threads: want a whole number, 0 or more`,
		"-hidden=":             `invalid value "" for flag -hidden: "" is no width: want whole numbers above 0, as in 256,128`,
		"-hidden 256,":         `invalid value "256," for flag -hidden: "" is no width: want whole numbers above 0, as in 256,128`,
		"-hidden 256,0":        `invalid value "256,0" for flag -hidden: "0" is no width: want whole numbers above 0, as in 256,128`,
		"-hidden 256x128":      `invalid value "256x128" for flag -hidden: "256x128" is no width: want whole numbers above 0, as in 256,128`,
		"-lr 0":                `invalid value "0" for flag -lr: want a number above 0`,
		"-lr -0.1":             `invalid value "-0.1" for flag -lr: want a number above 0`,
		"-lr NaN":              `invalid value "NaN" for flag -lr: want a number above 0`,
		"-lr Inf":              `invalid value "Inf" for flag -lr: want a number above 0`,
		"-lr fast":             `invalid value "fast" for flag -lr: want a number above 0`,
		"-optimizer adam":      `invalid value "adam" for flag -optimizer: want sgd or adamw`,
		"-seed -1":             `invalid value "-1" for flag -seed: parse error`,
		"-device gpu":          `invalid value "gpu" for flag -device: want auto, cpu, cuda, cuda:N or sim`,
		"-device cuda:":        `invalid value "cuda:" for flag -device: "" is no device number`,
		"-device cuda:-1":      `invalid value "cuda:-1" for flag -device: "-1" is no device number`,
		"-device cuda:0x1":     `invalid value "cuda:0x1" for flag -device: "0x1" is no device number`,
		"-device cuda:9999999": `invalid value "cuda:9999999" for flag -device: "9999999" is no device number`,
		"-device cpu:0":        `invalid value "cpu:0" for flag -device: want auto, cpu, cuda, cuda:N or sim`,
		"-device=":             `invalid value "" for flag -device: want auto, cpu, cuda, cuda:N or sim`,
		"-epoch 3":             `flag provided but not defined: -epoch`,
		"-epochs":              `flag needs an argument: -epochs`,
		"train":                `unexpected argument "train"`,
	} {
		var printed bytes.Buffer
		o, err := parseOptions(strings.Fields(args), &printed)
		require.EqualError(t, err, want+more, args)
		require.Equal(t, options{}, o)
		require.Empty(t, printed.String(), "the error is printed by whoever gets it")
	}
}

func TestOptionsHelp(t *testing.T) {
	var help bytes.Buffer
	_, err := parseOptions([]string{"-h"}, &help)
	require.ErrorIs(t, err, flag.ErrHelp)
	for _, line := range []string{
		"-device where\n", "-epochs passes\n", "(default 8)", "-batch examples\n", "-hidden widths\n", "(default 256,128)",
		"-lr rate\n", "(default 0.05 with sgd, 0.001 with adamw)", "-optimizer name\n", "(default sgd)", "-seed number\n",
		"-limit N\n", "-tests N\n", "-capacity MiB\n", "-threads threads\n", "-json\n", "-no-scope\n",
	} {
		require.Contains(t, help.String(), line)
	}
}
