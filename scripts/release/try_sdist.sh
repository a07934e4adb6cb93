#!/usr/bin/env bash
# Installs the source archive by pip on a minimal system that has what a build needs, and packs, verifies and loads with it.
# usage: scripts/release/try_sdist.sh FOLDER [SUITE]
#   FOLDER   where `python -m build --sdist --outdir FOLDER .` put it
#   SUITE    bookworm (Debian 12) or trixie (Debian 13); bookworm without one
# Needs root and debootstrap. Compiles for ten minutes or more.
set -euo pipefail
cd "$(dirname "$0")/../.."
case "${1:-}" in -h | --help) sed -n '2,6s/^# //p' "$0"; exit 0 ;; esac
[ $# -ge 1 ] && [ $# -le 2 ] || { echo "usage: scripts/release/try_sdist.sh FOLDER [SUITE]" >&2; exit 2; }
suite=${2:-bookworm}
case "$suite" in bookworm | trixie) ;; *) echo "not a system that is tried: $suite (bookworm, trixie)" >&2; exit 2 ;; esac
archive=$(compgen -G "$1/bale-*.tar.gz" | grep -v -e '-site\.tar\.gz$' || true)
[ -f "$archive" ] || { echo "no source archive in $1, or several" >&2; exit 2; }
. scripts/release/bare_system.sh
. scripts/packages.sh
need_bare_systems || exit

minimal_system "$suite"
copy=$bare_directory/$suite-sdist-$$
images=$(mktemp -d)
trap 'rm -rf "$images"; rm -rf --one-file-system "$copy"' EXIT
install_packages "${BALE_SAMPLE_PACKAGES[@]}"
/usr/bin/python3 tests/support/make_images.py "$images/images" --classes 4 --per-class 25
cp -a "$bare_directory/$suite" "$copy"
cp -a "$images/images" "$archive" scripts/release/try_wheel.py "$copy/root/"
# shellcheck disable=SC2016
inside "$copy" /root bash -ec '
  apt-get update >/tmp/log 2>&1
  apt-get install -y --no-install-recommends "$@" >/tmp/log 2>&1 || { tail -n 20 /tmp/log; exit 1; }
  python3 -m venv env
  begin=$SECONDS
  env/bin/pip install --quiet numpy ./bale-*.tar.gz
  echo "pip install: $((SECONDS - begin)) s"
  env/bin/bale --version
  env/bin/python try_wheel.py images .' tried "${BALE_BUILD_PACKAGES[@]}" python3-venv python3-dev
