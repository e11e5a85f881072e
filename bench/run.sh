#!/bin/sh
# usage: bench/run.sh BUILD [option of bench.py or model ...]
# Writes BUILD/bench.json and prints a table.
set -eu
cd "$(dirname "$0")/.."
export FERRULE_BUILD="$PWD/$1"
shift
cmake --build "$FERRULE_BUILD" --target bench_peak > /dev/null
python=python3
[ ! -x build/venv/bin/python3 ] || python=build/venv/bin/python3
exec $python bench/bench.py --json "$FERRULE_BUILD/bench.json" "$@"
