#!/bin/sh
# usage: test/differential/run.sh BUILD [option of run.py ...]
# Random cases of every operator against ONNX Runtime and onnx's reference;
# the result is in BUILD/differential.
set -eu
cd "$(dirname "$0")/../.."
export FERRULE_BUILD="$PWD/$1"
shift
python=python3
[ ! -x build/venv/bin/python3 ] || python=build/venv/bin/python3
exec $python test/differential/run.py "$@"
