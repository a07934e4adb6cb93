#!/usr/bin/env bash
# Builds bale: installs the Debian packages that are missing, then leaves the program at build/bin/bale.
# usage: scripts/build.sh [CMAKE-ARGUMENT...]       e.g. scripts/build.sh -DBALE_WERROR=ON
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/packages.sh

install_packages "${BALE_BUILD_PACKAGES[@]}" "${BALE_EXTRA_PACKAGES[@]}"
log=$(mktemp)
if ! cmake -S . -B build -G Ninja -DCMAKE_BUILD_TYPE=Release -DBALE_TESTS=OFF "$@" >"$log" 2>&1; then
  cat "$log" >&2
  rm -f "$log"
  exit 1
fi
rm -f "$log"
cmake --build build
echo "built $(build/bin/bale --version): build/bin/bale"
