package upstreams

import "fmt"

// Name is a method of [memory.Upstream], Props excepted.
type Name int

// The names. The first nine are driver calls: they take memory or addresses,
// give them back, or change what lies where.
const (
	CallReserve Name = iota
	CallReleaseRange
	CallCreate
	CallRelease
	CallMap
	CallSetAccess
	CallUnmap
	CallAlloc
	CallFree
	CallMemInfo
	CallRecordEvent
	CallQueryEvent
	CallWaitEvent
	CallSyncEvent
	CallDestroyEvent

	// NumNames is how many names there are: they count from 0.
	NumNames

	driverCalls = CallFree + 1

	// AnyCall stands for whichever call comes.
	AnyCall Name = -1
)

// fields says which arguments and results a call has.
type fields uint8

const (
	hasPtr fields = 1 << iota
	hasSize
	hasPage
	hasStream
	hasEvent
	hasDone
	hasInfo
)

var names = [NumNames]struct {
	text string
	has  fields
}{
	CallReserve:      {"reserve", hasPtr | hasSize},
	CallReleaseRange: {"release range", hasPtr | hasSize},
	CallCreate:       {"create", hasPage | hasSize},
	CallRelease:      {"release", hasPage},
	CallMap:          {"map", hasPtr | hasSize | hasPage},
	CallSetAccess:    {"access", hasPtr | hasSize},
	CallUnmap:        {"unmap", hasPtr | hasSize},
	CallAlloc:        {"alloc", hasPtr | hasSize},
	CallFree:         {"free", hasPtr | hasSize},
	CallMemInfo:      {"memory info", hasInfo},
	CallRecordEvent:  {"record", hasStream | hasEvent},
	CallQueryEvent:   {"query", hasEvent | hasDone},
	CallWaitEvent:    {"wait", hasStream | hasEvent},
	CallSyncEvent:    {"sync", hasEvent},
	CallDestroyEvent: {"destroy", hasEvent},
}

func (n Name) known() bool { return n >= 0 && n < NumNames }

func (n Name) has(f fields) bool { return names[n].has&f != 0 }

func (n Name) String() string {
	switch {
	case n.known():
		return names[n].text
	case n == AnyCall:
		return "any call"
	}
	return fmt.Sprintf("call %d", int(n))
}

// MarshalText writes the name as String does.
func (n Name) MarshalText() ([]byte, error) {
	if !n.known() {
		return nil, fmt.Errorf("upstreams: there is no call %d", int(n))
	}
	return []byte(names[n].text), nil
}

// UnmarshalText reads what MarshalText writes.
func (n *Name) UnmarshalText(text []byte) error {
	for i := range names {
		if names[i].text == string(text) {
			*n = Name(i)
			return nil
		}
	}
	return fmt.Errorf("upstreams: there is no call %q", text)
}
