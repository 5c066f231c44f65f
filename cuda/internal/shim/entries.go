package shim

// Entry numbers the functions of the table, in the order of shim.h.
type Entry int

// The functions, named as the driver names them without cu, or shorter.
const (
	Init Entry = iota
	DriverGetVersion
	GetErrorName
	DeviceGetCount
	DeviceGet
	DeviceGetName
	DeviceGetUUID
	DeviceTotalMem
	DeviceGetAttribute
	PrimaryRetain
	PrimaryRelease
	SetCurrent
	Synchronize
	PriorityRange
	StreamCreate
	StreamDestroy
	StreamSynchronize
	StreamQuery
	StreamWaitEvent
	EventCreate
	EventRecord
	EventQuery
	EventSynchronize
	EventDestroy
	MemGetInfo
	MemAlloc
	MemFree
	CopyIn
	CopyOut
	Copy
	Fill8
	Fill32
	HostAlloc
	HostFree
	Granularity
	Reserve
	ReleaseRange
	Create
	Release
	Map
	Unmap
	SetAccess
	ModuleLoad
	ModuleUnload
	ModuleGetFunction
	FunctionSetAttribute
	FunctionGetAttribute
	EventElapsed
	HostFunction
	BeginCapture
	EndCapture
	IsCapturing
	GraphNodes
	GraphDestroy
	GraphInstantiate
	GraphLaunch
	ExecDestroy
	ExecUpdate
	CanAccessPeer
	EnablePeer
	DisablePeer
	CopyPeer
	DefaultPool
	PoolSetAttribute
	PoolGetAttribute
	PoolTrim
	AllocAsync
	FreeAsync
	LaunchKernel
)

// ops are the names in the driver's documentation: without the versions that
// the symbols have.
var ops = [...]string{
	"cuInit", "cuDriverGetVersion", "cuGetErrorName",
	"cuDeviceGetCount", "cuDeviceGet", "cuDeviceGetName", "cuDeviceGetUuid", "cuDeviceTotalMem", "cuDeviceGetAttribute",
	"cuDevicePrimaryCtxRetain", "cuDevicePrimaryCtxRelease", "cuCtxSetCurrent", "cuCtxSynchronize",
	"cuCtxGetStreamPriorityRange", "cuStreamCreateWithPriority", "cuStreamDestroy", "cuStreamSynchronize",
	"cuStreamQuery", "cuStreamWaitEvent",
	"cuEventCreate", "cuEventRecord", "cuEventQuery", "cuEventSynchronize", "cuEventDestroy",
	"cuMemGetInfo", "cuMemAlloc", "cuMemFree", "cuMemcpyHtoDAsync", "cuMemcpyDtoHAsync", "cuMemcpyDtoDAsync",
	"cuMemsetD8Async", "cuMemsetD32Async", "cuMemHostAlloc", "cuMemFreeHost",
	"cuMemGetAllocationGranularity", "cuMemAddressReserve", "cuMemAddressFree", "cuMemCreate", "cuMemRelease",
	"cuMemMap", "cuMemUnmap", "cuMemSetAccess",
	"cuModuleLoadDataEx", "cuModuleUnload", "cuModuleGetFunction", "cuFuncSetAttribute", "cuFuncGetAttribute",
	"cuEventElapsedTime", "cuLaunchHostFunc",
	"cuStreamBeginCapture", "cuStreamEndCapture", "cuStreamIsCapturing", "cuGraphGetNodes", "cuGraphDestroy",
	"cuGraphInstantiateWithFlags", "cuGraphLaunch", "cuGraphExecDestroy", "cuGraphExecUpdate",
	"cuDeviceCanAccessPeer", "cuCtxEnablePeerAccess", "cuCtxDisablePeerAccess", "cuMemcpyPeerAsync",
	"cuDeviceGetDefaultMemPool", "cuMemPoolSetAttribute", "cuMemPoolGetAttribute", "cuMemPoolTrimTo",
	"cuMemAllocAsync", "cuMemFreeAsync", "cuLaunchKernel",
}

// Op returns the driver's name of the function.
func (e Entry) Op() string { return ops[e] }

// Out is what a call came to: struct tarn_out.
type Out struct {
	Value, More uint64 // what the function put out; numbers with a sign are extended
	Code        int32
	Entry       Entry // whose code it is, of a call that takes several steps
	Missing     bool  // the driver has no such function; Code is 0
}

// OK reports whether the call was made and succeeded.
func (o *Out) OK() bool { return o.Code == 0 && !o.Missing }

// MaxArgs is how many bytes the arguments of a launch can take: the driver's
// limit before CUDA 12.1.
const MaxArgs = 4096

// Launch is struct tarn_launch: a kernel's arguments and where it runs. It has
// no pointers, so that C may read it where it lies.
type Launch struct {
	Context, Function, Stream uint64
	Grid, Block               [3]uint32
	Shared, Size              uint32 // bytes of dynamic shared memory, of Args in use
	Args                      [MaxArgs]byte
}
