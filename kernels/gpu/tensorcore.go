package gpu

import (
	"fmt"
	"unsafe"

	"tarn/cuda"
	"tarn/kernels"
)

// TensorType is what tensor cores multiply; they add up in float32.
type TensorType uint8

// The element types of X and Y of a TensorProduct.
const (
	BF16 TensorType = iota // 16 bits, 8 of them significant
	F16                    // 16 bits, 11 of them significant
	TF32                   // float32 in memory, rounded to 11 significant bits
	numTensorTypes
)

// Size returns the bytes of an element.
func (t TensorType) Size() int64 {
	if t == TF32 {
		return 4
	}
	return 2
}

func productError(err error, format string, args ...any) error {
	return &kernels.Error{Op: kernels.MatMul, Err: err, Detail: fmt.Sprintf(format, args...)}
}

func (t TensorType) String() string {
	if t >= numTensorTypes {
		return fmt.Sprintf("TensorType(%d)", uint8(t))
	}
	return [...]string{"bf16", "f16", "tf32"}[t]
}

// Matrices is an operand of a TensorProduct. Strides are in elements; 0
// repeats what an input has.
type Matrices struct {
	Ptr             cuda.DevicePtr // of the first element of the first matrix
	Batch, Row, Col int64          // strides from one matrix, row, column to the next
}

// TensorProduct is Batch products Out = act(X Y + Bias) on tensor cores, with X
// of M by K, Y of K by N and the others of M by N. Any strides will do; what is
// dense along one dim, with a multiple of 16 bytes as the other strides and as
// the address, is fast. Out overlaps none of the others.
type TensorProduct struct {
	Type           TensorType
	M, N, K, Batch int64
	X, Y           Matrices
	Bias           Matrices // of float32; none if its Ptr is 0
	Out            Matrices // of float32, or of Type
	HalfOut        bool     // Out is of Type, which is BF16 or F16
	Activation     kernels.Activation
}

// tensorSide is the length of a tile, and what tensorThreads threads make.
const (
	tensorSide    = 128
	tensorThreads = 128
)

var (
	tensorModule = declare("tensorcore", 8)

	// tensorKernels are by type and by whether X and Y lie along K.
	tensorKernels = [numTensorTypes][2][2]kernel{
		tensorForms("bf16"), tensorForms("f16"), tensorForms("tf32"),
	}
)

func tensorForms(name string) [2][2]kernel {
	form := func(f string) kernel { return tensorModule.kernel("tensor_" + name + "_" + f) }
	return [2][2]kernel{{form("xx"), form("xk")}, {form("kx"), form("kk")}}
}

// tensorProduct is one call, as struct tensor_product in tensorcore.cu has it.
type tensorProduct struct {
	product
	xWide, yWide, halfOut, _ bool32
}

// HasTensorCores reports whether the device can do MatMulTensor: from compute
// capability 8.0 on.
func (k *Kernels) HasTensorCores() bool { return k.has(tensorModule) }

// MatMulTensor queues a product. The error is a *kernels.Error for operands
// that do not fit and, wrapping ErrNoOp, for a device without HasTensorCores;
// the device's else. The order of the sum over K is the device's, and the same
// each time.
func (k *Kernels) MatMulTensor(q kernels.Queue, t *TensorProduct) error {
	if err := t.check(); err != nil {
		return err
	}
	if !k.HasTensorCores() {
		d := k.context.Device()
		return productError(kernels.ErrNoOp, "tensor cores need compute capability 8.0, %v has %d.%d", d, d.Major, d.Minor)
	}
	if t.M*t.N*t.Batch == 0 {
		return nil
	}
	p := t.product()
	sizes := elementSizes{t.Type.Size(), t.outSize(), 4}
	return p.inLaunches(t.Batch, maxBatch, sizes, func(n int64) error {
		return k.launchTensor(q.Stream(), tensorKernels[t.Type][p.xAlongK][p.yAlongK], &p, n)
	})
}

