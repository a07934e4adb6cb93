#!/usr/bin/env bash
# Collects the license texts of what is inside a wheel: Debian's copyright file of each source, and Zig's own.
# usage: scripts/release/wheel/licenses.sh CACHE ENVIRONMENT     after scripts/release/wheel/libraries.sh; CACHE/licenses gets NAME-VERSION.txt
#   ENVIRONMENT   the Python environment whose nanobind is in the module
set -euo pipefail
[ $# -eq 2 ] || { sed -n '2,4s/^# //p' "$0"; exit 2; }
cache=$1 environment=$2
. "$(dirname "$0")/sources.sh"
rm -rf "$cache/licenses"
mkdir -p "$cache/licenses"
for name in "${BALE_WHEEL_SOURCES[@]}"; do
  version=$(cat "$cache/sources/$name/.version")
  cp "$cache/sources/$name/debian/copyright" "$cache/licenses/$name-${version#*:}.txt"
done
# libc++, libc++abi and libunwind come with Zig.
zig=$(dirname "$("$cache/python/bin/python" -c 'import ziglang; print(ziglang.__file__)')")
for name in libcxx libcxxabi libunwind; do
  license=$(find "$zig/lib/$name" -maxdepth 1 -type f -iname 'LICENSE*' | head -n 1)
  [ -n "$license" ] || { echo "no license text of $name in $zig" >&2; exit 1; }
  cp "$license" "$cache/licenses/$name.txt"
done
# So is nanobind, with robin_map.
packages=$(echo "$environment"/lib/python3*/site-packages)
license=$(find "$packages"/nanobind-*.dist-info -type f -iname 'LICENSE*' | head -n 1)
cp "$license" "$cache/licenses/nanobind.txt"
sed '/\*\//q' "$packages/nanobind/ext/robin_map/include/tsl/robin_map.h" >"$cache/licenses/robin_map.txt"
grep -q 'MIT License' "$cache/licenses/robin_map.txt"
