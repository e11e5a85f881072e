#!/bin/sh
# usage: test/conformance/run.sh BUILD [option of the runner ...]
# The official ONNX backend test cases; one line per case in
# BUILD/conformance.tsv.
set -eu
cd "$(dirname "$0")/../.."
build=$1
shift
data=$(test/conformance/data.sh)
cmake --build "$build" --target conformance >/dev/null
exec "$build/test/conformance" --jobs "${JOBS:-$(nproc)}" \
  --known test/conformance/known.txt --list "$build/conformance.tsv" "$@" \
  "$data"
