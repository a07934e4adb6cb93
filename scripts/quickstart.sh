#!/usr/bin/env bash
# From nothing to packed, verified and loaded: builds bale, packs a folder of images into every format
# that it writes, loads epochs of training batches from each, and shows what came out.
# usage: scripts/quickstart.sh [FOLDER]     FOLDER/CLASS/IMAGE.jpg, or FOLDER/IMAGE.jpg; without one, 500 images are made
# Files that cannot be packed are left out and named.
# Results go to ./bale-quickstart, or to $BALE_QUICKSTART_DIR. Safe to run again.
set -euo pipefail
home=$(cd "$(dirname "$0")/.." && pwd)
. "$home/scripts/packages.sh"

case "${1:-}" in -h | --help) sed -n '2,6s/^# //p' "$0"; exit 0 ;; esac
[ $# -le 1 ] || { echo "usage: scripts/quickstart.sh [FOLDER]" >&2; exit 2; }
folder=${1:-}
if [ -n "$folder" ] && [ ! -d "$folder" ]; then
  echo "no such folder: $folder" >&2
  exit 2
fi
out=${BALE_QUICKSTART_DIR:-bale-quickstart}
mkdir -p "$out"

if [ -t 1 ]; then bold=$'\033[1m' plain=$'\033[0m'; else bold='' plain=''; fi
step() { printf '\n%s== %s%s\n' "$bold" "$*" "$plain"; }
# timed COMMAND...: runs it and leaves the seconds it took in $seconds.
timed() {
  local begin=$EPOCHREALTIME code=0
  "$@" || code=$?
  seconds=$(awk -v a="$begin" -v b="$EPOCHREALTIME" 'BEGIN { print b - a }')
  return $code
}
rate() { awk -v n="$images" -v s="$seconds" 'BEGIN { printf "%d", n / s }'; }

step "Build bale"
"$home/scripts/build.sh"
bale=$home/build/bin/bale

if [ -z "$folder" ]; then
  folder=$out/images
  step "Make a small ImageNet: 10 classes of 50 images"
  install_packages "${BALE_SAMPLE_PACKAGES[@]}"
  /usr/bin/python3 "$home/tests/support/make_images.py" "$folder" --classes 10 --per-class 50 --odd
fi

# Images that are all in the folder itself have no classes.
flat=()
[ -n "$(find -L "$folder" -mindepth 2 -type f -not -path '*/.*' -print -quit)" ] || flat=(--flat)
rows=()
for format in tar lmdb hdf5 tfrecord recordio npy; do
  step "Pack into $format, verify, load two epochs in random order"
  options=(--name images --overwrite --on-error skip "${flat[@]}")
  [ "$format" != npy ] || options+=(--size 224)  # it holds pixels, of images of one size
  timed "$bale" pack "$folder" "$out/$format" --format "$format" "${options[@]}" || {
    code=$?
    [ $code = 4 ] || exit $code  # 4: some were left out
  }
  images=$("$bale" ls "$out/$format" | wc -l)
  packed=$(rate)
  "$bale" verify "$out/$format"
  "$bale" bench "$out/$format" --batch 64 --stages verify,train | tee "$out/bench.txt"
  loaded=$(awk '$1 == "verify" || $1 == "train" { print $2 }' "$out/bench.txt" | paste -sd ' ')
  rows+=("$format $images $(du -sm --apparent-size "$out/$format" | cut -f1)MB $packed yes $loaded")
done

step "Show what was packed"
"$bale" preview "$out/tar" "$out/preview.html" --count 30 --seed 1 --force

step "Done"
printf '%-8s %8s %8s %12s %10s %12s %13s\n' format images size 'pack img/s' verified 'read img/s' 'train img/s'
for row in "${rows[@]}"; do
  # shellcheck disable=SC2086  # a row is seven words
  printf '%-8s %8s %8s %12s %10s %12s %13s\n' $row
done
cat <<TEXT

Look at $out/preview.html, then try:
  $bale inspect $out/tar
  $bale tune $out/tar
  $bale convert $out/tar $out/tar-to-hdf5 --format hdf5
  $bale --help
TEXT
