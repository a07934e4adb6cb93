#!/usr/bin/env bash
# Runs the two commands of the README, and all tests with Clang as the compiler, on each system that bale is for: a bare Debian 12
# and a bare Debian 13. Each run gets a directory with nothing but Debian's minimal system and a clone of HEAD. Takes hours.
# usage: scripts/checks/check_systems.sh [SUITE...] [-- COMMAND [ARGUMENT...]]
#   SUITE     bookworm (Debian 12) or trixie (Debian 13); both without one
#   COMMAND   run this instead of the three, from the top of the clone: scripts/checks/check_systems.sh trixie -- scripts/test.sh -R tar
# Needs root and debootstrap. The minimal systems and a log per run are kept below $BALE_SYSTEMS_DIR (/var/tmp/bale-systems).
# BALE_MIRROR names another mirror of Debian. The exit code is 1 if any run failed.
set -euo pipefail
project=$(cd "$(dirname "$0")/../.." && pwd)
. "$project/scripts/release/bare_system.sh"
directory=$bare_directory

suites=() command=()
while [ $# -gt 0 ]; do
  case "$1" in
    -h | --help) sed -n '2,8s/^# //p' "$0"; exit 0 ;;
    --) shift; command=("$@"); [ $# -gt 0 ] || { echo "no command after --" >&2; exit 2; }; break ;;
    bookworm | trixie) suites+=("$1") ;;
    *) echo "not a system that is checked: $1 (bookworm, trixie)" >&2; exit 2 ;;
  esac
  shift
done
[ ${#suites[@]} -gt 0 ] || suites=(bookworm trixie)
need_bare_systems || exit

failed=0 table=() copy=
trap '[ -z "$copy" ] || rm -rf --one-file-system "$copy"' EXIT
# check SUITE NAME COMMAND...: in a copy of its own, which is removed.
check() {
  local suite=$1 name=$2 log begin=$SECONDS result=passed
  shift 2
  copy=$directory/$suite-$$ log=$directory/$suite-$name.log
  printf '\n== %s: %s (output: %s)\n' "$suite" "$*" "$log"
  cp -a "$directory/$suite" "$copy"
  git clone --quiet "file://$project" "$copy/root/bale"
  inside "$copy" /root/bale "$@" >"$log" 2>&1 || { result=FAILED failed=1; tail -n 30 "$log"; }
  rm -rf --one-file-system "$copy"
  copy=
  table+=("$suite $name $result $(((SECONDS - begin + 59) / 60))min")
}

for suite in "${suites[@]}"; do
  minimal_system "$suite"
  if [ ${#command[@]} -gt 0 ]; then
    check "$suite" command "${command[@]}"
    continue
  fi
  check "$suite" quickstart scripts/quickstart.sh
  check "$suite" tests scripts/test.sh
  check "$suite" clang bash -c '. scripts/packages.sh && install_packages clang && CXX=clang++ scripts/test.sh'
done

echo
for row in "${table[@]}"; do
  # shellcheck disable=SC2086  # a row is four words
  printf '%-10s %-12s %-8s %s\n' $row
done
exit "$failed"
