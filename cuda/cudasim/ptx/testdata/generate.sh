#!/bin/sh -e
# Compiles the kernels of this folder; needs clang 19 and no CUDA.
cd "$(dirname "$0")"
for f in *.cu; do
	clang-19 -x cuda --cuda-device-only --cuda-gpu-arch=sm_75 -Xclang -target-feature -Xclang +ptx70 -nocudainc -nocudalib -O3 -S -o "${f%.cu}.ptx" "$f"
done
