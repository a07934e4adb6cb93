#!/usr/bin/env bash
# Makes everything that a release has: wheels, source archive, Debian package, site, checksums; each is tried before its sum is
# written.
# usage: scripts/release/release.sh [--out FOLDER] [--cache FOLDER] [--unchecked]
#   --out FOLDER     new or empty (dist)
#   --cache FOLDER   that of scripts/release/wheels.sh (build/wheel-cache)
#   --unchecked      tries nothing on minimal systems, which needs root and debootstrap
# The version is that of project() in CMakeLists.txt and must be a heading of CHANGELOG.md. Takes an hour or more.
set -euo pipefail
cd "$(dirname "$0")/../.."

out=dist cache=build/wheel-cache checked=yes
while [ $# -gt 0 ]; do
  case "$1" in
    -h | --help) sed -n '2,8s/^# //p' "$0"; exit 0 ;;
    --out | --cache) [ $# -ge 2 ] || { echo "no value after $1" >&2; exit 2; } ;;&
    --out) out=$2; shift ;;
    --cache) cache=$2; shift ;;
    --unchecked) checked= ;;
    *) echo "not an option: $1 (scripts/release/release.sh --help)" >&2; exit 2 ;;
  esac
  shift
done
version=$(sed -n 's/^project(bale VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt)
grep -q "^## \[$version\]" CHANGELOG.md || { echo "CHANGELOG.md has no heading for $version" >&2; exit 1; }
[ -z "$(git status --porcelain)" ] || { echo "there are uncommitted changes" >&2; exit 1; }
[ -z "$(ls -A "$out" 2>/dev/null)" ] || { echo "$out is not empty" >&2; exit 1; }
. scripts/packages.sh
install_packages "${BALE_RELEASE_PACKAGES[@]}"
if [ -n "$checked" ]; then
  . scripts/release/bare_system.sh
  need_bare_systems || exit
fi

scripts/release/wheels.sh --out "$out" --cache "$cache"
scripts/release/wheels.sh --out "$out" --cache "$cache" --target aarch64
"$cache/python/bin/python" -m pip install --quiet --disable-pip-version-check build
"$cache/python/bin/python" -m build --sdist --outdir "$out" .
scripts/release/deb.sh --out "$out" ${checked:+--check bookworm}
BALE_BUILD_DIR=$PWD/build/deb BALE_PYTHON_PACKAGE=$(realpath "$cache/$(uname -m)")/wheel/python scripts/release/site.sh "$out/site"
tar -C "$out" --sort=name --owner=0 --group=0 --mtime="@$(git log -1 --format=%ct)" -czf "$out/bale-$version-site.tar.gz" site
rm -rf "$out/site"
if [ -n "$checked" ]; then
  scripts/release/try_wheel.sh "$out" --torch bookworm trixie
  scripts/release/try_wheel.sh "$out" trixie-arm64
  scripts/release/try_sdist.sh "$out" bookworm
fi
(cd "$out" && sha256sum -- * >SHA256SUMS && cat SHA256SUMS)
