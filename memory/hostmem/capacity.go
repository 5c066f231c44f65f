package hostmem

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strconv"
	"strings"
)

// share is how much of the machine the default capacity takes, in percent: Go's
// own heap, a data set in memory and the system need the rest.
const share = 80

func defaultCapacity() (int64, error) {
	total, err := machineMemory()
	if err != nil {
		return 0, fmt.Errorf("%w (%w)", ErrNoDefault, err)
	}
	if total <= 0 {
		return 0, fmt.Errorf("%w (the machine reports %d bytes)", ErrNoDefault, total)
	}
	return total/100*share + total%100*share/100, nil
}

// linuxMemory returns the smaller of the machine's memory and the limits of
// the process's control groups. fsys is the root of the file system.
func linuxMemory(fsys fs.FS) (int64, error) {
	text, err := fs.ReadFile(fsys, "proc/meminfo")
	if err != nil {
		return 0, err
	}
	total, err := parseMemTotal(string(text))
	if err != nil {
		return 0, err
	}
	text, err = fs.ReadFile(fsys, "proc/self/cgroup")
	if err != nil {
		return total, nil // no /proc/self/cgroup: a kernel without control groups
	}
	for _, g := range parseCgroups(string(text)) {
		limit, found, err := g.limit(fsys)
		if err != nil {
			return 0, err
		}
		if found {
			total = min(total, limit)
		}
	}
	return total, nil
}

// parseMemTotal reads the line "MemTotal:  24684092 kB" of /proc/meminfo.
func parseMemTotal(text string) (int64, error) {
	for line := range strings.Lines(text) {
		value, ok := strings.CutPrefix(line, "MemTotal:")
		if !ok {
			continue
		}
		number, unit, _ := strings.Cut(strings.TrimSpace(value), " ")
		kib, err := strconv.ParseInt(number, 10, 53) // 10 bits are left for << 10
		if err != nil || kib < 0 || unit != "kB" {
			return 0, fmt.Errorf("/proc/meminfo: bad line %q", strings.TrimSpace(line))
		}
		return kib << 10, nil
	}
	return 0, errors.New("/proc/meminfo: no line MemTotal")
}

// cgroup is the control group that limits the process's memory, in one of the
// hierarchies.
type cgroup struct {
	mounts []string // where the hierarchy may be mounted, relative to the root
	path   string   // below the mount, absolute and clean
	file   string   // that holds the limit
}

// parseCgroups reads /proc/self/cgroup, whose lines are
// "hierarchy:controllers:path". The unified hierarchy (version 2) has number 0
// and no controllers; in version 1 one line names the controller "memory".
func parseCgroups(text string) []cgroup {
	var groups []cgroup
	for line := range strings.Lines(text) {
		parts := strings.SplitN(strings.TrimRight(line, "\n"), ":", 3)
		if len(parts) != 3 {
			continue
		}
		// A process outside its namespace's root sees "/../x".
		g := cgroup{path: path.Clean("/" + parts[2])}
		switch {
		case parts[0] == "0" && parts[1] == "":
			g.mounts = []string{"sys/fs/cgroup", "sys/fs/cgroup/unified"}
			g.file = "memory.max"
		case strings.Contains(","+parts[1]+",", ",memory,"):
			g.mounts = []string{"sys/fs/cgroup/memory"}
			g.file = "memory.limit_in_bytes"
		default:
			continue
		}
		groups = append(groups, g)
	}
	return groups
}

// limit returns the smallest limit of the group and of all groups above it. A
// directory that is missing is passed over: a container often sees its own
// group as the root of the mount, under a path that only the host has.
func (g cgroup) limit(fsys fs.FS) (limit int64, found bool, err error) {
	for _, mount := range g.mounts {
		for dir := g.path; ; dir = path.Dir(dir) {
			name := path.Join(mount, dir, g.file)
			if text, err := fs.ReadFile(fsys, name); err == nil {
				n, limited, err := parseLimit(string(text))
				if err != nil {
					return 0, false, fmt.Errorf("/%s: %w", name, err)
				}
				if limited && (!found || n < limit) {
					limit, found = n, true
				}
			}
			if dir == "/" {
				break
			}
		}
	}
	return limit, found, nil
}

// parseLimit reads a limit file: a number of bytes, or "max" for none. Version
// 1 writes "none" as a number above any machine's memory.
func parseLimit(text string) (limit int64, limited bool, err error) {
	text = strings.TrimSpace(text)
	if text == "max" {
		return 0, false, nil
	}
	limit, err = strconv.ParseInt(text, 10, 64)
	if err != nil || limit < 0 {
		return 0, false, fmt.Errorf("bad limit %q", text)
	}
	return limit, true, nil
}
