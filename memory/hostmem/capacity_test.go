package hostmem

import (
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const (
	mib = 1 << 20
	gib = 1 << 30
)

const meminfo = `MemTotal:       24684092 kB
MemFree:        21252228 kB
MemAvailable:   24258036 kB
HugePages_Total:       0
`

const total int64 = 24684092 << 10 // MemTotal of meminfo

func TestParseMemTotal(t *testing.T) {
	n, err := parseMemTotal(meminfo)
	require.NoError(t, err)
	assert.Equal(t, total, n)

	for name, text := range map[string]string{
		"empty":     "",
		"no line":   "MemFree: 1 kB\n",
		"no number": "MemTotal: kB\n",
		"no unit":   "MemTotal: 1\n",
		"other":     "MemTotal: 1 MB\n",
		"negative":  "MemTotal: -1 kB\n",
		"overflow":  "MemTotal: 9007199254740993 kB\n",
	} {
		t.Run(name, func(t *testing.T) {
			_, err := parseMemTotal(text)
			assert.ErrorContains(t, err, "/proc/meminfo: ")
		})
	}
}

func TestParseLimit(t *testing.T) {
	for text, want := range map[string]struct {
		limit   int64
		limited bool
	}{
		"max\n":                 {0, false},
		"0\n":                   {0, true},
		"2147483648\n":          {2 * gib, true},
		"9223372036854771712\n": {9223372036854771712, true},
	} {
		limit, limited, err := parseLimit(text)
		require.NoError(t, err, text)
		assert.Equal(t, want.limit, limit, text)
		assert.Equal(t, want.limited, limited, text)
	}
	for _, text := range []string{"", "-1\n", "many\n", "18446744073709551615\n", "1 2\n"} {
		_, _, err := parseLimit(text)
		assert.ErrorContains(t, err, "bad limit", text)
	}
}

func TestParseCgroups(t *testing.T) {
	groups := parseCgroups("12:cpu,memory:/a:b/c\n11:memorystick:/x\nnonsense\n0::/../y\n")
	require.Len(t, groups, 2)
	assert.Equal(t, "/a:b/c", groups[0].path, "a path may hold colons")
	assert.Equal(t, "memory.limit_in_bytes", groups[0].file)
	assert.Equal(t, "/y", groups[1].path, "above the namespace is its root")
	assert.Equal(t, "memory.max", groups[1].file)
}

func TestLinuxMemory(t *testing.T) {
	tests := map[string]struct {
		cgroup string            // /proc/self/cgroup; "" is no such file
		limits map[string]string // below sys/fs/cgroup
		want   int64
	}{
		"no control groups": {"", nil, total},
		"unlimited":         {"0::/\n", map[string]string{"memory.max": "max\n"}, total},
		"version 2, own group": {
			"0::/user.slice/job.scope\n",
			map[string]string{"user.slice/job.scope/memory.max": "4294967296\n"},
			4 * gib,
		},
		"version 2, a group above is tighter": {
			"0::/a/b/c\n",
			map[string]string{"a/b/c/memory.max": "max\n", "a/b/memory.max": "2147483648\n", "a/memory.max": "1073741824\n"},
			gib,
		},
		"version 2, own group is tighter": {
			"0::/a/b\n",
			map[string]string{"a/b/memory.max": "536870912\n", "a/memory.max": "1073741824\n"},
			512 * mib,
		},
		"version 2, a neighbour's limit": {
			"0::/a\n",
			map[string]string{"b/memory.max": "1048576\n"},
			total,
		},
		"version 2 in a container": {"0::/\n", map[string]string{"memory.max": "1073741824\n"}, gib},
		"version 1": {
			"4:memory:/docker/f00\n0::/\n",
			map[string]string{
				"memory/docker/f00/memory.limit_in_bytes": "3221225472\n",
				"memory/memory.limit_in_bytes":            "9223372036854771712\n",
			},
			3 * gib,
		},
		"version 1, path of the host only": {
			"4:cpu,memory:/docker/f00\n",
			map[string]string{"memory/memory.limit_in_bytes": "3221225472\n"},
			3 * gib,
		},
		"hybrid, version 2 beside": {
			"4:cpu:/x\n0::/job\n",
			map[string]string{"unified/job/memory.max": "1073741824\n"},
			gib,
		},
		"limit above the machine": {"0::/\n", map[string]string{"memory.max": "1099511627776\n"}, total},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			root := fstest.MapFS{"proc/meminfo": {Data: []byte(meminfo)}}
			if test.cgroup != "" {
				root["proc/self/cgroup"] = &fstest.MapFile{Data: []byte(test.cgroup)}
			}
			for name, text := range test.limits {
				root["sys/fs/cgroup/"+name] = &fstest.MapFile{Data: []byte(text)}
			}
			got, err := linuxMemory(root)
			require.NoError(t, err)
			assert.Equal(t, test.want, got)
		})
	}
}

func TestLinuxMemoryErrors(t *testing.T) {
	_, err := linuxMemory(fstest.MapFS{})
	assert.ErrorContains(t, err, "proc/meminfo")

	_, err = linuxMemory(fstest.MapFS{
		"proc/meminfo":             {Data: []byte(meminfo)},
		"proc/self/cgroup":         {Data: []byte("0::/a\n")},
		"sys/fs/cgroup/memory.max": {Data: []byte("plenty\n")},
	})
	assert.ErrorContains(t, err, `/sys/fs/cgroup/memory.max: bad limit "plenty"`)
}

func TestDefaultCapacity(t *testing.T) {
	machine, err := machineMemory()
	if err != nil {
		_, err = New(Config{})
		require.ErrorIs(t, err, ErrNoDefault)
		return
	}
	u, err := New(Config{})
	require.NoError(t, err)
	free, total, err := u.MemInfo()
	require.NoError(t, err)
	assert.Equal(t, free, total)
	assert.InDelta(t, 0.8, float64(total)/float64(machine), 1e-6)
}
