#!/usr/bin/env bash
# Checks the types of the Python package by mypy --strict and by pyright, with Debian's torch. The exit code is 1 if one of them
# finds something.
# usage: scripts/checks/check_types.sh
# Needs the built package (scripts/build.sh with -DBALE_PYTHON=ON, or scripts/test.sh) and, the first time, PyPI.
set -euo pipefail
home=$(cd "$(dirname "$0")/../.." && pwd)
case "${1:-}" in -h | --help) sed -n '2,5s/^# //p' "$0"; exit 0 ;; esac
[ $# -eq 0 ] || { echo "usage: scripts/checks/check_types.sh" >&2; exit 2; }
build=${BALE_BUILD_DIR:-$home/build}
venv=$home/.venv-types
[ -e "$build/python/bale/_bale.pyi" ] || { echo "no $build/python/bale/_bale.pyi: build the Python package first" >&2; exit 1; }

. "$home/scripts/packages.sh"
(cd "$home" && python_environment "$venv" scripts/checks/types/requirements.txt --clear --system-site-packages)

cd "$build/python"  # where the stubs of the native module lie next to the Python files
found=0
"$venv/bin/mypy" --config-file "$home/scripts/checks/types/mypy.ini" --cache-dir "$build/mypy" bale || found=1
"$venv/bin/pyright" --pythonpath "$venv/bin/python" bale || found=1
exit "$found"
