#!/bin/sh
# usage: test/conformance/data.sh [older]
# Prints the folder with the official ONNX backend test data: $ONNX_TEST_DATA,
# else build/onnx-data, made from the archive in ../shared or by the Python
# package onnx. Exit code 77 when there is none.
# older: that of opsets up to 17, $ONNX_OLDER_TEST_DATA or of Debian's package
# libonnx-testdata, installed or fetched into build/onnx-older.
set -eu
cd "$(dirname "$0")/../.."

older() {
  data=${ONNX_OLDER_TEST_DATA:-/usr/share/libonnx-testdata/data}
  if [ ! -d "$data/node" ]; then
    data=$PWD/build/onnx-older/usr/share/libonnx-testdata/data
  fi
  if [ ! -d "$data/node" ]; then
    mkdir -p build/onnx-older
    if ! (cd build/onnx-older && apt-get download libonnx-testdata &&
      dpkg-deb -x libonnx-testdata_*.deb .) >build/onnx-older.log 2>&1; then
      echo "no older ONNX test data; see build/onnx-older.log" >&2
      exit 77
    fi
  fi
  echo "$data"
}
[ "${1:-}" != older ] || {
  older
  exit
}

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
