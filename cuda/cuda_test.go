package cuda

import (
	"errors"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
)

// Whatever the machine has, Open says one of two things, and says it again.
func TestOpenIsSettled(t *testing.T) {
	l, err := Open()
	again, errAgain := Open()
	require.Same(t, l, again)
	require.Equal(t, err, errAgain)
	require.Equal(t, err, Probe())
	if err != nil {
		require.Nil(t, l)
		var load *LoadError
		var code *Error
		require.True(t, errors.As(err, &load) || errors.As(err, &code), "%T: %v", err, err)
		return
	}
	require.GreaterOrEqual(t, l.Devices(), 1)
}

func TestVersionString(t *testing.T) {
	for v, want := range map[Version]string{0: "0.0", 11040: "11.4", 12080: "12.8", 13000: "13.0", 12100: "12.10"} {
		require.Equal(t, want, v.String())
	}
}

func TestCodes(t *testing.T) {
	seen := map[string]Code{}
	form := regexp.MustCompile(`^CUDA_(SUCCESS|ERROR_[A-Z_]+)$`)
	for c, entry := range codes {
		require.Regexp(t, form, entry.name)
		require.NotEmpty(t, entry.text, entry.name)
		other, twice := seen[entry.name]
		require.False(t, twice, "%s is both %d and %d", entry.name, c, other)
		seen[entry.name] = c
		require.Equal(t, entry.name, c.String())
	}
	require.Equal(t, "CUresult(4711)", Code(4711).String())
	require.Empty(t, Code(4711).Text())
}

// These are the codes after which a program has to be started again, by the
// driver's documentation.
func TestStickyCodes(t *testing.T) {
	for _, c := range []Code{226, 700, 702, 710, 714, 715, 716, 717, 718, 719, 721, 810, 911} {
		require.True(t, c.Sticky(), c)
	}
	for _, c := range []Code{Success, InvalidValue, OutOfMemory, 218, InvalidHandle, NotReady, 701, PeerEnabled, 720, 807, CaptureInvalidated} {
		require.False(t, c.Sticky(), c)
	}
}

func TestErrorTexts(t *testing.T) {
	for want, err := range map[string]error{
		"cuda: cuInit: CUDA_ERROR_NO_DEVICE (100): the driver sees no device": &Error{
			Op: "cuInit", Code: NoDevice, Name: NoDevice.String()},
		"cuda: cuInit: CUresult(4711) (4711)": &Error{Op: "cuInit", Code: 4711, Name: Code(4711).String()},
		"cuda: cannot use libcuda.so.1: not today": &LoadError{
			Library: "libcuda.so.1", Reason: "not today"},
	} {
		require.EqualError(t, err, want)
	}
}
