#!/usr/bin/env bash
# Installs wheels by pip on minimal systems without a compiler, packs, verifies, loads and trains with them.
# usage: scripts/release/try_wheel.sh FOLDER [--torch] [SUITE...]
#   FOLDER    where scripts/release/wheels.sh put the wheels
#   --torch   also installs the system's PyTorch and torchvision, and trains a ResNet-18 for three epochs
#   SUITE     bookworm (Debian 12, Python 3.11), trixie (Debian 13, Python 3.13), trixie-arm64 (the same on aarch64, under qemu) or
#             bullseye (Debian 11, glibc 2.31; it has no Python that bale supports, so only the programs of the wheel run there);
#             bookworm and trixie without one
# Needs root and debootstrap. Times are those of this machine with its load.
set -euo pipefail
cd "$(dirname "$0")/../.."

wheels='' packages=(python3-venv) torch=() suites=()
while [ $# -gt 0 ]; do
  case "$1" in
    -h | --help) sed -n '2,10s/^# //p' "$0"; exit 0 ;;
    --torch) torch=(python3-torch python3-torchvision) ;;
    bookworm | trixie | trixie-arm64 | bullseye) suites+=("$1") ;;
    *)
      [ -z "$wheels" ] || { echo "not a system that is tried: $1 (bookworm, trixie, trixie-arm64, bullseye)" >&2; exit 2; }
      wheels=$1 ;;
  esac
  shift
done
[ -n "$wheels" ] || { echo "no folder with wheels (scripts/release/try_wheel.sh --help)" >&2; exit 2; }
compgen -G "$wheels/bale-*.whl" >/dev/null || { echo "no wheels in $wheels: run scripts/release/wheels.sh" >&2; exit 2; }
[ ${#suites[@]} -gt 0 ] || suites=(bookworm trixie)
. scripts/release/bare_system.sh
need_bare_systems || exit

copy=
images=$(mktemp -d)
trap 'rm -rf "$images"; [ -z "$copy" ] || rm -rf --one-file-system "$copy"' EXIT
. scripts/packages.sh
install_packages "${BALE_SAMPLE_PACKAGES[@]}"
/usr/bin/python3 tests/support/make_images.py "$images/images" --classes 4 --per-class 25

machine_of() { case "$1" in *-arm64) echo aarch64 ;; *) uname -m ;; esac; }
for suite in "${suites[@]}"; do
  echo "== $suite"
  minimal_system "$suite"
  copy=$bare_directory/$suite-wheel-$$
  cp -a "$bare_directory/$suite" "$copy"
  cp -a "$images/images" "$wheels"/bale-*_"$(machine_of "$suite")".whl scripts/release/try_wheel.py "$copy/root/"
  if [ "$suite" = bullseye ]; then
    wheel=$(echo "$copy"/root/bale-*-abi3-*.whl)
    python3 -m zipfile -e "$wheel" "$copy/root/wheel"
    chmod +x "$copy"/root/wheel/bale/bin/*
    # shellcheck disable=SC2016
    inside "$copy" /root bash -ec '
      ldd --version | head -n 1
      bale=wheel/bale/bin/bale
      $bale --version
      for format in tar lmdb hdf5 tfrecord recordio; do
        $bale pack images packed-$format --format $format --quiet >/dev/null
        $bale verify packed-$format --quiet >/dev/null
      done
      $bale bench packed-tar --stages train --batch 8 --epochs 1 --size 32 --quiet'
  else
    # shellcheck disable=SC2016
    inside "$copy" /root bash -ec '
      apt-get update >/tmp/log 2>&1
      apt-get install -y --no-install-recommends "$@" >/tmp/log 2>&1 || { tail -n 20 /tmp/log; exit 1; }
      if command -v cc gcc g++ clang; then echo "this system has a compiler"; exit 1; fi
      python3 -m venv --system-site-packages /root/env
      begin=$(date +%s.%N)
      env/bin/pip install --quiet numpy
      env/bin/pip install --quiet --no-index --find-links /root bale
      echo "pip install, numpy and bale: $(echo "$begin $(date +%s.%N)" | awk "{printf \"%.1f\", \$2 - \$1}") s"
      env/bin/pip show bale | sed -n 2p
      env/bin/bale --version
      env/bin/python try_wheel.py images .' tried "${packages[@]}" "${torch[@]}"
  fi
  rm -rf --one-file-system "$copy"
  copy=
done
