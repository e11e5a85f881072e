#!/bin/sh
# usage: bench/run.sh BUILD [accuracy | cost | layers | scaling] [option or model ...]
# Without one of these words, speed: writes BUILD/bench.json, .md and .svg.
set -eu
cd "$(dirname "$0")/.."
export FERRULE_BUILD="$PWD/$1"
shift
python=python3
for venv in build/venv build/venv-bench; do
  [ ! -x $venv/bin/python3 ] || python=$venv/bin/python3
done
case ${1-} in
accuracy | cost | layers | scaling)
  what=$1
  shift
  cmake --build "$FERRULE_BUILD" --target bench_load > /dev/null
  exec $python bench/$what.py "$@"
  ;;
esac
cmake --build "$FERRULE_BUILD" --target bench_peak > /dev/null
out=$FERRULE_BUILD/bench
exec $python bench/bench.py --json "$out.json" --markdown "$out.md" \
  --plot "$out.svg" "$@"
