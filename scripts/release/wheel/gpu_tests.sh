#!/usr/bin/env bash
# Builds test_gpu, the C++ tests over a machine's CUDA driver, with the tools of the wheels: its libraries are inside, and it needs
# glibc 2.28 or later. The worker that it starts is that of a wheel (BALE_WORKER).
# usage: scripts/release/wheel/gpu_tests.sh CACHE FILE     after scripts/release/wheels.sh with this cache, from the same sources; FILE is the program
set -euo pipefail
[ $# -eq 2 ] || { sed -n '2,4s/^# //p' "$0"; exit 2; }
here=$(cd "$(dirname "$0")" && pwd)
build=$1/$(uname -m)/wheel
[ -e "$build/CMakeCache.txt" ] || { echo "no build of a wheel in $1: run scripts/release/wheels.sh --cache $1" >&2; exit 1; }
"$here/libraries.sh" "$1" catch2
cmake=$1/python/bin/cmake
"$cmake" -S "$here/../../.." -B "$build" -DBALE_TESTS=ON --log-level=WARNING >/dev/null
"$cmake" --build "$build" --target test_gpu -j "${BALE_JOBS:-$(nproc)}"
cp "$build/tests/test_gpu" "$2"
