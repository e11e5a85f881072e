#!/bin/sh
# usage: examples/demo.sh BUILD
# Compiles a real model and lets a C program read a digit with it.
set -eu
cd "$(dirname "$0")/.."
out=$1/demo
mkdir -p "$out"

start=$(date +%s%N)
"$1/bin/ferrule" compile models/mnist8/model.onnx -o "$out/mnist8.so"
end=$(date +%s%N)
cc -std=c17 -O2 -Iinclude examples/digit.c -o "$out/digit" -ldl

"$out/digit" "$out/mnist8.so" models/mnist8/digit.npy
printf '  compile time %d ms\n' $(((end - start) / 1000000))
printf '  artifact     %s, %d KB with its weights (the ONNX file: %d KB)\n' \
  "$out/mnist8.so" $(($(stat -c %s "$out/mnist8.so") / 1024)) \
  $(($(stat -c %s models/mnist8/model.onnx) / 1024))
needed=$(LC_ALL=C readelf -d "$out/mnist8.so" |
  sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' | paste -sd' ')
printf '  it needs     %s\n' "${needed:-nothing, not even libc}"
