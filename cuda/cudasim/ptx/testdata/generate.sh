#!/bin/sh -e
# Compiles the kernels of this folder; needs clang 19 and no CUDA.
cd "$(dirname "$0")"
for f in *.cu; do
	case $f in
	tensor.cu | brain.cu) arch=sm_80 ;;
	*) arch=sm_75 ;;
	esac
	clang-19 -x cuda --cuda-device-only --cuda-gpu-arch=$arch -Xclang -target-feature -Xclang +ptx70 -nocudainc -nocudalib -O3 -S -o "${f%.cu}.ptx" "$f"
done
