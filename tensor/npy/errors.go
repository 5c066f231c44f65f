package npy

import (
	"fmt"
	"strconv"
)

// Error says which byte cannot be read as an array, and why. What the tensor
// package refuses, such as too little memory, is returned as its own errors.
type Error struct {
	Name   string // of the file or of the archive's entry; empty for a reader or a whole archive
	Offset int64  // of the first wrong or missing byte in what Name says, after unpacking; -1: not known
	What   string
	Err    error // what reading said; nil where the bytes were read and are wrong
}

func (e *Error) Error() string {
	s := "npy: "
	if e.Name != "" {
		s += printable(e.Name) + ": "
	}
	if e.Offset >= 0 {
		s += fmt.Sprintf("byte %d: ", e.Offset)
	}
	s += e.What
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	return s
}

// Unwrap returns what reading said.
func (e *Error) Unwrap() error { return e.Err }

// printable is a name from a file as a terminal can bear it.
func printable(name string) string {
	if q := strconv.Quote(name); q != `"`+name+`"` {
		return q
	}
	return name
}
