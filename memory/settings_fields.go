package memory

import (
	"errors"
	"fmt"
	"math"
	"strconv"
)

// settingField is the value of a key in some Settings. Its default is the zero
// value, which is printed as nothing.
type settingField interface {
	// read sets the field. If it cannot, it says why and at which place.
	read(v settingValue) (at textSpan, reason string)
	// text is the value as read takes it, "" for the default.
	text() string
	// check says why the value is out of its range, "" if it is not.
	check() string
}

const (
	mebi               = 1 << 20
	gibi               = 1 << 30
	maxRegisterThreads = 128
)

// sizeField is a size, in the text a number of MiB.
type sizeField struct {
	bytes *int64
	least int64
	of    string // explains least
}

func (f sizeField) read(v settingValue) (textSpan, string) {
	n, err := strconv.ParseUint(v.word, 10, 64)
	switch {
	case err != nil && !errors.Is(err, strconv.ErrRange):
		return v.textSpan, "must be a whole number of MiB"
	case n == 0:
		return v.textSpan, f.tooSmall()
	}
	// The rest of the range is left to check, but must not overflow here.
	*f.bytes = int64(min(n, 2*maxRequest/mebi)) * mebi
	return textSpan{}, ""
}

func (f sizeField) text() string {
	if *f.bytes == 0 {
		return ""
	}
	return strconv.FormatInt(*f.bytes/mebi, 10)
}

func (f sizeField) check() string {
	switch n := *f.bytes; {
	case n == 0:
		return ""
	case n < f.least:
		return f.tooSmall()
	case n > maxRequest:
		return fmt.Sprintf("must be at most %d", int64(maxRequest/mebi))
	case n%mebi != 0:
		return fmt.Sprintf("%d bytes are not whole MiB", n)
	}
	return ""
}

func (f sizeField) tooSmall() string {
	return fmt.Sprintf("must be at least %d%s", (f.least+mebi-1)/mebi, f.of)
}

// flagField is True or False.
type flagField struct{ on *bool }

func (f flagField) read(v settingValue) (textSpan, string) {
	*f.on = v.word == "True"
	if !*f.on && v.word != "False" {
		return v.textSpan, "must be True or False"
	}
	return textSpan{}, ""
}

func (f flagField) text() string {
	if *f.on {
		return "True"
	}
	return ""
}

func (f flagField) check() string { return "" }

// expandableField is a flag with a default that is neither.
type expandableField struct{ e *Expandable }

func (f expandableField) read(v settingValue) (textSpan, string) {
	var on bool
	at, reason := flagField{&on}.read(v)
	switch {
	case on:
		*f.e = ExpandableOn
	case reason == "":
		*f.e = ExpandableOff
	}
	return at, reason
}

func (f expandableField) text() string {
	switch *f.e {
	case ExpandableAuto:
		return ""
	case ExpandableOn:
		return "True"
	case ExpandableOff:
		return "False"
	}
	return strconv.Itoa(int(*f.e))
}

func (f expandableField) check() string {
	if *f.e > ExpandableOff {
		return "must be ExpandableAuto, ExpandableOn or ExpandableOff"
	}
	return ""
}

// backendField is the name of a backend.
type backendField struct{ name *string }

const asyncBackend = "cudaMallocAsync"

func (f backendField) read(v settingValue) (textSpan, string) {
	*f.name = v.word
	if v.word == "hipMallocAsync" {
		*f.name = asyncBackend
	}
	return v.textSpan, f.check()
}

func (f backendField) text() string { return *f.name }

func (f backendField) check() string {
	switch *f.name {
	case "", "native", asyncBackend:
		return ""
	}
	return "must be native or " + asyncBackend
}

// thresholdField is a number between 0 and 1.
type thresholdField struct{ share *float64 }

func (f thresholdField) read(v settingValue) (textSpan, string) {
	var err error
	if *f.share, err = strconv.ParseFloat(v.word, 64); err != nil || *f.share == 0 {
		return v.textSpan, outOfThreshold
	}
	return v.textSpan, f.check()
}

const outOfThreshold = "must be a number more than 0 and less than 1"

func (f thresholdField) text() string { return formatFloat(*f.share) }

func (f thresholdField) check() string {
	if *f.share == 0 || *f.share > 0 && *f.share < 1 {
		return ""
	}
	return outOfThreshold
}

// fractionField is a number from 0 to 1, where 0 is not the default.
type fractionField struct{ share *float64 }

func (f fractionField) read(v settingValue) (textSpan, string) {
	share, err := strconv.ParseFloat(v.word, 64)
	if err != nil || !(share >= 0 && share <= 1) {
		return v.textSpan, "must be a number from 0 to 1"
	}
	if *f.share = share; share == 0 {
		*f.share = NoMemory
	}
	return textSpan{}, ""
}

func (f fractionField) text() string {
	if *f.share == NoMemory {
		return "0"
	}
	return formatFloat(*f.share)
}

func (f fractionField) check() string {
	if *f.share == NoMemory || *f.share >= 0 && *f.share <= 1 {
		return ""
	}
	return "must be a number from 0 to 1"
}

// threadsField is a number of threads.
type threadsField struct{ n *int }

func (f threadsField) read(v settingValue) (textSpan, string) {
	var err error
	if *f.n, err = strconv.Atoi(v.word); err != nil || *f.n == 0 {
		return v.textSpan, outOfThreads
	}
	return v.textSpan, f.check()
}

var outOfThreads = fmt.Sprintf("must be a power of two, at most %d", maxRegisterThreads)

func (f threadsField) text() string {
	if *f.n == 0 {
		return ""
	}
	return strconv.Itoa(*f.n)
}

func (f threadsField) check() string {
	if *f.n < 0 || *f.n > maxRegisterThreads || *f.n&(*f.n-1) != 0 {
		return outOfThreads
	}
	return ""
}

// reserveField is a fraction of the device's memory, or a number of GiB with a
// G after it.
type reserveField struct{ r *Reserve }

func (f reserveField) read(v settingValue) (textSpan, string) {
	const reason = "must be a fraction of the device's memory, such as 0.5, or GiB, such as 40G; passed over"
	word := v.word
	gib := word != "" && word[len(word)-1]|0x20 == 'g'
	if gib {
		word = word[:len(word)-1]
	}
	n, err := strconv.ParseFloat(word, 64)
	if err != nil || !finite(n) || n <= 0 || gib && n*gibi < 1 {
		return v.textSpan, reason
	}
	switch {
	case !gib:
		*f.r = Reserve{Fraction: n}
	case n*gibi >= math.MaxInt64:
		*f.r = Reserve{Bytes: math.MaxInt64}
	default:
		*f.r = Reserve{Bytes: int64(n * gibi)}
	}
	return textSpan{}, ""
}

func (f reserveField) text() string {
	if f.r.Bytes != 0 {
		return formatFloat(float64(f.r.Bytes)/gibi) + "G"
	}
	return formatFloat(f.r.Fraction)
}

func (f reserveField) check() string {
	switch {
	case f.r.Bytes < 0 || f.r.Fraction < 0 || !finite(f.r.Fraction):
		return "must be positive"
	case f.r.Bytes > 0 && f.r.Fraction > 0:
		return "must be a fraction or a number of bytes, not both"
	}
	return ""
}

// formatFloat prints f as shortly as it reads back, and 0 as nothing.
func formatFloat(f float64) string {
	if f == 0 {
		return ""
	}
	return strconv.FormatFloat(f, 'g', -1, 64)
}
