#!/usr/bin/env bash
# Prepares a folder for a machine that has an NVIDIA GPU, Python and PyTorch, and maybe neither network nor compiler: copy the
# folder there and run `bash FOLDER/run.sh`, which writes FOLDER/out/acceptance.md and .json (scripts/gpu/gpu_acceptance.py).
# usage: scripts/gpu/gpu_carry.sh FOLDER [--wheels FOLDER] [--cache FOLDER | --tests FILE] [--images NUMBER] [--nvjpeg FILE] [--check SUITE]
#   FOLDER            new; at most 60 MB: wheels, a packed dataset of generated images, C++ tests over the driver, the acceptance run
#   --wheels FOLDER   where the wheels are (dist; docs/INSTALL.md); the machine needs a Python that one of them is for
#   --cache FOLDER    of scripts/release/wheels.sh, which made them (build/wheel-cache): the C++ tests are built there
#   --tests FILE      C++ tests that are built already: a test_gpu of these sources, whose libraries the machine has
#   --images NUMBER   how many images (600)
#   --nvjpeg FILE     a libnvjpeg.so.12 or .13 for decode="device" (9 MB; of PyPI's nvidia-nvjpeg-cu12), if the machine has none
#   --check SUITE     then runs it on a minimal Debian 12 (bookworm) or 13 (trixie) without network, over the fake driver of the
#                     tests; needs root, debootstrap and a build with tests
set -euo pipefail
home=$(cd "$(dirname "$0")/../.." && pwd)

folder='' wheels=$home/dist cache=$home/build/wheel-cache tests='' images=600 nvjpeg='' suite=''
while [ $# -gt 0 ]; do
  case "$1" in
    -h | --help) sed -n '2,12s/^# //p' "$0"; exit 0 ;;
    --wheels | --cache | --tests | --images | --nvjpeg | --check) [ $# -ge 2 ] || { echo "no value after $1" >&2; exit 2; } ;;&
    --wheels) wheels=$2; shift ;;
    --cache) cache=$2; shift ;;
    --nvjpeg | --tests)
      [ -f "$2" ] || { echo "no file $2" >&2; exit 2; }
      if [ "$1" = --nvjpeg ]; then nvjpeg=$2; else tests=$2; fi
      shift ;;
    --images)
      [[ $2 =~ ^[1-9][0-9]{0,5}$ ]] || { echo "not a number of images: $2" >&2; exit 2; }
      images=$2; shift ;;
    --check)
      case "$2" in bookworm | trixie) suite=$2 ;; *) echo "not a system that is checked: $2 (bookworm, trixie)" >&2; exit 2 ;; esac
      shift ;;
    -*) echo "not an option: $1 (scripts/gpu/gpu_carry.sh --help)" >&2; exit 2 ;;
    *)
      [ -z "$folder" ] || { echo "one folder only: $folder, $1" >&2; exit 2; }
      folder=$1 ;;
  esac
  shift
done
[ -n "$folder" ] || { echo "no folder (scripts/gpu/gpu_carry.sh --help)" >&2; exit 2; }
[ ! -e "$folder" ] || { echo "$folder is there already" >&2; exit 2; }
compgen -G "$wheels/bale-*.whl" >/dev/null || { echo "no wheels in $wheels (docs/INSTALL.md says how to make them)" >&2; exit 2; }
[ -n "$tests" ] || [ -d "$cache" ] || { echo "no cache of wheels at $cache: name it with --cache, or built tests with --tests" >&2; exit 2; }
fakes=${BALE_BUILD_DIR:-$home/build}/tests/fake_cuda
if [ -n "$suite" ]; then
  . "$home/scripts/release/bare_system.sh"
  need_bare_systems || exit
  [ -e "$fakes/libnvjpeg.so.12" ] || { echo "no fake driver in $fakes: cmake --build build --target bale_fake_nvjpeg, with BALE_TESTS=ON" >&2; exit 2; }
fi

