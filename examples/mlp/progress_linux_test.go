package main

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// terminal opens a pseudo terminal of the given width: what is written to the
// second file is read from the first.
func terminal(t *testing.T, width uint16) (screen, tty *os.File) {
	t.Helper()
	screen, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skipf("this system has no pseudo terminals: %v", err)
	}
	t.Cleanup(func() { screen.Close() })
	require.NoError(t, unix.IoctlSetPointerInt(int(screen.Fd()), unix.TIOCSPTLCK, 0))
	n, err := unix.IoctlGetInt(int(screen.Fd()), unix.TIOCGPTN)
	require.NoError(t, err)
	tty, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("this system's pseudo terminals cannot be opened: %v", err)
	}
	require.NoError(t, unix.IoctlSetWinsize(int(tty.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: width}))
	return screen, tty
}

// read returns what stands on the screen once the program's side is closed;
// Linux reports that as an I/O error.
func read(t *testing.T, screen *os.File) string {
	t.Helper()
	var all strings.Builder
	buf := make([]byte, 4096)
	for {
		n, err := screen.Read(buf)
		all.Write(buf[:n])
		if err != nil {
			require.True(t, errors.Is(err, syscall.EIO), err)
			return all.String()
		}
	}
}

func TestProgressOnATerminal(t *testing.T) {
	for _, width := range []uint16{120, 60} {
		screen, tty := terminal(t, width)
		p := newProgress(tty, "epoch 1/8", 100)
		require.NotNil(t, p)
		advance(p, 100)
		require.NoError(t, tty.Close())
		got := read(t, screen)

		require.Contains(t, got, "epoch 1/8")
		require.NotContains(t, got, "\n", "the bar stays in its line")
		lines := strings.Split(got, "\r")
		for _, line := range lines {
			require.LessOrEqual(t, len([]rune(line)), int(width), "%q wraps", line)
		}
		require.Empty(t, lines[len(lines)-1], "the line is left free")
		require.Empty(t, strings.TrimSpace(lines[len(lines)-2]), "the bar is taken away")
	}
}

func TestProgressOfNoSteps(t *testing.T) {
	screen, tty := terminal(t, 80)
	advance(newProgress(tty, "epoch 1/8", 0), 0)
	require.NoError(t, tty.Close())
	require.Empty(t, read(t, screen))
}
