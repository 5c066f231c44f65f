// Package mnist is the MNIST set of handwritten digits, built in: a program
// that uses it needs no network and no data folder. README.md says where the
// files come from and under which terms.
package mnist

import (
	"embed"
	"sync"

	"tarn/nn/data"
)

// Classes is the number of digits.
const Classes = 10

// Mean and Std of all pixels of the training images, from 0 to 1. Train and
// Test both normalise with them.
const (
	Mean = 0.13066
	Std  = 0.30811
)

//go:embed *.gz
var files embed.FS

// Train returns the 60,000 training images of 28 x 28 pixels. They are decoded
// once, at the first call.
func Train() (*data.Set, error) { return train() }

// Test returns the 10,000 test images of 28 x 28 pixels. They are decoded once,
// at the first call.
func Test() (*data.Set, error) { return test() }

var (
	train = sync.OnceValues(func() (*data.Set, error) { return load("train") })
	test  = sync.OnceValues(func() (*data.Set, error) { return load("t10k") })
)

func load(prefix string) (*data.Set, error) {
	images, err := read(prefix + "-images-idx3-ubyte.gz")
	if err != nil {
		return nil, err
	}
	labels, err := read(prefix + "-labels-idx1-ubyte.gz")
	if err != nil {
		return nil, err
	}
	return data.NewSet(images, labels, data.SetOptions{Classes: Classes, Mean: Mean, Std: Std})
}

func read(name string) (*data.IDX, error) {
	f, err := files.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return data.ReadIDX(f, name)
}
