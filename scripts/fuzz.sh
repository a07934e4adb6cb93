#!/usr/bin/env bash
# Runs the fuzz targets: the kept inputs of tests/fuzz/corpus, then new ones made from them. A finding ends it with the
# target's own report; the input that showed it lies in the directory that is printed.
# usage: scripts/fuzz.sh DIRECTORY-OF-TARGETS [SECONDS]
#   without SECONDS: as many inputs a target as are quick everywhere, always the same ones;
#   with SECONDS, or 60 where BALE_LONG_TESTS is set: so long a target, from a seed that is printed.
set -euo pipefail
targets=$(cd "$1" && pwd)
cd "$(dirname "$0")/.."
seconds=${2:-${BALE_LONG_TESTS:+60}}
scratch=$(mktemp -d)

# Inputs a target: some take microseconds, others a file, a directory or a decoder each.
runs_of() {
  case "$1" in
    journal | image) echo 2000 ;;
    jpeg | recordio | shard_scan | table | tar | tfrecord) echo 5000 ;;
    *) echo 30000 ;;
  esac
}

for target in "$targets"/fuzz_*; do
  [ -x "$target" ] && [ -f "$target" ] || continue
  name=${target##*/fuzz_}
  mkdir -p "$scratch/$name"
  corpus=("$scratch/$name")
  [ -d "tests/fuzz/corpus/$name" ] && corpus+=("tests/fuzz/corpus/$name")
  if [ -n "$seconds" ]; then
    limit=("-max_total_time=$seconds")
  else
    limit=("-runs=$(runs_of "$name")" -seed=1)
  fi
  # -timeout: an input that takes so long is a hang; memory is bounded too, so a bomb is a finding.
  "$target" "${limit[@]}" -timeout=60 -rss_limit_mb=2048 -max_len=65536 -print_final_stats=0 \
    -artifact_prefix="$scratch/" "${corpus[@]}" >"$scratch/log" 2>&1 || {
    tail -n 60 "$scratch/log"
    echo "fuzz_$name: a finding; its input lies in $scratch" >&2
    exit 1
  }
  echo "fuzz_$name: $(grep -c '' < <(find "${corpus[@]}" -type f)) inputs kept; $(tail -n 1 "$scratch/log")"
done
rm -rf "$scratch"
