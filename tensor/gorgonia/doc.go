// Package gorgonia copies tensors to and from gorgonia.org/tensor.
//
// It stands apart so that nobody else pays for what gorgonia depends on.
// Storage is never shared: gorgonia knows neither streams nor when memory is in
// use, and has no way to give memory back.
//
// Views, transposed and column-major tensors are read by their strides here and
// not made dense by gorgonia, which loses the order of some.
package gorgonia
