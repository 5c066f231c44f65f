//go:build race

package kerneltest

// raceDetector makes every memory access some ten times slower.
const raceDetector = true
