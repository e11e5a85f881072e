#!/bin/sh
# Prints the folder with the official ONNX backend test data: $ONNX_TEST_DATA,
# else build/onnx-data, made from the archive in ../shared or by the Python
# package onnx. Exit code 77 when there is none.
set -eu
cd "$(dirname "$0")/../.."
data=${ONNX_TEST_DATA:-$PWD/build/onnx-data}
archive=../shared/onnx-conformance/onnx-backend-test-data.tar.xz
if [ ! -d "$data/node" ]; then
  mkdir -p "$data"
  if [ -f $archive ]; then
    tar xJf $archive -C "$data" --strip-components=1
  else
    python=python3
    [ ! -x build/venv/bin/python3 ] || python=build/venv/bin/python3
    if ! $python test/conformance/generate.py "$data" >"$data.log" 2>&1; then
      echo "no ONNX test data; see $data.log" >&2
      exit 77
    fi
  fi
fi
echo "$data"
