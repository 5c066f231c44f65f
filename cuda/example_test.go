package cuda_test

import (
	"errors"
	"fmt"

	"tarn/cuda"
)

func ExampleOpen() {
	driver, err := cuda.Open()
	var load *cuda.LoadError
	var code *cuda.Error
	switch {
	case err == nil:
		fmt.Printf("CUDA %v with %d devices\n", driver.Version(), driver.Devices())
	case errors.As(err, &load):
		fmt.Printf("no driver: %s: %s\n", load.Library, load.Reason)
	case errors.As(err, &code):
		fmt.Printf("the driver refused: %s said %s\n", code.Op, code.Name)
	}
}

func ExampleCode() {
	fmt.Println(cuda.OutOfMemory)
	fmt.Println(cuda.OutOfMemory.Text())
	// Output:
	// CUDA_ERROR_OUT_OF_MEMORY
	// the device has not enough free memory
}
