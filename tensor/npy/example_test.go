package npy_test

import (
	"bytes"
	"fmt"

	"tarn/tensor"
	"tarn/tensor/npy"
)

// An archive that numpy.load reads.
func Example() {
	dev := tensor.CPU()
	w := tensor.FromSlice(dev, []float32{1, 2, 3, 4, 5, 6}, 2, 3)
	var file bytes.Buffer
	err := npy.WriteZip(&file, npy.Deflated, npy.Named{Name: "w", Tensor: w}, npy.Named{Name: "w.T", Tensor: w.T()})
	if err != nil {
		fmt.Println(err)
		return
	}
	arrays, err := npy.ReadZip(bytes.NewReader(file.Bytes()), int64(file.Len()), dev)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, a := range arrays {
		data, err := tensor.Data[float32](a.Tensor)
		fmt.Println(a.Name, a.Tensor.Shape(), data, err)
	}
	// Output:
	// w [2, 3] [1 2 3 4 5 6] <nil>
	// w.T [3, 2] [1 4 2 5 3 6] <nil>
}

// A header that promises more than the file has.
func ExampleError() {
	lie := "\x93NUMPY\x01\x00\x45\x00{'descr': '<f8', 'fortran_order': False, 'shape': (1000000, 1000000)}"
	_, err := npy.Read(bytes.NewReader([]byte(lie)), tensor.CPU())
	fmt.Println(err)
	// Output:
	// npy: byte 79: cannot read the elements: unexpected EOF
}
