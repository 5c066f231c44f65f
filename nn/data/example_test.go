package data_test

import (
	"bytes"
	"fmt"

	"tarn/nn/data"
)

func ExampleSet_Indices() {
	// Five images of one pixel, and their classes, as IDX files have them.
	images, err := data.ReadIDX(bytes.NewReader([]byte{0, 0, 8, 3, 0, 0, 0, 5, 0, 0, 0, 1, 0, 0, 0, 1,
		0, 51, 102, 153, 255}), "images")
	if err != nil {
		fmt.Println(err)
		return
	}
	labels, err := data.ReadIDX(bytes.NewReader([]byte{0, 0, 8, 1, 0, 0, 0, 5,
		0, 1, 0, 1, 1}), "labels")
	if err != nil {
		fmt.Println(err)
		return
	}
	set, err := data.NewSet(images, labels, data.SetOptions{Classes: 2})
	if err != nil {
		fmt.Println(err)
		return
	}
	for batch, err := range set.Indices(data.BatchOptions{Size: 2, Shuffle: true, Seed: 1}) {
		if err != nil {
			fmt.Println(err)
			return
		}
		pixels, classes := make([]float32, len(batch)), make([]int64, len(batch))
		set.Gather(pixels, classes, batch)
		fmt.Println(batch, pixels, classes)
	}
	// Output:
	// [1 3] [0.2 0.6] [1 1]
	// [4 0] [1 0] [1 0]
	// [2] [0.4] [0]
}

func ExampleReadIDX() {
	_, err := data.ReadIDX(bytes.NewReader([]byte{0, 0, 8, 1, 0, 0, 0, 5, 0, 1}), "labels")
	fmt.Println(err)
	// Output: data: labels: byte 10: the file ends after 2 of 5 elements: unexpected EOF
}
