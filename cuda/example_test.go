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

func ExampleContext() {
	driver, err := cuda.Open()
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := double(driver, []byte{0, 0, 128, 63}); err != nil {
		fmt.Println(err)
	}
}

// double takes floats to the device, has them doubled, and brings them back.
func double(driver *cuda.Library, floats []byte) (err error) {
	device, err := driver.Device(0)
	if err != nil {
		return err
	}
	c, err := device.Open()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	m, err := c.Load(doublePTX)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, m.Unload()) }()
	f, err := m.Function("double")
	if err != nil {
		return err
	}
	p, err := c.Alloc(int64(len(floats)))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.Free(p)) }()
	if err := c.Upload(0, p, floats); err != nil {
		return err
	}
	shape := cuda.Grid{Blocks: [3]uint32{uint32(len(floats) / 4)}, Threads: [3]uint32{1}}
	if err := f.Prepare().Ptr(p).Run(0, shape); err != nil {
		return err
	}
	return c.Download(0, floats, p)
}

const doublePTX = `.version 7.0
.target sm_75
.address_size 64
.visible .entry double(.param .u64 at)
{
	.reg .b32 %i;
	.reg .f32 %v;
	.reg .b64 %p, %o;
	ld.param.u64 %p, [at];
	cvta.to.global.u64 %p, %p;
	mov.u32 %i, %ctaid.x;
	mul.wide.u32 %o, %i, 4;
	add.s64 %p, %p, %o;
	ld.global.f32 %v, [%p];
	add.f32 %v, %v, %v;
	st.global.f32 [%p], %v;
	ret;
}
`
