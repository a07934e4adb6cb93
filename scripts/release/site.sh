#!/usr/bin/env bash
# Builds the documentation site from docs/, the READMEs of the rooms, `bale --help`, the docstrings and the C++
# headers.
# usage: scripts/release/site.sh [DIRECTORY]     default: build/site; open DIRECTORY/index.html
# Needs build/bin/bale and build/python (scripts/test.sh builds them; $BALE_BUILD_DIR and $BALE_PYTHON_PACKAGE name others),
# Doxygen and, the first time, PyPI. A link that leads nowhere is an error.
set -euo pipefail
home=$(cd "$(dirname "$0")/../.." && pwd)
case "${1:-}" in -h | --help) sed -n '2,6s/^# //p' "$0"; exit 0 ;; esac
[ $# -le 1 ] || { echo "usage: scripts/release/site.sh [DIRECTORY]" >&2; exit 2; }
output=$(realpath -m "${1:-$home/build/site}")
build=${BALE_BUILD_DIR:-$home/build}
venv=$home/.venv-site
[ -x "$build/bin/bale" ] || { echo "no $build/bin/bale: run scripts/build.sh first" >&2; exit 1; }
# The built package has the stubs of the native module beside the Python files.
python=${BALE_PYTHON_PACKAGE:-$build/python}
[ -e "$python/bale/_bale.pyi" ] || { echo "no $python/bale/_bale.pyi: build with -DBALE_PYTHON=ON" >&2; exit 1; }
command -v doxygen >/dev/null || { echo "Doxygen is missing: apt-get install doxygen" >&2; exit 1; }

. "$home/scripts/packages.sh"
(cd "$home" && python_environment "$venv" scripts/release/site/requirements.txt --clear)

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$venv/bin/python" "$home/scripts/release/site/assemble.py" "$build/bin/bale" "$work/source"
BALE_SITE_SOURCE=$work/source BALE_SITE_OUTPUT=$output BALE_SITE_PYTHON=$python NO_MKDOCS_2_WARNING=1 \
  "$venv/bin/mkdocs" build --quiet --strict --config-file "$home/scripts/release/site/mkdocs.yml"
echo "$output/index.html"
