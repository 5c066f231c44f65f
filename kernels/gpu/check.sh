#!/bin/sh -e
# Compiles the kernels anew and compares them with the embedded PTX. A clang of
# another version than the recorded one writes other PTX: then the tests run on
# what it wrote.
cd "$(dirname "$0")"
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
OUT=$out ./build.sh
if cmp -s ptx/clang-version "$out/clang-version"; then
	diff -rq ptx "$out" || { echo "check.sh: the embedded PTX is not what the sources give; run make ptx" >&2; exit 1; }
	echo "the embedded PTX is what the sources give"
	exit
fi
echo "************************************************************"
echo "*  here is $(cat "$out/clang-version")"
echo "*  the embedded PTX is of $(cat ptx/clang-version)"
echo "*  they are not compared; the tests run on what is compiled here"
echo "************************************************************"
{
	printf '{"Replace":{'
	separator=
	for f in ptx/*.ptx; do
		printf '%s"%s":"%s"' "$separator" "$PWD/$f" "$out/$(basename "$f")"
		separator=,
	done
	printf '}}'
} >"$out/overlay.json"
"${GO:-go}" test -overlay "$out/overlay.json" .
