package mnist

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"tarn/nn/data"
)

// The files are the ones that everybody else's numbers are about.
func TestFilesAreTheOriginals(t *testing.T) {
	for name, want := range map[string]string{
		"train-images-idx3-ubyte.gz": "440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609",
		"train-labels-idx1-ubyte.gz": "3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c",
		"t10k-images-idx3-ubyte.gz":  "8d422c7b0a1c1c79245a5bcf07fe86e33eeafee792b84584aec276f5a2dbc4e6",
		"t10k-labels-idx1-ubyte.gz":  "f7ae60f92e00ec6debd23a6088c31dbd2371eca3ffa0defaefb259924204aec6",
	} {
		b, err := files.ReadFile(name)
		require.NoError(t, err)
		sum := sha256.Sum256(b)
		require.Equal(t, want, hex.EncodeToString(sum[:]), name)
	}
}

func TestSets(t *testing.T) {
	for name, c := range map[string]struct {
		load     func() (*data.Set, error)
		perClass [Classes]int
		first    []int64
	}{
		"train": {Train, [Classes]int{5923, 6742, 5958, 6131, 5842, 5421, 5918, 6265, 5851, 5949}, []int64{5, 0, 4, 1, 9, 2, 1, 3}},
		"test":  {Test, [Classes]int{980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009}, []int64{7, 2, 1, 0, 4, 1, 4, 9}},
	} {
		s, err := c.load()
		require.NoError(t, err, name)
		require.Equal(t, []int{28, 28, 784, 10}, []int{s.Rows(), s.Cols(), s.Features(), s.Classes()}, name)
		var perClass [Classes]int
		for i := range s.Len() {
			_, label := s.Example(i)
			perClass[label]++
			if i < len(c.first) {
				require.Equal(t, c.first[i], label, name)
			}
		}
		require.Equal(t, c.perClass, perClass, name)
		if name == "train" {
			requireNormalised(t, s)
		}
	}
}

// requireNormalised demands that Mean and Std are those of the pixels of s.
func requireNormalised(t *testing.T, s *data.Set) {
	var sum, squares float64
	for i := range s.Len() {
		features, _ := s.Example(i)
		for _, x := range features {
			sum += float64(x)
			squares += float64(x) * float64(x)
		}
	}
	n := float64(s.Len() * s.Features())
	require.InDelta(t, 0, sum/n, 1e-4)
	require.InDelta(t, 1, math.Sqrt(squares/n), 1e-4)
}

// A cut of the real file is refused by name and byte.
func TestCutFileIsRefused(t *testing.T) {
	b, err := files.ReadFile("t10k-images-idx3-ubyte.gz")
	require.NoError(t, err)
	_, err = data.ReadIDX(bytes.NewReader(b[:len(b)/2]), "t10k-images-idx3-ubyte.gz")
	var bad *data.FormatError
	require.ErrorAs(t, err, &bad)
	require.Equal(t, "t10k-images-idx3-ubyte.gz", bad.File)
	require.Greater(t, bad.Offset, int64(1<<20))
}

func BenchmarkTrain(b *testing.B) {
	for b.Loop() {
		if _, err := Train(); err != nil {
			b.Fatal(err)
		}
	}
}
