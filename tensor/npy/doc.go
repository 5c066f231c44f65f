// Package npy reads and writes tensors in NumPy's file formats: .npy, one
// array, and .npz, a zip archive of them.
//
//	Read, ReadFile, Write, WriteFile              one array
//	ReadZip, ReadZipFile, WriteZip, WriteZipFile  named arrays, in order
//
// Versions 1, 2 and 3 are read, both byte orders, row-major and Fortran order;
// what is written is version 1, little-endian and row-major, byte for byte as
// NumPy writes it, whatever the strides of the tensor.
//
// # Types
//
// Where tensors have not the type of the file, the values are converted if none
// of them can change: int8, int16 and uint16 to int32, uint32 to int64. All others
// are refused by name: uint64, longdouble, complex, objects (which would be code
// to run), text, dates, structures, and raw bytes.
//
// NumPy has no bfloat16. Writing one is [tensor.ErrDType]; float32 has all its
// values. What other libraries write it as, two raw bytes an element that are
// called V2, is refused since it may be anything.
//
// # Files that lie
//
// A header is only believed as far as its bytes are there: no memory is taken
// for elements before the file is known to hold them, and where that cannot be
// known the memory grows as they come. Every refusal is an [*Error] and names
// the byte. [ReadZip] says what it refuses of archives.
package npy
