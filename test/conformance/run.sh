#!/bin/sh
# usage: test/conformance/run.sh BUILD [option of the runner ...]
# The official ONNX backend test cases, those of this standard and the older
# ones of Debian's package, as they are and with the dims of all inputs open;
# one line per case in BUILD/conformance.tsv.
set -eu
cd "$(dirname "$0")/../.."
build=$1
shift
data=$(test/conformance/data.sh)
older=$(test/conformance/data.sh older || true)
cmake --build "$build" --target conformance >/dev/null
exec "$build/test/conformance" --jobs "${JOBS:-$(nproc)}" \
  --known test/conformance/known.txt \
  --known-dynamic test/conformance/known-dynamic.txt \
  --list "$build/conformance.tsv" "$@" "$data" ${older:+"older=$older"}
