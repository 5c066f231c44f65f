package cuda

import "fmt"

// Code is the result of a driver call, CUresult in the driver's own words.
type Code int32

// The codes that Tarn itself tells apart.
const (
	Success            Code = 0
	InvalidValue       Code = 1
	OutOfMemory        Code = 2
	NoDevice           Code = 100
	InvalidHandle      Code = 400
	NotReady           Code = 600
	PeerEnabled        Code = 704 // access to the peer is on already
	NotSupported       Code = 801
	CaptureUnsupported Code = 900 // not possible while a stream is captured
	CaptureInvalidated Code = 901 // an earlier error has ended the capture
	UpdateFailure      Code = 910 // an executable graph cannot become that graph
)

// String returns the driver's name of the code.
func (c Code) String() string {
	if t, ok := codes[c]; ok {
		return t.name
	}
	return fmt.Sprintf("CUresult(%d)", int32(c))
}

// Text says what the code means, "" for a code that is not known here.
func (c Code) Text() string { return codes[c].text }

// Sticky reports whether the code means that the context is lost: the driver
// answers everything that comes after with the same code.
func (c Code) Sticky() bool {
	switch c {
	case 4, 214, 220, 226, 700, 702, 709, 710, 714, 715, 716, 717, 718, 719, 721, 810, 911:
		return true
	}
	return false
}

