#!/usr/bin/env bash
# Runs the C++ tests of decoders, transforms, checksums and formats as programs for aarch64, under qemu. The same code paths as on
# such a machine: NEON by Highway, CRC32C and inflate by ISA-L's functions for it, and libjpeg-turbo's.
# usage: scripts/checks/check_aarch64.sh [--cache FOLDER] [CTEST-ARGUMENT...]
#   --cache FOLDER   that of scripts/release/wheels.sh, whose compiler and libraries it uses or makes (build/wheel-cache)
# For a machine that is not aarch64. Under qemu the tests take minutes.
set -euo pipefail
cd "$(dirname "$0")/../.."

cache=build/wheel-cache
case "${1:-}" in
  -h | --help) sed -n '2,6s/^# //p' "$0"; exit 0 ;;
  --cache) [ $# -ge 2 ] || { echo "no value after $1" >&2; exit 2; }; cache=$2; shift 2 ;;
esac
. scripts/packages.sh
install_packages "${BALE_WHEEL_PACKAGES[@]}" "${BALE_ARM_PACKAGES[@]}" catch2
mkdir -p "$cache"
cache=$(cd "$cache" && pwd)
scripts/release/wheel/libraries.sh "$cache" --target aarch64

prefix=$cache/aarch64/prefix build=$cache/aarch64/tests
mkdir -p "$prefix/include" "$prefix/lib/cmake"
cp -r /usr/include/catch2 "$prefix/include/"
cp -r /usr/lib/cmake/Catch2 "$prefix/lib/cmake/"
# Its library of a main() is for this machine.
rm -f "$prefix"/lib/cmake/Catch2/Catch2Targets-none.cmake
sed -i -e 's/ Catch2::Catch2WithMain)/)/' -e '/^# Create imported target Catch2::Catch2WithMain/,/^)/d' \
  "$prefix/lib/cmake/Catch2/Catch2Targets.cmake"
export PATH=$cache/python/bin:$PATH PKG_CONFIG_LIBDIR=$prefix/lib/pkgconfig
tests=(test_color test_image test_image_baseline test_image_lossless test_image_planes test_image_progressive test_image_region
  test_transform test_policy_draw test_shard test_tar test_tfrecord test_order)
cmake -S . -B "$build" -G Ninja -DCMAKE_TOOLCHAIN_FILE="$cache/aarch64/tools/toolchain.cmake" -DCMAKE_BUILD_TYPE=Release \
  -DBALE_TESTS=ON -DCatch2_DIR="$prefix/lib/cmake/Catch2" --log-level=WARNING
cmake --build "$build" --target "${tests[@]}"
names=$(IFS='|'; echo "${tests[*]#test_}")
cd "$build/tests"
# Programs that were not built are tests that fail by their name; what is asked for was built.
exec ctest --output-on-failure --timeout 1200 -j "$(nproc)" -R "^($names): " "$@"
