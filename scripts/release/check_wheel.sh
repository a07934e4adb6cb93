#!/usr/bin/env bash
# Installs the Python package as a newcomer would, and packs and loads images with it: `pip install .` in one fresh virtual
# environment, the wheel of `pip wheel .` in another, the README's loop in both. The wheel's tag must fit the module in it.
# Run by hand, on a machine that may have nothing but Debian; compiles for some minutes.
# usage: scripts/release/check_wheel.sh [PYTHON [OTHER...]]
#   PYTHON   builds and runs: /usr/bin/python3, with Debian's torch
#   OTHER    runs the same wheel: another Python that its tag allows
set -euo pipefail
cd "$(dirname "$0")/../.."
. scripts/packages.sh

case "${1:-}" in -h | --help) sed -n '2,7s/^# //p' "$0"; exit 0 ;; esac
python=${1:-/usr/bin/python3}
others=("${@:2}")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
step() { printf '\n== %s\n' "$*"; }

step "Packages"
install_packages "${BALE_BUILD_PACKAGES[@]}" "${BALE_EXTRA_PACKAGES[@]}" "${BALE_SAMPLE_PACKAGES[@]}" python3-dev python3-venv python3-torch
/usr/bin/python3 tests/support/make_images.py "$work/images" --classes 4 --per-class 25 --odd

# try_out ENVIRONMENT: outside of the tree, so that only what was installed is there
try_out() {
  (cd "$work" && rm -rf packed && "$1/bin/bale" --version && "$1/bin/python" - <<'PYTHON'
import sys
import time
start = time.perf_counter()
import bale
print(f"import bale: {(time.perf_counter() - start) * 1000:.0f} ms, torch: {'torch' in sys.modules}, "
      f"numpy: {'numpy' in sys.modules}")
print(bale.__file__, bale.pack("images", "packed")["samples"], "samples")

with bale.Loader("packed", batch_size=32, workers=2, transform=bale.transforms.train(224), seed=1) as loader:
    for images, labels in loader:
        print(images.shape, images.dtype, labels[:4])
try:
    import bale.torch as bt
except ImportError as error:
    print(f"no torch here: {error}")
else:
    loader = bt.Loader("packed", batch_size=32, workers=2, transform=bale.transforms.train(224), seed=1)
    for images, labels in loader:
        print(images.shape, images.dtype, labels[:4])
PYTHON
  )
}

step "pip install ."
"$python" -m venv --system-site-packages "$work/source"
"$work/source/bin/python" -m pip install --quiet --disable-pip-version-check .
try_out "$work/source"

# check_tag WHEEL: a tag of one Python wants a module of that Python, and abi3 wants one of the stable ABI, all of it.
check_tag() {
  local module tag
  module=$("$python" -m zipfile --list "$1" | grep -o '_bale\.[^ ]*\.so')
  tag=$(basename "$1" | cut -d- -f3,4)
  echo "wheel: $tag, module: $module"
  case "$tag $module" in
    "cp312-abi3 _bale.abi3.so")
      "$work/source/bin/python" -m pip install --quiet --disable-pip-version-check abi3audit
      "$work/source/bin/abi3audit" --strict "$1"
      ;;
    "cp3"??"-cp3"??" _bale.cpython-${tag#*-cp}-"*) ;;
    *) echo "the tag $tag does not fit the module $module" >&2; return 1 ;;
  esac
}

step "pip wheel ."
"$work/source/bin/python" -m pip wheel --quiet --disable-pip-version-check --no-deps --wheel-dir "$work/wheels" .
ls -l "$work/wheels"
"$python" -m zipfile --list "$work"/wheels/bale-*.whl
check_tag "$work"/wheels/bale-*.whl
for each in "$python" "${others[@]}"; do
  step "The wheel in $("$each" --version)"
  rm -rf "$work/wheel"
  "$each" -m venv "$work/wheel"
  "$work/wheel/bin/python" -m pip install --quiet --disable-pip-version-check "$work"/wheels/bale-*.whl
  try_out "$work/wheel"
done
