#!/bin/sh
# usage: scripts/setup.sh build|test|bench|format
#
# Installs what that needs and this machine lacks: Debian packages (as root),
# for `test` the Python packages of scripts/requirements.txt into build/venv,
# for `bench` those of requirements-bench.txt into build/venv-bench. Quick and silent when nothing is missing. What each package is
# for: docs/dependencies.md.
set -eu
cd "$(dirname "$0")/.."
what=${1:-build}

case $what in
format) packages="clang-format-22" ;;
*)
  packages="gcc libc6-dev cmake ninja-build libmlir-22-dev mlir-22-tools
    llvm-22-dev llvm-22-tools clang-22 lld-22 nanopb libnanopb-dev
    libcmocka-dev libjpeg62-turbo-dev libpng-dev libwebp-dev libtiff-dev
    libopenjp2-7-dev"
  [ "$what" = build ] ||
    packages="$packages python3 python3-venv pkg-config xz-utils qemu-user
      libc6-dev-arm64-cross libgcc-12-dev-arm64-cross"
  ;;
esac

missing=
for package in $packages; do
  case $(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null) in
  installed) ;;
  *) missing="$missing $package" ;;
  esac
done
if [ -n "$missing" ]; then
  if [ "$(id -u)" != 0 ]; then
    echo "setup: run as root, or: apt-get install$missing" >&2
    exit 1
  fi
  echo "setup: installing$missing"
  export DEBIAN_FRONTEND=noninteractive
  log=$(mktemp)
  if ! { apt-get update && apt-get install -y --no-install-recommends \
    $missing; } >"$log" 2>&1; then
    tail -n 20 "$log" >&2
    echo "setup: apt-get failed" >&2
    exit 1
  fi
  rm -f "$log"
fi

# The packages of the tests that compare with ONNX Runtime. Without them
# (no network) those tests are left out, and CMake says so.
case $what in
test) venv=build/venv requirements=scripts/requirements.txt ;;
bench) venv=build/venv-bench requirements=scripts/requirements-bench.txt ;;
*) exit 0 ;;
esac
stamp=$venv/.requirements
if cmp -s $requirements $stamp; then
  exit 0
fi
# What a package is imported as, where that is not its name.
modules=$(sed "s/[=<>].*//; s/^pillow$/PIL/; s/^iree-base-/iree./
  s/^apache-tvm$/tvm/" $requirements | paste -sd,)
if python3 -c "import $modules" 2>/dev/null; then
  exit 0 # the system's will do
fi
echo "setup: installing $modules into $venv"
mkdir -p build
if python3 -m venv $venv &&
  $venv/bin/pip install -q -r $requirements; then
  cp $requirements $stamp
elif [ "$what" = test ]; then
  echo "setup: no Python packages; tests that need them are left out" >&2
else
  echo "setup: no Python packages; what lacks is left out of the benchmark" >&2
fi
