#!/usr/bin/env bash
# Makes the Debian package of the program, for the Debian that this machine has, with man page and completions.
# usage: scripts/release/deb.sh [--out FOLDER] [--build FOLDER] [--check SUITE]
#   --out FOLDER     where the package goes (dist)
#   --build FOLDER   builds there (build/deb); a folder that is configured already is taken as it is
#   --check SUITE    installs it in a bare Debian 12 (bookworm) or 13 (trixie), uses it and removes it; needs root and debootstrap
# The package runs on the Debian that it was built on, and on others only if their libraries have the same names.
set -euo pipefail
cd "$(dirname "$0")/../.."
. scripts/packages.sh

out=dist build=build/deb suite=
while [ $# -gt 0 ]; do
  case "$1" in
    -h | --help) sed -n '2,7s/^# //p' "$0"; exit 0 ;;
    --out | --build | --check) [ $# -ge 2 ] || { echo "no value after $1" >&2; exit 2; } ;;&
    --out) out=$2 ;;
    --build) build=$2 ;;
    --check)
      case "$2" in bookworm | trixie) suite=$2 ;; *) echo "not a system that is checked: $2 (bookworm, trixie)" >&2; exit 2 ;; esac ;;
    *) echo "not an option: $1 (scripts/release/deb.sh --help)" >&2; exit 2 ;;
  esac
  shift 2
done
if [ -n "$suite" ]; then
  . scripts/release/bare_system.sh
  need_bare_systems || exit
fi

install_packages "${BALE_BUILD_PACKAGES[@]}" "${BALE_EXTRA_PACKAGES[@]}" dpkg-dev file
[ -e "$build/CMakeCache.txt" ] || cmake -S . -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DBALE_TESTS=OFF --log-level=WARNING
cmake --build "$build" --target bale bale-worker bale_documents
rm -rf "$build/packages"
(cd "$build" && cpack -G DEB -B packages >/dev/null)
mkdir -p "$out"
cp "$build"/packages/bale_*.deb "$out/"
package=$(realpath "$out/$(basename "$build"/packages/bale_*.deb)")
echo "$package: $(($(stat -c %s "$package") / 1024)) KiB"
[ -n "$suite" ] || exit 0

echo "== $package on a bare $suite"
minimal_system "$suite"
copy=$bare_directory/$suite-deb-$$
trap 'rm -rf --one-file-system "$copy"' EXIT
cp -a "$bare_directory/$suite" "$copy"
cp "$package" "$copy/root/"
cp tests/support/make_images.py scripts/release/check_deb.sh "$copy/root/"
inside "$copy" /root bash check_deb.sh "$(basename "$package")"
