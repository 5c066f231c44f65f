package data

import "fmt"

// FormatError says which byte of which file cannot be used, and why.
type FormatError struct {
	File   string // the name given to ReadIDX
	Offset int64  // of the first byte that is wrong or missing, after decompression
	Msg    string
	Err    error // what reading said; nil where the bytes were read and are wrong
}

func (e *FormatError) Error() string {
	s := fmt.Sprintf("data: %s: byte %d: %s", e.File, e.Offset, e.Msg)
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	return s
}

// Unwrap returns what reading said.
func (e *FormatError) Unwrap() error { return e.Err }

// ArgumentError says which argument of a call has a value that it cannot have.
type ArgumentError struct {
	Name  string
	Value any
	Want  string
}

func (e *ArgumentError) Error() string {
	return fmt.Sprintf("data: %s is %v, want %s", e.Name, e.Value, e.Want)
}
