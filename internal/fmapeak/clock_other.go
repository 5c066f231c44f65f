//go:build !linux

package fmapeak

import "time"

// threadTime is nil: only Linux tells.
var threadTime func() time.Duration
