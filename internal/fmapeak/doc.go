// Package fmapeak measures how many floating-point operations one core can do
// in a second, and how many bytes it can move, so that benchmarks can say how
// much of it they reach. Machines differ, and a shared one differs from minute
// to minute: a ratio taken within one run holds up where an absolute figure
// does not.
package fmapeak
