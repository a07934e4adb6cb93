# Debian's source packages of what is inside a wheel, by apt-get with lists of its own: the machine's are left as they are.
# Sourced by libraries.sh; $cache is the folder that keeps everything.

BALE_WHEEL_SOURCES=(
  zlib libzstd bzip2 xz-utils lz4 libarchive hdf5 openssl nghttp2 curl lmdb libjpeg-turbo libpng1.6 libwebp tiff
  libisal highway xxhash fmtlib pugixml yaml-cpp protobuf cli11 nlohmann-json3
)

_private_apt() {
  "$1" -qq -o Dir::Etc::sourcelist="$cache/apt/sources.list" -o Dir::Etc::sourceparts=- -o Dir::Cache="$cache/apt" \
    -o Dir::State::lists="$cache/apt/lists" -o APT::Sandbox::User=root "${@:2}"
}

# fetch_sources [NAME...]: the source of each package, or of these, as Debian 12 patches it, in $cache/sources/NAME.
fetch_sources() {
  local name version missing=()
  for name in "${@:-${BALE_WHEEL_SOURCES[@]}}"; do [ -e "$cache/sources/$name/.version" ] || missing+=("$name"); done
  [ ${#missing[@]} -gt 0 ] || return 0
  local keys=/usr/share/keyrings/debian-archive-keyring.gpg mirror=${BALE_DEBIAN_MIRROR:-http://deb.debian.org}
  mkdir -p "$cache/apt/lists/partial" "$cache/apt/archives/partial" "$cache/sources/packages"
  {
    echo "deb-src [signed-by=$keys] $mirror/debian bookworm main"
    echo "deb-src [signed-by=$keys] $mirror/debian-security bookworm-security main"
  } >"$cache/apt/sources.list"
  _private_apt apt-get update
  for name in "${missing[@]}"; do
    # The newest that the mirror has: one that the list has may not be there yet.
    for version in $(_private_apt apt-cache showsrc "$name" | sed -n 's/^Version: //p' | sort -rV | uniq) none; do
      [ "$version" != none ] || { echo "no source of $name" >&2; return 1; }
      echo "source: $name $version"
      (cd "$cache/sources/packages" && _private_apt apt-get source --download-only "$name=$version") && break
    done
    rm -rf "$cache/sources/$name"
    dpkg-source --no-check -x "$cache/sources/packages/${name}_${version#*:}.dsc" "$cache/sources/$name" >/dev/null
    echo "$version" >"$cache/sources/$name/.version"
  done
}
