#!/usr/bin/env bash
# Builds the static libraries that are inside a wheel, from Debian 12's sources by Zig's Clang for glibc 2.28.
# usage: scripts/release/wheel/libraries.sh CACHE [--target x86_64|aarch64] [NAME...]
#   CACHE   keeps sources, tools and libraries: what is there is not built again. CACHE/x86_64/prefix has the libraries
#   NAME    only these, in this order, and again if they are there
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
case "${1:-}" in "" | -*) sed -n '2,5s/^# //p' "$0"; exit $(($# ? 2 : 0)) ;; esac
mkdir -p "$1"
cache=$(cd "$1" && pwd)
shift
target=x86_64
if [ "${1:-}" = --target ]; then target=$2; shift 2; fi
. "$here/sources.sh"

tools=$cache/$target/tools
prefix=$cache/$target/prefix
build=$cache/$target/build
mkdir -p "$tools" "$prefix/lib/pkgconfig" "$prefix/include" "$build"

# One set of flags for all: Zig keeps its own libraries once per set.
flags="-fPIC -ffunction-sections -fdata-sections -fvisibility=hidden -fno-sanitize=all -g0"
small="-Os $flags"  # opening, checking and downloading
fast="-O3 $flags"   # pixels and checksums

# Clang since 18 wants it said for vectors of 512 bits, which Highway's functions of those processors use.
vectors=
[ "$target" != x86_64 ] || vectors=-mevex512

make_tools() {
  if [ ! -x "$cache/python/bin/cmake" ]; then
    python3 -m venv "$cache/python"
    "$cache/python/bin/pip" install --quiet --disable-pip-version-check 'ziglang==0.15.2' 'cmake>=3.26,<4' ninja
  fi
  local zig
  zig=$("$cache/python/bin/python" -c 'import os, ziglang; print(os.path.dirname(ziglang.__file__))')/zig
  local name
  for name in cc c++; do
    printf '#!/bin/sh\nexport ZIG_GLOBAL_CACHE_DIR="%s" ZIG_LOCAL_CACHE_DIR="%s"\nexec "%s" %s -target %s-linux-gnu.2.28 "$@"\n' \
      "$cache/zig" "$cache/zig" "$zig" "$name" "$target" >"$tools/$name"
  done
  for name in ar ranlib; do printf '#!/bin/sh\nexec "%s" %s "$@"\n' "$zig" "$name" >"$tools/$name"; done
  chmod +x "$tools"/*
  local unwinder
  unwinder=$(find /lib /usr/lib /usr/lib64 "/usr/$target-linux-gnu" -path "*$target*" -name libgcc_s.so.1 2>/dev/null | head -n 1 || true)
  [ -n "$unwinder" ] || { echo "no libgcc_s.so.1 for $target here" >&2; return 1; }
  sed -e "s|@tools@|$tools|; s|@prefix@|$prefix|; s|@flags@|$flags $vectors|; s|@unwinder@|$unwinder|" "$here/toolchain.cmake.in" \
    >"$tools/toolchain.cmake"
  if [ "$target" != "$(uname -m)" ]; then
    cat >>"$tools/toolchain.cmake" <<EOF
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR $target)
set(CMAKE_CROSSCOMPILING_EMULATOR "qemu-$target-static;-L;/usr/$target-linux-gnu")
EOF
  fi
}

# by_cmake FLAGS SOURCE [OPTION...]: with `only=(--target NAME)` nothing is installed.
only=()
by_cmake() {
  local cflags=$1 source=$2 there=$build/$name
  mkdir -p "$there"
  cd "$there"  # HDF5's configuration leaves a file where it runs
  cmake -S "$source" -B "$there" -G Ninja -DCMAKE_TOOLCHAIN_FILE="$tools/toolchain.cmake" -DCMAKE_INSTALL_PREFIX="$prefix" \
    -DCMAKE_INSTALL_LIBDIR=lib -DBUILD_SHARED_LIBS=OFF -DBUILD_TESTING=OFF -DCMAKE_POSITION_INDEPENDENT_CODE=ON \
    -DCMAKE_BUILD_TYPE=Release -DCMAKE_C_FLAGS_RELEASE= -DCMAKE_CXX_FLAGS_RELEASE= \
    -DCMAKE_C_FLAGS="$cflags -DNDEBUG" -DCMAKE_CXX_FLAGS="$cflags -DNDEBUG" "${@:3}"
  cmake --build "$there" -j "$jobs" "${only[@]}"
  [ ${#only[@]} -gt 0 ] || cmake --install "$there"
}

# compile FLAGS LIBRARY FILE...: a library of a few files that needs no configuration.
compile() {
  local cflags=$1 library=$2 file objects=()
  mkdir -p "$build/$name"
  for file in "${@:3}"; do
    local object
    object=$build/$name/$(basename "$file").o
    local compiler=$tools/cc
    case $file in *.cpp) compiler=$tools/c++ ;; esac
    # shellcheck disable=SC2086
    "$compiler" $cflags -DNDEBUG -c "$file" -o "$object"
    objects+=("$object")
  done
  rm -f "$prefix/lib/lib$library.a"
  "$tools/ar" rcs "$prefix/lib/lib$library.a" "${objects[@]}"
}

# describe MODULE VERSION LIBS [REQUIRES]: a file for pkg-config.
describe() {
  printf 'Name: %s\nDescription: %s\nVersion: %s\nLibs: -L%s/lib %s\nCflags: -I%s/include\nRequires: %s\n' \
    "$1" "$1" "$2" "$prefix" "$3" "$prefix" "${4:-}" >"$prefix/lib/pkgconfig/$1.pc"
}

upstream() { sed 's/^[0-9]*://; s/[-+].*//; s/\.dfsg//' "$source/.version"; }

build_zlib() {
  compile "$small -D_LARGEFILE64_SOURCE=1 -DHAVE_UNISTD_H -DHAVE_STDARG_H" z "$source"/{adler32,compress,crc32,deflate,infback,inffast,inflate,inftrees,trees,uncompr,zutil,gzlib,gzread,gzwrite,gzclose}.c
  cp "$source"/{zlib,zconf}.h "$prefix/include/"
  describe zlib "$(upstream)" -lz
}
build_libzstd() {
  by_cmake "$small" "$source/build/cmake" -DZSTD_BUILD_PROGRAMS=OFF -DZSTD_BUILD_SHARED=OFF -DZSTD_LEGACY_SUPPORT=OFF -DZSTD_BUILD_TESTS=OFF
}
build_bzip2() {
  compile "$small" bz2 "$source"/{blocksort,huffman,crctable,randtable,compress,decompress,bzlib}.c
  cp "$source/bzlib.h" "$prefix/include/"
  describe bzip2 "$(upstream)" -lbz2
}
build_xz-utils() {
  rm -rf "$build/$name" && mkdir -p "$build/$name"
  (cd "$build/$name" &&
    "$source/configure" --host="$target-linux-gnu" --prefix="$prefix" --disable-shared --disable-nls --disable-doc --disable-scripts \
      --disable-xz --disable-xzdec --disable-lzmadec --disable-lzmainfo --disable-lzma-links CC="$tools/cc" AR="$tools/ar" \
      RANLIB="$tools/ranlib" CFLAGS="$small -DNDEBUG" &&
    make -s -j "$jobs" && make -s install)
}
build_lz4() {
  # Its copy of xxHash has names of its own, as in lz4's Makefile: libxxhash is linked beside it.
  compile "$small -DXXH_NAMESPACE=LZ4_" lz4 "$source"/lib/{lz4,lz4hc,lz4frame,xxhash}.c
  cp "$source"/lib/{lz4,lz4hc,lz4frame}.h "$prefix/include/"
  describe liblz4 "$(upstream)" -llz4
}
build_libarchive() {
  only=(--target archive_static)  # its shared library is always made
  local off=() each
  for each in OPENSSL MBEDTLS NETTLE LIBB2 LIBXML2 EXPAT PCREPOSIX ICONV ACL XATTR TAR CPIO CAT TEST UNZIP WIN32_CNG CNG; do
    off+=("-DENABLE_$each=OFF")
  done
  by_cmake "$small" "$source" "${off[@]}" -DENABLE_LZ4=ON -DENABLE_ZSTD=ON -DENABLE_LZMA=ON -DENABLE_BZip2=ON -DENABLE_ZLIB=ON
  cp "$build/libarchive/libarchive/libarchive.a" "$prefix/lib/"
  cp "$source"/libarchive/archive{,_entry}.h "$prefix/include/"
  describe libarchive "$(upstream)" "-larchive -lz -lbz2 -llzma -llz4 -lzstd"
}
build_hdf5() {
  by_cmake "$small -w -Wno-implicit-int" "$source" -DHDF5_BUILD_CPP_LIB=OFF -DHDF5_BUILD_HL_LIB=OFF -DHDF5_BUILD_TOOLS=OFF -DHDF5_BUILD_EXAMPLES=OFF \
    -DHDF5_BUILD_FORTRAN=OFF -DHDF5_BUILD_JAVA=OFF -DHDF5_ENABLE_Z_LIB_SUPPORT=ON -DHDF5_ENABLE_SZIP_SUPPORT=OFF -DHDF5_ENABLE_THREADSAFE=OFF
}
build_openssl() {
  rm -rf "$build/openssl" && mkdir -p "$build/openssl"
  (cd "$build/openssl" &&
    CC=$tools/cc AR=$tools/ar RANLIB=$tools/ranlib CFLAGS="$small" "$source/Configure" "linux-$target" --prefix="$prefix" --libdir=lib \
      --openssldir=/etc/ssl no-shared no-tests no-module no-legacy no-engine no-async no-comp no-ssl3 no-dtls no-srp \
      no-idea no-seed no-camellia no-aria no-bf no-cast no-rc2 no-rc4 no-rc5 no-mdc2 no-md4 no-whirlpool no-sm2 no-sm3 no-sm4 \
      no-cms no-ts no-cmp no-ct no-psk no-gost no-dso &&
    make -s -j "$jobs" build_generated build_libs && make -s install_dev)
}
build_nghttp2() {
  by_cmake "$small" "$source" -DENABLE_LIB_ONLY=ON -DENABLE_STATIC_LIB=ON -DENABLE_SHARED_LIB=OFF
  [ -e "$prefix/lib/libnghttp2.a" ] || mv "$prefix/lib/libnghttp2_static.a" "$prefix/lib/libnghttp2.a"
}
build_curl() {
  by_cmake "$small -DNGHTTP2_STATICLIB" "$source" -DHTTP_ONLY=ON -DBUILD_CURL_EXE=OFF -DCURL_USE_OPENSSL=ON -DUSE_NGHTTP2=ON -DCURL_ZLIB=ON \
    -DCURL_USE_LIBSSH2=OFF -DCURL_USE_LIBPSL=OFF -DUSE_LIBIDN2=OFF -DCURL_DISABLE_LDAP=ON -DCURL_BROTLI=OFF -DCURL_ZSTD=OFF \
    -DCURL_USE_GSSAPI=OFF -DENABLE_MANUAL=OFF -DCURL_CA_BUNDLE=none -DCURL_CA_PATH=none -DCURL_DISABLE_NTLM=ON -DENABLE_UNIX_SOCKETS=ON
}
build_lmdb() {
  local below
  below=$(dirname "$(find "$source" -name mdb.c | head -n 1)")
  compile "$small" lmdb "$below"/{mdb,midl}.c
  cp "$below/lmdb.h" "$prefix/include/"
  describe lmdb "$(upstream)" "-llmdb -pthread"
}
build_libjpeg-turbo() {  # it takes a folder without a type as one below where CMake runs
  by_cmake "$fast" "$source" -DENABLE_SHARED=OFF -DWITH_TURBOJPEG=OFF -DWITH_JPEG8=OFF -DREQUIRE_SIMD=ON \
    -DCMAKE_INSTALL_LIBDIR:PATH="$prefix/lib"
}
build_libpng1.6() { by_cmake "$fast" "$source" -DPNG_SHARED=OFF -DPNG_TESTS=OFF; }
build_libwebp() {
  local off=() each
  for each in ANIM_UTILS CWEBP DWEBP GIF2WEBP IMG2WEBP VWEBP WEBPINFO LIBWEBPMUX WEBPMUX EXTRAS; do off+=("-DWEBP_BUILD_$each=OFF"); done
  by_cmake "$fast" "$source" "${off[@]}"
}
build_tiff() {
  by_cmake "$small" "$source" -Dtiff-tools=OFF -Dtiff-tests=OFF -Dtiff-contrib=OFF -Dtiff-docs=OFF -Dcxx=OFF -Djbig=OFF -Dlerc=OFF \
    -Dlibdeflate=OFF -Dwebp=OFF -Dlzma=ON -Dzstd=ON -Djpeg=ON -Dzlib=ON
}
build_libisal() {
  rm -rf "$build/libisal" && cp -a "$source" "$build/libisal"
  # Its assembly for aarch64 has forms that GNU's assembler takes and Clang's does not.
  local assembler=()
  [ "$target" != aarch64 ] || assembler=(AS='aarch64-linux-gnu-gcc -D__ASSEMBLY__')
  make -s -C "$build/libisal" -f Makefile.unx -j "$jobs" CC="$tools/cc" AR="$tools/ar" host_cpu="$target" CFLAGS_="$fast" units="crc igzip" \
    DEBUG_l= D= CFLAGS="$fast -I./include" "${assembler[@]}" lib
  cp "$build/libisal/bin/isa-l.a" "$prefix/lib/libisal.a"
  mkdir -p "$prefix/include/isa-l"
  cp "$source"/include/*.h "$prefix/include/isa-l/"
  cp "$source"/include/{igzip_lib,crc,crc64}.h "$prefix/include/"
  describe libisal "$(upstream)" -lisal
}
build_highway() {
  by_cmake "$fast" "$source" -DHWY_ENABLE_CONTRIB=OFF -DHWY_ENABLE_EXAMPLES=OFF -DHWY_ENABLE_TESTS=OFF -DHWY_SYSTEM_GTEST=ON
}
build_xxhash() {
  compile "$fast" xxhash "$source/xxhash.c"
  cp "$source"/{xxhash,xxh3}.h "$prefix/include/"
  describe libxxhash "$(upstream)" -lxxhash
}
build_fmtlib() { by_cmake "$small" "$source" -DFMT_DOC=OFF -DFMT_TEST=OFF; }
build_pugixml() { by_cmake "$small" "$source" -DPUGIXML_NO_XPATH=ON; }
build_yaml-cpp() { by_cmake "$small" "$source" -DYAML_CPP_BUILD_CONTRIB=OFF -DYAML_CPP_BUILD_TESTS=OFF -DYAML_CPP_BUILD_TOOLS=OFF; }
build_protobuf() {
  by_cmake "$small" "$source" -Dprotobuf_BUILD_PROTOC_BINARIES=OFF -Dprotobuf_BUILD_TESTS=OFF -Dprotobuf_WITH_ZLIB=OFF
  rm -f "$prefix/lib/libprotobuf.a"
}
build_cli11() { by_cmake "$small" "$source" -DCLI11_BUILD_TESTS=OFF -DCLI11_BUILD_EXAMPLES=OFF -DCLI11_BUILD_DOCS=OFF -DCLI11_SINGLE_FILE=OFF; }
build_catch2() { by_cmake "$small" "$source" -DCATCH_INSTALL_DOCS=OFF; }  # not in a wheel: for gpu_tests.sh
build_nlohmann-json3() { by_cmake "$small" "$source" -DJSON_BuildTests=OFF; }

make_tools
export PATH=$cache/python/bin:$PATH PKG_CONFIG_LIBDIR=$prefix/lib/pkgconfig
fetch_sources "${@}"
jobs=${BALE_JOBS:-$(nproc)}
again=("$@") lacking=()
for name in "${again[@]:-${BALE_WHEEL_SOURCES[@]}}"; do
  source=$cache/sources/$name
  done=$cache/$target/$name-$(cat "$source/.version")
  [ ${#again[@]} -gt 0 ] || [ ! -e "$done" ] || continue
  echo "== $name $(cat "$source/.version")"
  set +e  # bash ignores -e in a condition
  (set -e; "build_$name") >"$build/$name.log" 2>&1
  failed=$?
  set -e
  if [ $failed -ne 0 ]; then
    tail -n 30 "$build/$name.log" >&2
    echo "$name was not built (all of it: $build/$name.log)" >&2
    lacking+=("$name")
    continue
  fi
  touch "$done"
done
[ ${#lacking[@]} -eq 0 ] || { echo "not built: ${lacking[*]}" >&2; exit 1; }
