#!/usr/bin/env bash
# Runs every test on a machine that may have nothing installed: packages, a Python environment, the build with warnings
# as errors, and all tests of the Release build. docs/TESTING.md says what each part does.
# usage: scripts/test.sh [-R REGEX] [--sanitize | --only-sanitize | --fuzz | --long] [CTEST-ARGUMENT...]
#   --sanitize       before that, the C++ tests and the kept inputs of the fuzz targets under AddressSanitizer and UBSan
#   --only-sanitize  nothing but these
#   --fuzz           nothing but fuzzing: a minute a target
#   --long           all of it, and what a release needs: every kill point, every bit, long soaks, mutations, single files
#                    by Clang: hours
# The last lines are ctest's own, and so is the exit code.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/packages.sh

plain=1 sanitize=0 fuzz=0 long=0 ctest_args=()
while [ $# -gt 0 ]; do
  case "$1" in
    -h | --help) sed -n '2,11s/^# //p' "$0"; exit 0 ;;
    --sanitize) sanitize=1 ;;
    --only-sanitize) plain=0 sanitize=1 ;;
    --fuzz) plain=0 fuzz=1 ;;
    --long) long=1 fuzz=1 sanitize=1 ;;
    *) ctest_args+=("$1") ;;
  esac
  shift
done
step() { printf '\n== %s\n' "$*"; }

step "Packages"
first=("${BALE_BUILD_PACKAGES[@]}" "${BALE_EXTRA_PACKAGES[@]}" catch2 mold)
if [ "$plain" = 0 ] || [ "$(id -u)" -ne 0 ]; then first+=("${BALE_TEST_PACKAGES[@]}"); fi  # sudo may ask for a password
install_packages "${first[@]}"

venv=$PWD/.venv examples_venv=$PWD/.venv-examples environments=
prepare_tests() {
  trap '' INT TERM  # dpkg must not end in the middle
  install_packages "${BALE_TEST_PACKAGES[@]}"
  trap - INT TERM
  python_environment "$venv" "tests/python/requirements.txt tests/python/requirements-remote.txt"
  # Debian's torch serves here: without its dependencies, pip leaves PyPI's, with gigabytes of CUDA, alone.
  PIP_NO_DEPS=1 python_environment "$examples_venv" tests/python/requirements-examples.txt --system-site-packages
}
if [ "$plain" = 1 ]; then  # what only tests need is downloaded while the first build compiles
  environments_log=$(mktemp)
  set -m  # a process group of its own, which ends with this script
  (set -e; prepare_tests) >"$environments_log" 2>&1 &
  environments=$!
  set +m
  trap 'kill -- "-$environments" 2>/dev/null || true; rm -rf "$environments_log" ${files_in_memory:+"$files_in_memory"}' EXIT
fi
await_environments() {
  [ -n "$environments" ] || return 0
  wait "$environments" || { cat "$environments_log" >&2; exit 1; }
  cat "$environments_log"
  environments=
}

# build PRESET TARGET [CMAKE-ARGUMENT...]
build() {
  local preset=$1 target=$2
  shift 2
  step "Build: $preset"
  # Dozens of test programs link faster with mold; build.sh links as everybody does.
  if command -v mold >/dev/null; then set -- "$@" -DCMAKE_EXE_LINKER_FLAGS=-fuse-ld=mold; fi
  cmake --preset "$preset" --log-level=WARNING -DBALE_TESTS=ON -DBALE_WERROR=ON "$@" >/dev/null
  cmake --build --preset "$preset" --target "$target"
}

# run_tests PRESET DIRECTORY: at most three that failed run again, alone: one that then passes has a race to mend. What
# a sanitizer reported has no second try.
run_tests() {
  local preset=$1 logs=$2/Testing/Temporary code=0
  rm -f "$logs/LastTestsFailed.log"
  ctest --preset "$preset" "${ctest_args[@]}" || code=$?
  if [ "$code" -ne 0 ] && [ -s "$logs/LastTestsFailed.log" ] && [ "$(wc -l <"$logs/LastTestsFailed.log")" -le 3 ] &&
    ! grep -qE '(ERROR|SUMMARY): [A-Za-z]*Sanitizer|runtime error:' "$logs/LastTest.log"; then
    step "Run again, alone: $(cut -d: -f2- "$logs/LastTestsFailed.log" | paste -sd,)"
    code=0
    ctest --preset "$preset" "${ctest_args[@]}" --rerun-failed --parallel 1 || code=$?
  fi
  return "$code"
}

# The tests of the Release build make and delete so many small files that a disk's file system takes up to a quarter of their
# time. They are in memory where there is enough of it; those of the tests under sanitizers are on the disk.
files_in_memory=
keep_files_in_memory() {
  local free
  free=$({ df --output=avail -k /dev/shm | tail -n 1; awk '/^MemAvailable/ { printf "%.0f\n", $2 - 8 * 1024 * 1024 }' /proc/meminfo; } |
    sort -n | head -n 1)
  if [ -n "${TMPDIR:-}" ] || [ "$long" = 1 ] || [ "${free:-0}" -lt $((4 * 1024 * 1024)) ]; then return 0; fi
  files_in_memory=$(mktemp -d /dev/shm/bale-tests.XXXXXX)
  chmod 1777 "$files_in_memory"  # some tests run programs as an ordinary user
  export TMPDIR=$files_in_memory
}

if [ "$sanitize" = 1 ]; then
  build asan all
  await_environments
  step "C++ tests under AddressSanitizer and UndefinedBehaviorSanitizer"
  run_tests asan build-asan
fi
if [ "$long" = 1 ]; then
  export BALE_LONG_TESTS=1
  ctest_args+=(--timeout 14400)
fi
if [ "$fuzz" = 1 ]; then
  install_packages "${BALE_FUZZ_PACKAGES[@]}"
  if [ "$long" = 1 ]; then
    build single all  # each file includes what it uses, and Clang compiles it
  fi
  build fuzz fuzz_targets
  step "Fuzz targets"
  scripts/fuzz.sh build-fuzz/tests
fi
if [ "$plain" = 1 ]; then
  # While packages are still being downloaded, what needs no Python is compiled.
  if [ -n "$environments" ] && kill -0 "$environments" 2>/dev/null; then build release all -DBALE_PYTHON=OFF; fi
  await_environments
  build release all -DBALE_TEST_PYTHON="$venv/bin/python" -DBALE_PYTHON=ON -DPython_EXECUTABLE="$venv/bin/python" \
    -DBALE_TEST_EXAMPLES_PYTHON="$examples_venv/bin/python"
  if [ "$long" = 1 ]; then  # before the tests, whose result is to be the last lines
    step "Mutations"
    scripts/checks/check_mutations.py --python "$venv/bin/python"
    step "Types of the Python package"
    scripts/checks/check_types.sh
  fi
  step "All tests"
  keep_files_in_memory
  run_tests release build
fi
