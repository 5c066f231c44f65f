package kernels

import "math"

// ExpFloat returns e^x within 2 units of the last place. math.Exp on amd64 is
// +Inf from x = 709.44 on; e^x is not before 709.78.
func ExpFloat(x float64) float64 {
	if x > 700 {
		half := math.Exp(x / 2)
		return half * half
	}
	return math.Exp(x)
}

// LogFloat returns the natural logarithm of x within 2 units of the last place.
// math.Log on amd64 takes denormals for numbers just above 2^-1022.
func LogFloat(x float64) float64 {
	if x > 0 && x < 0x1p-1022 {
		return math.Log(x*0x1p54) - 54*math.Ln2
	}
	return math.Log(x)
}

// BiasCorrection returns 1-beta^step, by which AdamW divides a moment that began
// at 0: within a few units of the last place also where the power is near 1.
// beta is in [0,1) and step at least 1.
func BiasCorrection(beta float64, step int64) float64 {
	return -math.Expm1(float64(step) * math.Log(beta))
}
