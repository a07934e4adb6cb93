#!/usr/bin/env bash
# Makes Debian packages for the Debian that this machine has: `bale`, the program with man page and completions; `libbaleVERSION`, the
# shared library; `libbale-dev`, what C++ programs are built with.
# usage: scripts/release/deb.sh [--program] [--out FOLDER] [--build FOLDER] [--check SUITE]
#   --program        makes the first only
#   --out FOLDER     where the packages go (dist)
#   --build FOLDER   builds there (build/deb) and the shared library in FOLDER-shared; folders that are configured are taken as they are
#   --check SUITE    installs them in a bare Debian 12 (bookworm) or 13 (trixie), uses them and removes them; needs root and debootstrap
# They run on the Debian that they were built on, and on others only if their libraries have the same names.
set -euo pipefail
cd "$(dirname "$0")/../.."
. scripts/packages.sh

out=dist build=build/deb suite= program_only=0
while [ $# -gt 0 ]; do
  case "$1" in
    -h | --help) sed -n '2,9s/^# //p' "$0"; exit 0 ;;
    --program) program_only=1; shift; continue ;;
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
  [ "$program_only" = 0 ] || { echo "--check takes all packages: leave out --program" >&2; exit 2; }
  . scripts/release/bare_system.sh
  need_bare_systems || exit
fi

install_packages "${BALE_BUILD_PACKAGES[@]}" "${BALE_EXTRA_PACKAGES[@]}" dpkg-dev file
# configure FOLDER [CMAKE-ARGUMENT...]
configure() {
  [ -e "$1/CMakeCache.txt" ] ||
    cmake -S . -B "$1" -G Ninja -DCMAKE_BUILD_TYPE=Release -DCMAKE_INSTALL_PREFIX=/usr -DBALE_TESTS=OFF --log-level=WARNING "${@:2}"
}
configure "$build"
cmake --build "$build" --target bale bale-worker bale_documents
options=()
if [ "$program_only" = 0 ]; then
  configure "$build-shared" -DBUILD_SHARED_LIBS=ON
  cmake --build "$build" --target bale_library
  cmake --build "$build-shared" --target bale_library
  options=(  # each build with its components; bale.pc is that of the last
    -D "CPACK_COMPONENTS_ALL=program;library;development"
    -D "CPACK_COMPONENTS_STATIC=program;development" -D "CPACK_COMPONENTS_SHARED=library;development"
    -D "CPACK_INSTALL_CMAKE_PROJECTS=$(realpath "$build");bale;STATIC;/;$(realpath "$build-shared");bale;SHARED;/"
  )
fi
rm -rf "$build/packages"
(cd "$build" && cpack -G DEB -B packages "${options[@]}" >/dev/null)
mkdir -p "$out"
packages=()
for package in "$build"/packages/*.deb; do
  cp "$package" "$out/"
  packages+=("$(realpath "$out/$(basename "$package")")")
  echo "${packages[-1]}: $(($(stat -c %s "$package") / 1024)) KiB"
done
[ -n "$suite" ] || exit 0

echo "== the packages on a bare $suite"
minimal_system "$suite"
copy=$bare_directory/$suite-deb-$$
trap 'rm -rf --one-file-system "$copy"' EXIT
cp -a "$bare_directory/$suite" "$copy"
cp "${packages[@]}" tests/support/make_images.py scripts/release/check_deb.sh "$copy/root/"
cp -r tests/consumer "$copy/root/"
inside "$copy" /root bash check_deb.sh