// codes is used on machines without a driver too, so the names cannot come
// from it. A test compares them with the driver's where there is one.
var codes = map[Code]struct{ name, text string }{
	Success:      {"CUDA_SUCCESS", "no error"},
	InvalidValue: {"CUDA_ERROR_INVALID_VALUE", "an argument is out of its range"},
	OutOfMemory:  {"CUDA_ERROR_OUT_OF_MEMORY", "the device has not enough free memory"},
	3:            {"CUDA_ERROR_NOT_INITIALIZED", "cuInit has not been called, or has failed"},
	4:            {"CUDA_ERROR_DEINITIALIZED", "the driver is shutting down"},
	34:           {"CUDA_ERROR_STUB_LIBRARY", "the library is a stub for linking, not a driver"},
	36:           {"CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER", "the driver is too old for this call"},
	46:           {"CUDA_ERROR_DEVICE_UNAVAILABLE", "the device is busy or in an exclusive mode"},
	NoDevice:     {"CUDA_ERROR_NO_DEVICE", "the driver sees no device"},
	101:          {"CUDA_ERROR_INVALID_DEVICE", "there is no device of this number"},
	102:          {"CUDA_ERROR_DEVICE_NOT_LICENSED", "the device has no licence for this use"},

	200: {"CUDA_ERROR_INVALID_IMAGE", "the module's image is not valid"},
	201: {"CUDA_ERROR_INVALID_CONTEXT", "the current context is not valid"},
	202: {"CUDA_ERROR_CONTEXT_ALREADY_CURRENT", "the context is current already"},
	205: {"CUDA_ERROR_MAP_FAILED", "mapping failed"},
	206: {"CUDA_ERROR_UNMAP_FAILED", "unmapping failed"},
	208: {"CUDA_ERROR_ALREADY_MAPPED", "the resource is mapped already"},
	209: {"CUDA_ERROR_NO_BINARY_FOR_GPU", "the module has no code for this device"},
	211: {"CUDA_ERROR_NOT_MAPPED", "the resource is not mapped"},
	214: {"CUDA_ERROR_ECC_UNCORRECTABLE", "memory error that could not be corrected"},
	215: {"CUDA_ERROR_UNSUPPORTED_LIMIT", "the device does not support this limit"},
	216: {"CUDA_ERROR_CONTEXT_ALREADY_IN_USE", "another thread uses the context"},
	217: {"CUDA_ERROR_PEER_ACCESS_UNSUPPORTED", "the devices cannot reach each other's memory"},
	218: {"CUDA_ERROR_INVALID_PTX", "the PTX does not compile"},
	219: {"CUDA_ERROR_INVALID_GRAPHICS_CONTEXT", "the graphics context is not valid"},
	220: {"CUDA_ERROR_NVLINK_UNCORRECTABLE", "NVLink error that could not be corrected"},
	221: {"CUDA_ERROR_JIT_COMPILER_NOT_FOUND", "the driver's PTX compiler was not found"},
	222: {"CUDA_ERROR_UNSUPPORTED_PTX_VERSION", "the PTX is newer than the driver"},
	223: {"CUDA_ERROR_JIT_COMPILATION_DISABLED", "compiling PTX is switched off"},

	226: {"CUDA_ERROR_CONTAINED", "memory error that was contained in this program"},

	300:           {"CUDA_ERROR_INVALID_SOURCE", "the kernel source is not valid"},
	301:           {"CUDA_ERROR_FILE_NOT_FOUND", "file not found"},
	302:           {"CUDA_ERROR_SHARED_OBJECT_SYMBOL_NOT_FOUND", "a shared library lacks a symbol"},
	303:           {"CUDA_ERROR_SHARED_OBJECT_INIT_FAILED", "a shared library failed to start"},
	304:           {"CUDA_ERROR_OPERATING_SYSTEM", "a call of the operating system failed"},
	InvalidHandle: {"CUDA_ERROR_INVALID_HANDLE", "the handle is not valid"},
	401:           {"CUDA_ERROR_ILLEGAL_STATE", "the resource is not in a state for this call"},
	500:           {"CUDA_ERROR_NOT_FOUND", "no such symbol"},

	NotReady:    {"CUDA_ERROR_NOT_READY", "the work is not done yet"},
	700:         {"CUDA_ERROR_ILLEGAL_ADDRESS", "a kernel touched memory that is not mapped"},
	701:         {"CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES", "the launch needs more registers or threads than there are"},
	702:         {"CUDA_ERROR_LAUNCH_TIMEOUT", "the kernel ran too long"},
	PeerEnabled: {"CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED", "peer access is on already"},
	705:         {"CUDA_ERROR_PEER_ACCESS_NOT_ENABLED", "peer access is off"},
	708:         {"CUDA_ERROR_PRIMARY_CONTEXT_ACTIVE", "the primary context is in use"},
	709:         {"CUDA_ERROR_CONTEXT_IS_DESTROYED", "the context is destroyed"},
	710:         {"CUDA_ERROR_ASSERT", "an assertion in a kernel failed"},
	711:         {"CUDA_ERROR_TOO_MANY_PEERS", "the device has access to as many others as it can"},
	712:         {"CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED", "the host memory is pinned already"},
	713:         {"CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED", "the host memory is not pinned"},
	714:         {"CUDA_ERROR_HARDWARE_STACK_ERROR", "a kernel overran its call stack"},
	715:         {"CUDA_ERROR_ILLEGAL_INSTRUCTION", "a kernel met an illegal instruction"},
	716:         {"CUDA_ERROR_MISALIGNED_ADDRESS", "a kernel used a misaligned address"},
	717:         {"CUDA_ERROR_INVALID_ADDRESS_SPACE", "a kernel used an address of the wrong space"},
	718:         {"CUDA_ERROR_INVALID_PC", "a kernel jumped out of its code"},
	719:         {"CUDA_ERROR_LAUNCH_FAILED", "a kernel failed"},
	720:         {"CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE", "the cooperative launch does not fit the device at once"},
	721:         {"CUDA_ERROR_TENSOR_MEMORY_LEAK", "a kernel left tensor memory behind"},

	800:          {"CUDA_ERROR_NOT_PERMITTED", "not permitted"},
	NotSupported: {"CUDA_ERROR_NOT_SUPPORTED", "not supported by this device or driver"},
	802:          {"CUDA_ERROR_SYSTEM_NOT_READY", "the system's services are not running yet"},
	803:          {"CUDA_ERROR_SYSTEM_DRIVER_MISMATCH", "the library and the kernel's driver are of different versions"},
	804:          {"CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE", "the compatibility library does not support this device"},

	805: {"CUDA_ERROR_MPS_CONNECTION_FAILED", "the MPS server cannot be reached"},
	806: {"CUDA_ERROR_MPS_RPC_FAILURE", "a call of the MPS server failed"},
	807: {"CUDA_ERROR_MPS_SERVER_NOT_READY", "the MPS server takes no new clients yet"},
	808: {"CUDA_ERROR_MPS_MAX_CLIENTS_REACHED", "the device has as many MPS clients as it can"},
	809: {"CUDA_ERROR_MPS_MAX_CONNECTIONS_REACHED", "the device has as many connections as it can"},
	810: {"CUDA_ERROR_MPS_CLIENT_TERMINATED", "the MPS server has ended this program's use of the device"},
	811: {"CUDA_ERROR_CDP_NOT_SUPPORTED", "kernels that launch kernels are not supported here"},
	812: {"CUDA_ERROR_CDP_VERSION_MISMATCH", "kernels that launch kernels are of another version"},

	CaptureUnsupported: {"CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED", "not possible while a stream is captured"},
	CaptureInvalidated: {"CUDA_ERROR_STREAM_CAPTURE_INVALIDATED", "an earlier error has ended the capture"},
	902:                {"CUDA_ERROR_STREAM_CAPTURE_MERGE", "two captures would become one"},
	903:                {"CUDA_ERROR_STREAM_CAPTURE_UNMATCHED", "the capture did not begin in this stream"},
	904:                {"CUDA_ERROR_STREAM_CAPTURE_UNJOINED", "a stream that joined the capture has not come back"},
	905:                {"CUDA_ERROR_STREAM_CAPTURE_ISOLATION", "a captured stream depends on one that is not"},
	906:                {"CUDA_ERROR_STREAM_CAPTURE_IMPLICIT", "the legacy stream would depend on a captured one"},
	907:                {"CUDA_ERROR_CAPTURED_EVENT", "the event belongs to a capture"},
	908:                {"CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD", "the capture began on another thread"},
	909:                {"CUDA_ERROR_TIMEOUT", "time-out"},
	UpdateFailure:      {"CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE", "the graph cannot be updated in place"},
	911:                {"CUDA_ERROR_EXTERNAL_DEVICE", "a device outside of CUDA failed"},
	999:                {"CUDA_ERROR_UNKNOWN", "the driver does not say what failed"},
}
