// Package hostmem is the [memory.Upstream] of the CPU: segments off the Go
// heap, straight from the operating system.
//
// The garbage collector neither scans nor moves nor counts them, which is why
// they have a limit of their own. Linux promises more memory than it has and
// kills the process that touches too much of it, so no call here would ever
// fail; [Config.Capacity] is what makes the host a device of a known size that
// can be full.
//
// # Capacity
//
// The default is 80 % of the smaller of the machine's memory and the limits
// that the process was put under:
//
//   - Linux: MemTotal of /proc/meminfo, and the memory limit of the process's
//     own control group and of each group above it (versions 1 and 2, at their
//     customary mount points below /sys/fs/cgroup).
//   - Darwin: hw.memsize. Windows: ullTotalPhys of GlobalMemoryStatusEx.
//   - Elsewhere there is no default; [New] asks for a Capacity.
//
// The rest is for the Go heap, the stacks and whoever else lives there.
//
// # Giving back
//
// [Upstream.Free] unmaps, so a freed segment's pages are the system's at once.
// A segment that is partly in use cannot be freed; [Upstream.Discard] gives
// back the pages of a free run inside it, and keeps the addresses.
//
// # Events
//
// Work on the CPU is done when the call that asked for it returns: an event is
// done from the start. Events are still counted, so that a mistake in their
// use shows on the host as it would on a GPU.
package hostmem
