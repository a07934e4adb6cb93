# The one list of the Debian 12 packages that bale needs, and the functions that install what is missing.
# Sourced by the other scripts; names only, no versions: Debian's stable ones are what we test with.
# A build without them names them too (scripts/cmake/BaleDependencies.cmake); a test compares the two.

BALE_BUILD_PACKAGES=(
  g++ cmake ninja-build pkg-config
  libcli11-dev libfmt-dev nlohmann-json3-dev
  liblmdb-dev libhdf5-dev libarchive-dev libprotobuf-dev libzstd-dev zlib1g-dev
  libjpeg-dev libpng-dev libhwy-dev libisal-dev libxxhash-dev libcurl4-openssl-dev libssl-dev libpugixml-dev
  libyaml-cpp-dev libwebp-dev libtiff-dev
)
# A build decodes AVIF and JPEG XL if it finds these.
BALE_EXTRA_PACKAGES=(libavif-dev libjxl-dev)
# For the images that quickstart.sh makes when it is given none.
BALE_SAMPLE_PACKAGES=(python3-numpy python3-pil)
# For test.sh: Catch2, the Python that runs the tests, programs that must read what we write, and a web server with TLS.
BALE_TEST_PACKAGES=(
  catch2 python3-dev python3-venv python3-numpy python3-pil python3-torchvision libtorch-dev
  tar libarchive-tools bzip2 xz-utils zstd util-linux man-db gcc mold bindfs fuse3 nginx-light openssl dpkg-dev file
)

# For check_engines.sh.
BALE_ENGINE_PACKAGES=(munge slurmctld slurmd slurm-client default-jre-headless python3-venv python3-numpy python3-pil python3-torchvision)

# For check_pages.sh: a browser, and the fonts of the names that its test gives to classes.
BALE_PAGES_PACKAGES=(chromium fonts-noto-core fonts-noto-cjk fonts-noto-color-emoji python3-venv)

# For test.sh --fuzz.
BALE_FUZZ_PACKAGES=(clang libclang-rt-dev)

# For wheels.sh: what unpacks and builds the libraries inside. Compiler and CMake are from PyPI.
BALE_WHEEL_PACKAGES=(dpkg-dev debian-archive-keyring nasm make perl pkg-config python3-venv)

# For wheels.sh --target aarch64 and check_aarch64.sh: the system's libraries of such a machine, and what runs its programs.
BALE_ARM_PACKAGES=(qemu-user-static gcc-aarch64-linux-gnu libc6-dev-arm64-cross libgcc-s1-arm64-cross libc6-arm64-cross)

# For release.sh, also: minimal systems, and the site.
BALE_RELEASE_PACKAGES=(debootstrap doxygen)

# install_packages NAME...: installs those that are missing, quietly; says what to do if it cannot.
install_packages() {
  local missing=() name
  if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
    echo "no apt-get here; continuing without it. Debian's names of what is needed: $*" >&2
    return 0
  fi
  for name in "$@"; do
    [ "$(dpkg-query -W -f='${db:Status-Status}' "$name" 2>/dev/null)" = installed ] || missing+=("$name")
  done
  [ ${#missing[@]} -gt 0 ] || return 0

  local as_root=()
  if [ "$(id -u)" -ne 0 ]; then
    if ! command -v sudo >/dev/null; then
      echo "these packages are missing, and installing them needs root. As root, run:" >&2
      echo "  apt-get install --no-install-recommends ${missing[*]}" >&2
      return 1
    fi
    as_root=(sudo)
  fi
  echo "installing ${#missing[@]} Debian packages: ${missing[*]}"
  local log
  log=$(mktemp)
  if "${as_root[@]}" apt-get update -qq >"$log" 2>&1 &&
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends -o DPkg::Lock::Timeout=600 \
      "${missing[@]}" >>"$log" 2>&1; then
    rm -f "$log"
  else
    tail -n 20 "$log" >&2
    echo "apt-get failed (its whole output: $log)" >&2
    return 1
  fi
}

# python_environment DIRECTORY "REQUIREMENTS..." [VENV-ARGUMENT...]: made once, and again when the requirements change.
python_environment() {
  local directory=$1 requirements=$2 wanted
  shift 2
  wanted=$(cat $requirements)
  [ "$wanted" != "$(cat "$directory/installed.txt" 2>/dev/null)" ] || return 0
  printf '\n== Python environment: %s\n' "$requirements"
  /usr/bin/python3 -m venv "$@" "$directory"
  "$directory/bin/python" -m pip install --quiet --disable-pip-version-check --requirement <(printf '%s\n' "$wanted")
  printf '%s\n' "$wanted" >"$directory/installed.txt"
}
