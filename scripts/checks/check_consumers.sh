#!/usr/bin/env bash
# Builds the project tests/consumer against bale in every way that a user's project can, by GCC and Clang as C++20 and C++23, and runs
# it: find_package() of the static and of the shared library, pkg-config of both, add_subdirectory() and FetchContent. Then a bale that
# has tar only and no remote files: which libraries its reader loads, and what it says of other formats.
# usage: scripts/checks/check_consumers.sh [--quick] [--ways REGEX] [--at PREFIX]
#   --quick       GCC and C++20 only
#   --ways REGEX  only those of package-static, package-shared, pkg-config-static, pkg-config-shared, subdirectory, fetch and tar
#   --at PREFIX   builds in PREFIX-static and so on (build-consumers); what is there is used again
set -euo pipefail
cd "$(dirname "$0")/../.."
. scripts/packages.sh

quick=0 ways=. folder=build-consumers
while [ $# -gt 0 ]; do
  case "$1" in
    -h | --help) sed -n '2,8s/^# //p' "$0"; exit 0 ;;
    --quick) quick=1; shift; continue ;;
    --ways | --at) [ $# -ge 2 ] || { echo "no value after $1" >&2; exit 2; } ;;
    *) echo "not an option: $1 (scripts/checks/check_consumers.sh --help)" >&2; exit 2 ;;
  esac
  [ "$1" = --ways ] && ways=$2 || folder=$2
  shift 2
done
compilers=(g++ clang++) standards=(20 23)
[ "$quick" = 0 ] || compilers=(g++) standards=(20)
install_packages "${BALE_BUILD_PACKAGES[@]}" "${BALE_EXTRA_PACKAGES[@]}" "${BALE_SAMPLE_PACKAGES[@]}" clang
folder=$(realpath -m "$folder")
step() { printf '\n== %s\n' "$*"; }
log=$(mktemp)
trap 'rm -f "$log"' EXIT
quietly() { "$@" >"$log" 2>&1 || { tail -n 30 "$log"; echo "failed: $*"; exit 1; }; }
wanted() { printf '%s\n' "$@" | grep -qE "$ways"; }
fail() { echo "failed: $*"; exit 1; }

# install_bale NAME [CMAKE-ARGUMENT...]: builds it in PREFIX-NAME and installs it in PREFIX-prefix-NAME.
install_bale() {
  local name=$1
  shift
  quietly cmake -S . -B "$folder-$name" -G Ninja -DCMAKE_BUILD_TYPE=Release -DBALE_TESTS=OFF "$@"
  quietly cmake --build "$folder-$name"
  quietly cmake --install "$folder-$name" --prefix "$folder-prefix-$name"
}

# use NAME [CMAKE-ARGUMENT...]: builds tests/consumer with warnings as errors, and runs it.
use() {
  local build=$folder-use-$1
  wanted "$1" || return 0
  step "$*"
  shift
  rm -rf "$build" "$folder-packed"
  quietly cmake -S tests/consumer -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DCMAKE_CXX_EXTENSIONS=OFF \
    -DCMAKE_CXX_FLAGS="-Wall -Wextra -Werror" "$@"
  quietly cmake --build "$build" --target count_bytes pack_folder train_loop wrapped
  "$build/pack_folder" "$folder-images" "$folder-packed" tar
  "$build/count_bytes" "$folder-packed"
  "$build/train_loop" "$folder-packed"
  "$build/wrapped" "$folder-packed"
}

[ -e "$folder-images" ] || /usr/bin/python3 tests/support/make_images.py "$folder-images" --classes 3 --per-class 20
step "build and install"
install_bale static
if wanted package-static package-shared pkg-config-shared; then
  install_bale shared -DBUILD_SHARED_LIBS=ON
  rm -rf "$folder-prefix-both"
  cp -a "$folder-prefix-static" "$folder-prefix-both"  # side by side, as a distribution has them
  cp -a "$folder-prefix-shared/." "$folder-prefix-both"
  shared=$(realpath "$folder-prefix-shared/lib/libbale.so")
  exported=$(nm -DC --defined-only "$shared" | grep -v " A BALE_")
  echo "$(basename "$shared"): $(wc -l <<<"$exported") symbols"
  ! grep -vE ' (guard variable for |typeinfo (name )?for |vtable for )?bale::' <<<"$exported" || fail "these are not in the namespace bale"
fi

for compiler in "${compilers[@]}"; do
  by=-DCMAKE_CXX_COMPILER=$compiler
  for standard in "${standards[@]}"; do
    for kind in static shared; do
      use "package-$kind" $by -DCMAKE_CXX_STANDARD="$standard" -DCMAKE_PREFIX_PATH="$folder-prefix-both" -DBALE_KIND="$kind"
      BALE_WORKER=$folder-prefix-$kind/libexec/bale/bale-worker PKG_CONFIG_PATH=$folder-prefix-$kind/lib/pkgconfig \
        use "pkg-config-$kind" $by -DCMAKE_CXX_STANDARD="$standard" -DBALE_WAY=pkg-config
    done
    for way in subdirectory fetch; do  # bale is built with the project
      use "$way" $by -DCMAKE_CXX_STANDARD="$standard" -DBALE_WAY="$way" -DBALE_FORMATS=tar -DBALE_REMOTE=OFF
    done
  done
done
wanted tar || exit 0

step "tar only, no remote files"
install_bale tar -DBALE_FORMATS=tar -DBALE_REMOTE=OFF
use tar -DCMAKE_PREFIX_PATH="$folder-prefix-tar"
reader=$folder-use-tar/count_bytes
ldd "$reader"
[ "$(ldd "$reader" | grep -vc linux-vdso)" -le 12 ] || fail "a reader of tar loads more than 12 libraries"
rm -rf "$folder-packed-lmdb"
"$folder-static/bin/bale" pack "$folder-images" "$folder-packed-lmdb" --format lmdb --quiet
for name in "$folder-packed-lmdb" https://example.com/photos.tar; do
  said=$("$reader" "$name" 2>&1) && fail "it read $name"
  echo "$said"
  case "$said" in *BALE_FORMATS* | *BALE_REMOTE*) ;; *) fail "it does not say how to read $name" ;; esac
done
