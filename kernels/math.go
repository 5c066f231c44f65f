package kernels

import "math"

// BiasCorrection returns 1-beta^step, by which AdamW divides a moment that began
// at 0: within a few units of the last place also where the power is near 1.
// beta is in [0,1) and step at least 1.
func BiasCorrection(beta float64, step int64) float64 {
	return -math.Expm1(float64(step) * math.Log(beta))
}
