#!/usr/bin/env bash
# Fuzzes with the targets of `cmake --preset fuzz`: each starts from the kept inputs of tests/fuzz/corpus and runs for a
# while under AddressSanitizer and UBSan, as many at a time as there are processors. A finding ends with its target's own
# report; the input that showed it lies in the directory that is printed, and belongs into tests/fuzz/corpus.
# usage: scripts/fuzz.sh DIRECTORY-OF-TARGETS [SECONDS-A-TARGET [NAME...]]
set -euo pipefail
targets=$(cd "$1" && pwd)
cd "$(dirname "$0")/.."
seconds=${2:-60}
names=("${@:3}")
[ ${#names[@]} -gt 0 ] || mapfile -t names < <(find "$targets" -maxdepth 1 -name 'fuzz_*' -printf '%f\n' | sed 's/^fuzz_//' | sort)
scratch=$(mktemp -d)
export targets seconds scratch

fuzz_one() {
  local name=$1 log=$scratch/$1.log
  mkdir -p "$scratch/new/$name"
  # An input that takes 25 s is a hang, and one that takes 2 GB a bomb.
  "$targets/fuzz_$name" -max_total_time="$seconds" -timeout=25 -rss_limit_mb=2048 -max_len=65536 \
    -artifact_prefix="$scratch/$name-" "$scratch/new/$name" "tests/fuzz/corpus/$name" >"$log" 2>&1 || {
    grep -v '^#[0-9]' "$log" | cut -c1-200 | tail -n 60 >&2
    echo "fuzz_$name: a finding; its input lies in $scratch" >&2
    return 1
  }
  echo "fuzz_$name: $(tail -n 1 "$log")"
}
export -f fuzz_one

printf '%s\0' "${names[@]}" | xargs -0 -P "$(nproc)" -n 1 bash -c 'fuzz_one "$0"' || exit 1
rm -rf "$scratch"
