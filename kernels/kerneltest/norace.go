//go:build !race

package kerneltest

const raceDetector = false
