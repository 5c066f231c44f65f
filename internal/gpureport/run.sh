#!/bin/sh
# Runs the tests and the report of a bundle on a machine with a GPU. Needs the
# NVIDIA driver and glibc 2.34; with a Python that has PyTorch its figures stand beside ours.
# What is printed is also in report.txt of the folder named by OUT, by default
# results in this folder; the tests' own output is there too.
cd "$(dirname "$0")" || exit 1
OUT=${OUT:-$PWD/results}
mkdir -p "$OUT"
find . -name '*.gz' ! -path '*/testdata/*' -exec gunzip -f {} +
# Modules are compiled each time, so that their times are those of the compiler.
export CUDA_CACHE_DISABLE=1 TARN_TEST_DEVICE=0
status=0

tests() {
	printf '%-28s %6s %6s %6s\n' package passed failed skipped
	for test in $(find . -name gpu.test | sort); do
		package=$(dirname "$test")
		log=$OUT/$(echo "${package#./}" | tr / _).txt
		only='^TestDriver' # the others are about a fake driver
		case $package in */gpu | */tensor) only=. ;; esac
		(cd "$package" && ./gpu.test -test.v -test.run "$only" -test.timeout 8m) >"$log" 2>&1 || status=1
		printf '%-28s %6d %6d %6d\n' "${package#./}" "$(grep -c '^ *--- PASS' "$log")" \
			"$(grep -c '^ *--- FAIL' "$log")" "$(grep -c '^ *--- SKIP' "$log")"
		grep -h '^panic' "$log"
	done
	echo
	echo "rows of the conformance table that differ from the simulator:"
	grep -h ': X ' "$OUT/cuda_internal_conformance.txt" || echo "none"
	return $status
}

report() {
	if python3 -c 'import torch; assert torch.cuda.is_available()' 2>/dev/null; then
		python3 torch_bench.py >"$OUT/torch.txt" && set -- -torch "$OUT/torch.txt"
	else
		echo "no PyTorch with CUDA here: its column stays empty"
	fi
	./gpureport "$@"
}

{
	tests || echo "SOME TESTS FAILED: see $OUT"
	echo
	report || echo "THE REPORT FAILED"
	echo
	./mlp -device cuda -json || echo "THE MLP FAILED"
} 2>&1 | tee "$OUT/report.txt"
! grep -q ' FAILED' "$OUT/report.txt"
