package cudasim

import "tarn/cuda"

// The driver's codes that package cuda has no name for.
const (
	invalidDevice      cuda.Code = 101
	noBinaryForGPU     cuda.Code = 209
	invalidContext     cuda.Code = 201
	invalidPTX         cuda.Code = 218
	illegalState       cuda.Code = 401
	notFound           cuda.Code = 500
	illegalAddress     cuda.Code = 700
	outOfResources     cuda.Code = 701
	launchTimeout      cuda.Code = 702
	peerEnabled        cuda.Code = 704
	peerNotEnabled     cuda.Code = 705
	misalignedAddress  cuda.Code = 716
	launchFailed       cuda.Code = 719
	notPermitted       cuda.Code = 800
	notSupported       cuda.Code = 801
	captureUnsupported cuda.Code = 900
	captureInvalidated cuda.Code = 901
	captureMerge       cuda.Code = 902
	captureUnmatched   cuda.Code = 903
	captureUnjoined    cuda.Code = 904
	captureIsolation   cuda.Code = 905
	captureImplicit    cuda.Code = 906
	capturedEvent      cuda.Code = 907
	captureWrongThread cuda.Code = 908
	execUpdateFailure  cuda.Code = 910
)
