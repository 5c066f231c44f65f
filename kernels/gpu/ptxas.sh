#!/bin/sh -e
# Assembles the embedded PTX for each GPU that runs it and prints what every
# kernel takes. A register that spills to memory is an error. ptxas is part of
# CUDA's toolkit: in PATH, or where $PTXAS says.
cd "$(dirname "$0")/ptx"
PTXAS=${PTXAS:-ptxas}
archs="75 80 86 89 90 100 120"
command -v "$PTXAS" >/dev/null || { echo "ptxas.sh: no $PTXAS; set PTXAS" >&2; exit 1; }

log=$(mktemp)
trap 'rm -f "$log"' EXIT
printf '%-40s %4s %9s %7s %6s\n' kernel arch registers spilled shared
failed=0
for f in ${*:-*.ptx}; do
	least=$(sed -n 's/^\.target sm_\([0-9]*\).*/\1/p' "$f")
	for arch in $archs; do
		[ "$arch" -ge "$least" ] || continue
		"$PTXAS" -v -arch="sm_$arch" -o /dev/null "$f" >"$log" 2>&1 || { cat "$log"; exit 1; }
		awk -v arch="$arch" '
			/Compiling entry function/ { split($0, part, "\047"); name = part[2] }
			/bytes spill stores/ { for (i = 2; i <= NF; i++) if ($i == "bytes" && $(i + 1) == "spill") spilled += $(i - 1) }
			/Used [0-9]+ registers/ {
				shared = 0
				for (i = 2; i <= NF; i++) {
					if ($i ~ /^registers/) registers = $(i - 1)
					if ($i == "bytes" && $(i + 1) ~ /^smem/) shared = $(i - 1)
				}
				printf "%-40s %4s %9d %7d %6d\n", name, arch, registers, spilled, shared
				if (spilled > 0) bad = 1
				spilled = 0
			}
			END { exit bad }' "$log" || failed=1
	done
done
[ "$failed" = 0 ] || { echo "ptxas.sh: registers spill" >&2; exit 1; }