func (k *Kernels) launchTensor(s cuda.Stream, x kernel, p *tensorProduct, batch int64) error {
	l, err := k.prepare(x)
	if err != nil {
		return err
	}
	bytes := unsafe.Slice((*byte)(unsafe.Pointer(p)), unsafe.Sizeof(*p))
	return l.Bytes(bytes, 8).Run(s, cuda.Grid{
		Blocks:  [3]uint32{uint32(p.tilesM) * uint32(p.tilesN), 1, uint32(batch)},
		Threads: [3]uint32{tensorThreads},
	})
}

// product describes t to the kernel.
func (t *TensorProduct) product() tensorProduct {
	p := tensorProduct{product: product{
		x: uintptr(t.X.Ptr), y: uintptr(t.Y.Ptr), out: uintptr(t.Out.Ptr), bias: uintptr(t.Bias.Ptr),
		m: t.M, n: t.N, k: t.K,
		xm: t.X.Row, xk: t.X.Col, yk: t.Y.Row, yn: t.Y.Col,
		om: t.Out.Row, on: t.Out.Col, bm: t.Bias.Row, bn: t.Bias.Col,
		xbatch: t.X.Batch, ybatch: t.Y.Batch, obatch: t.Out.Batch, bbatch: t.Bias.Batch,
		rectify: toBool32(t.Activation == kernels.Rectify),
	}, halfOut: toBool32(t.HalfOut)}
	p.settle()
	width := 16 / t.Type.Size()
	xk, xwide := along(p.x, p.xm, p.xk, p.m, p.k, p.xbatch, width)
	yk, ywide := along(p.y, p.yn, p.yk, p.n, p.k, p.ybatch, width)
	p.xAlongK, p.xWide, p.yAlongK, p.yWide = toBool32(xk), toBool32(xwide), toBool32(yk), toBool32(ywide)
	p.tilesM, p.tilesN = int32(ceil(p.m, tensorSide)), int32(ceil(p.n, tensorSide))
	return p
}

func (t *TensorProduct) outSize() int64 {
	if t.HalfOut {
		return t.Type.Size()
	}
	return 4
}

func (t *TensorProduct) check() error {
	switch {
	case t.Type >= numTensorTypes:
		return productError(kernels.ErrDType, "%v", t.Type)
	case t.HalfOut && t.Type == TF32:
		return productError(kernels.ErrDType, "half output of %v", t.Type)
	case t.M < 0 || t.N < 0 || t.K < 0 || t.Batch < 0 || t.K > matmulMaxPart:
		return productError(kernels.ErrDims, "%d products of %d by %d sums over %d", t.Batch, t.M, t.N, t.K)
	case t.Activation > kernels.Rectify:
		return productError(kernels.ErrAttr, "activation %d is unknown", t.Activation)
	case t.M*t.N*t.Batch == 0:
		return nil
	case t.M > 1 && t.Out.Row == 0, t.N > 1 && t.Out.Col == 0, t.Batch > 1 && t.Out.Batch == 0:
		return productError(kernels.ErrOverlap, "out repeats an element: strides %d, %d, %d", t.Out.Batch, t.Out.Row, t.Out.Col)
	}
	for _, o := range []struct {
		name string
		ptr  cuda.DevicePtr
		size int64
		none bool
	}{
		{"x", t.X.Ptr, t.Type.Size(), t.K == 0}, {"y", t.Y.Ptr, t.Type.Size(), t.K == 0},
		{"out", t.Out.Ptr, t.outSize(), false}, {"bias", t.Bias.Ptr, 4, true},
	} {
		if o.ptr == 0 && !o.none || int64(o.ptr)%o.size != 0 {
			return productError(kernels.ErrAddress, "%s of %v at %#x", o.name, t.Type, uintptr(o.ptr))
		}
	}
	return nil
}