mkdir -p "$folder"
folder=$(cd "$folder" && pwd)
work=$(mktemp -d)
copy=''
trap 'rm -rf "$work"; [ -z "$copy" ] || rm -rf --one-file-system "$copy"' EXIT
cp "$wheels"/bale-*.whl "$folder/"
cp "$home"/scripts/gpu/gpu_acceptance*.py "$folder/"
[ -z "$nvjpeg" ] || cp -L "$nvjpeg" "$folder/"
if [ -n "$tests" ]; then
  cp "$tests" "$folder/test_gpu"
else
  "$home/scripts/release/wheel/gpu_tests.sh" "$cache" "$folder/test_gpu"
fi
strip "$folder/test_gpu"
gzip -9 "$folder/test_gpu"
cat >"$folder/run.sh" <<'RUN'
#!/usr/bin/env bash
# usage: run.sh [OPTION of gpu_acceptance.py...]     PYTHON names another Python than python3
set -euo pipefail
cd "$(dirname "$0")"
python=${PYTHON:-python3}
rm -rf site
wheel=$("$python" - <<'PYTHON'
import glob, sys
minor = sys.version_info.minor
wanted = f"cp3{minor}-cp3{minor}" if minor < 12 else "cp312-abi3"
print(*glob.glob(f"bale-*-{wanted}-*.whl"))
PYTHON
)
[ -n "$wheel" ] || { echo "no wheel here is for $("$python" --version)" >&2; exit 1; }
"$python" -m zipfile -e "$wheel" site
chmod +x site/bale/bin/*
gunzip -kf test_gpu.gz
for library in "$PWD"/libnvjpeg.so.1?; do
  [ ! -e "$library" ] || export BALE_NVJPEG=${BALE_NVJPEG:-$library}
done
[ -e images ] || site/bale/bin/bale extract packed images --quiet
PYTHONPATH=$PWD/site exec "$python" gpu_acceptance.py . --out out "$@"
RUN
. "$home/scripts/packages.sh"
install_packages "${BALE_SAMPLE_PACKAGES[@]}"
classes=10
/usr/bin/python3 "$home/tests/support/make_images.py" "$work/images" --classes $classes --per-class $(((images + classes - 1) / classes))
# The wheel's own program packs, so this machine needs no build.
python3 -m zipfile -e "$(compgen -G "$wheels/bale-*.whl" | head -n 1)" "$work/wheel"
chmod +x "$work"/wheel/bale/bin/*
"$work/wheel/bale/bin/bale" pack "$work/images" "$folder/packed" --quiet
bytes=$(du -sb "$folder" | cut -f1)
echo "$folder: $((bytes / 1000000)) MB"
[ "$bytes" -le 60000000 ] || { echo "more than 60 MB: take fewer images (--images)" >&2; exit 1; }
[ -n "$suite" ] || exit 0

echo "== on a minimal $suite, without network, over the fake driver"
minimal_system "$suite"
copy=$bare_directory/$suite-gpu-$$
cp -a "$bare_directory/$suite" "$copy"
inside "$copy" /root bash -ec 'apt-get update >/tmp/log 2>&1; apt-get install -y --no-install-recommends python3-numpy >/tmp/log 2>&1'
cp -a "$folder" "$copy/root/carried"
mkdir "$copy/root/fake"
cp "$fakes"/lib* "$copy/root/fake/"
# The fake driver runs the kernels' own source, which needs some of the libraries that this machine's build is linked to.
ldd "$fakes"/lib* | awk '$2 == "=>" && $1 !~ /^lib(c|m|dl|rt|pthread|stdc\+\+|gcc_s|cuda)\.so/ {print $3}' | sort -u | xargs -r cp -t "$copy/root/fake/"
unshare --net bash -ec '. "$1"; inside "$2" /root/carried env LD_LIBRARY_PATH=/root/fake bash run.sh --fake' carried \
  "$home/scripts/release/bare_system.sh" "$copy"
