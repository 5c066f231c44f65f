#!/bin/sh -e
# Packs what a machine with a GPU and no Go needs into the folder that is given:
# the tests that want a driver, the MLP, gpureport and run.sh, which unpacks the
# programs. At most 60 MiB.
out=$1
cd "$(dirname "$0")/../.."
go=${GO:-go}
rm -rf "$out"
mkdir -p "$out"
for package in cuda cuda/nvml cuda/cudamem cuda/internal/conformance kernels/gpu tensor; do
	mkdir -p "$out/$package"
	"$go" test -c -ldflags=-s -o "$out/$package/gpu.test" "./$package"
	[ ! -d "$package/testdata" ] || cp -r "$package/testdata" "$out/$package"
done
"$go" build -ldflags=-s -o "$out/mlp" ./examples/mlp
"$go" build -ldflags=-s -o "$out/gpureport" ./internal/gpureport
cp internal/gpureport/run.sh internal/gpureport/torch_bench.py "$out"
find "$out" -name gpu.test -exec gzip {} +
gzip "$out/mlp" "$out/gpureport"
size=$(du -sm "$out" | cut -f1)
echo "$out: $size MiB; on the machine with the GPU: sh $(basename "$out")/run.sh"
[ "$size" -lt 60 ]
