//go:build !cgo

package shim

// Table is the driver's functions; this build has none, and no way to fill
// it. All calls say that the function is missing.
type Table struct{}

// Feature returns nothing.
func (*Table) Feature(Entry) string { return "" }

// Missing returns nothing.
func (*Table) Missing() []string { return nil }

// Call calls nothing.
func (*Table) Call(e Entry, _ uintptr, _, _, _, _ uint64) Out { return none(e) }

// CopyWait copies nothing.
func (*Table) CopyWait(e Entry, _, _ uintptr, _ []byte, _ uintptr) Out { return none(e) }

// CopyPeer copies nothing.
func (*Table) CopyPeer(_, _, _, _, _ uintptr, _ int64, _ uintptr) Out { return none(CopyPeer) }

// CallHost calls nothing.
func (*Table) CallHost(_, _ uintptr, _ func()) Out { return none(HostFunction) }

// DeviceText finds nothing.
func (*Table) DeviceText(e Entry, _ int, _ []byte) Out { return none(e) }

// ModuleLoad loads nothing.
func (*Table) ModuleLoad(uintptr, []byte, []byte) Out { return none(ModuleLoad) }

// ModuleGetFunction finds nothing.
func (*Table) ModuleGetFunction(_, _ uintptr, _ string) Out { return none(ModuleGetFunction) }

// Launch launches nothing.
func (*Table) Launch(*Launch) Out { return none(LaunchKernel) }

// Address finds nothing.
func (*Table) Address(Entry) uintptr { return 0 }

// ErrorName returns "".
func (*Table) ErrorName(int32) string { return "" }

func none(e Entry) Out { return Out{Entry: e, Missing: true} }
