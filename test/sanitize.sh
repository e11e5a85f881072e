#!/bin/sh
# usage: sanitize.sh [option of cmake ...]
# Builds all under the address, leak and undefined behaviour sanitizers, in
# FERRULE_BUILD/sanitize, and runs what is quick and tells much: the tests of
# units, passes and the runtime, the fuzzers, the command line, operators of
# many kinds, and one of each 12 official cases. Compiled to be there soon: the
# tests of `make check-asan` run code as it is released.
set -eu
build=$FERRULE_BUILD/sanitize
cmake -S "$FERRULE_SOURCE" -B "$build" -G Ninja -DFERRULE_SANITIZE=ON \
  -DCMAKE_BUILD_TYPE=None "-DCMAKE_C_FLAGS=-O1 -g1" "$@" >log
cmake --build "$build" --parallel 2 >>log 2>&1 || {
  tail -n 40 log
  exit 1
}
ctest --test-dir "$build" --output-on-failure -j2 -L quick \
  -E '^(install|bench|unit\.contract)$'
ctest --test-dir "$build" --output-on-failure -j2 -R \
  '^(models\.mnist8|hostile_files|ops\.(order|ml_maps|string_data|not_supported))$'

export ASAN_OPTIONS=allocator_may_return_null=1
export UBSAN_OPTIONS=print_stacktrace=1
code=0
JOBS=2 "$FERRULE_SOURCE/test/conformance/run.sh" "$build" --every 12 || code=$?
[ $code = 77 ] || exit $code
