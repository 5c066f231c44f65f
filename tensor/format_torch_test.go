package tensor_test

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"tarn/tensor"
)

// printCase is a tensor and how PyTorch prints it; make_print.py says more.
type printCase struct {
	Name, DType string
	Shape       []int
	Elements    []string
	Start, Step float64
	Precision   *int
	Science     *bool `json:"sci_mode"`
	Text        string
}

func TestPrintsAsPyTorch(t *testing.T) {
	onDevices(t, func(t *testing.T, d *tensor.Device) {
		have := dtypesOn(t, d)
		for _, c := range printCases(t) {
			if !slices.Contains(have, dtypeNamed(t, c.DType)) {
				continue
			}
			t.Run(c.Name, func(t *testing.T) {
				x := c.tensor(t, d)
				require.NoError(t, x.Err())
				require.Equal(t, c.Text, fmt.Sprintf(c.format(), x))
			})
		}
	})
}

func printCases(t *testing.T) []printCase {
	bytes, err := os.ReadFile("testdata/torch/print.json")
	require.NoError(t, err)
	var file struct {
		Torch string
		Cases []printCase
	}
	require.NoError(t, json.Unmarshal(bytes, &file))
	require.NotEmpty(t, file.Cases)
	t.Logf("%d texts by PyTorch %s", len(file.Cases), file.Torch)
	return file.Cases
}

// format is PyTorch's print options as a verb.
func (c *printCase) format() string {
	verb := "v"
	if c.Science != nil {
		verb = map[bool]string{true: "e", false: "f"}[*c.Science]
	}
	if c.Precision == nil {
		return "%" + verb
	}
	return fmt.Sprintf("%%.%d%s", *c.Precision, verb)
}

func (c *printCase) tensor(t *testing.T, d *tensor.Device) *tensor.Tensor {
	if c.DType == "int64" {
		return tensor.FromSlice(d, elements(t, c, func(s string) (int64, error) { return strconv.ParseInt(s, 10, 64) }), c.Shape...)
	}
	return ofNumbers(d, dtypeNamed(t, c.DType), elements(t, c, func(s string) (float64, error) {
		if truth, err := strconv.ParseBool(s); err == nil && c.DType == "bool" {
			return map[bool]float64{true: 1}[truth], nil
		}
		return strconv.ParseFloat(s, 64)
	}), c.Shape...)
}

func elements[T int64 | float64](t *testing.T, c *printCase, parse func(string) (T, error)) []T {
	values := make([]T, tensor.Shape(c.Shape).Len())
	for i := range values {
		if c.Elements == nil {
			product := float64(float64(i) * c.Step) // rounded by itself, as PyTorch's
			values[i] = T(product + c.Start)
			continue
		}
		v, err := parse(c.Elements[i])
		require.NoError(t, err)
		values[i] = v
	}
	return values
}
