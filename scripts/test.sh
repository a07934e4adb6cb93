#!/usr/bin/env bash
# Runs every test on a machine that may have nothing installed: packages, a Python environment, the build
# with warnings as errors, the C++ tests under AddressSanitizer and UBSan, then all tests of the Release build.
# usage: scripts/test.sh [-R REGEX] [--no-sanitize | --sanitize] [CTEST-ARGUMENT...]
#   --no-sanitize   leave the sanitizer build out (quicker while developing)
#   --sanitize      nothing but the sanitizer build and its C++ tests
#   --long          the same tests with many more kills, flips and cases
# The last lines are ctest's own, and so is the exit code.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/packages.sh

plain=1 sanitize=1 ctest_args=()
while [ $# -gt 0 ]; do
  case "$1" in
    -h | --help) sed -n '2,8s/^# //p' "$0"; exit 0 ;;
    --no-sanitize) sanitize=0 ;;
    --sanitize) plain=0 ;;
    --long) export BALE_LONG_TESTS=1; ctest_args+=(--timeout 14400) ;;
    *) ctest_args+=("$1") ;;
  esac
  shift
done
step() { printf '\n== %s\n' "$*"; }

step "Packages"
install_packages "${BALE_BUILD_PACKAGES[@]}" "${BALE_TEST_PACKAGES[@]}"

# python_environment DIRECTORY REQUIREMENTS [VENV-ARGUMENT...]: made once, and anew when the requirements change.
python_environment() {
  local directory=$1 wanted=$2
  shift 2
  cmp -s "$wanted" "$directory/installed.txt" && return
  step "Python environment: $wanted"
  /usr/bin/python3 -m venv "$@" "$directory"
  "$directory/bin/python" -m pip install --quiet --disable-pip-version-check --requirement "$wanted"
  cp "$wanted" "$directory/installed.txt"
}
venv=$PWD/.venv examples_venv=$PWD/.venv-examples
if [ "$plain" = 1 ]; then
  python_environment "$venv" tests/python/requirements.txt
  # Debian's torch serves here: without its dependencies, pip leaves PyPI's, with gigabytes of CUDA, alone.
  PIP_NO_DEPS=1 python_environment "$examples_venv" tests/python/requirements-examples.txt --system-site-packages
fi

# build PRESET [CMAKE-ARGUMENT...]
build() {
  local preset=$1
  shift
  step "Build: $preset"
  cmake --preset "$preset" --log-level=WARNING -DBALE_TESTS=ON -DBALE_WERROR=ON "$@" >/dev/null
  cmake --build --preset "$preset"
}

if [ "$sanitize" = 1 ]; then
  build asan
  step "C++ tests under AddressSanitizer and UndefinedBehaviorSanitizer"
  ctest --preset asan "${ctest_args[@]}"
fi
if [ "$plain" = 1 ]; then
  build release -DBALE_TEST_PYTHON="$venv/bin/python" -DBALE_PYTHON=ON -DPython_EXECUTABLE="$venv/bin/python" \
    -DBALE_TEST_EXAMPLES_PYTHON="$examples_venv/bin/python"
  step "All tests"
  ctest --preset release "${ctest_args[@]}"
fi
