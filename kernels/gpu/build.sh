#!/bin/sh -e
# Compiles every .cu file here, or those named, to PTX in ptx/ or $OUT; needs
# clang 19 and nothing of CUDA. Modules run on compute capability 7.5 and up, but
# for those of sm_80.
cd "$(dirname "$0")"
CLANG=${CLANG:-clang-19}
OUT=${OUT:-ptx}
sm_80="tensorcore"

for f in ${*:-*.cu}; do
	name=${f%.cu}
	arch=sm_75
	case " $sm_80 " in *" $name "*) arch=sm_80 ;; esac
	"$CLANG" -x cuda --cuda-device-only --cuda-gpu-arch=$arch -Xclang -target-feature -Xclang +ptx70 \
		-nocudainc -nocudalib -std=c++17 -O3 -Wall -S -o "$OUT/$name.ptx" "$name.cu"
done
"$CLANG" --version | head -n 1 >"$OUT/clang-version"
