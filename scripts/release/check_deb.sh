#!/usr/bin/env bash
# Installs the Debian packages of bale that are next to it, uses them as somebody would, and removes them. Run by
# scripts/release/deb.sh --check on a minimal system, which has no compiler: it changes the system.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
package=$(ls "$here"/bale_*.deb) libraries=("$here"/libbale*.deb)
version=$(dpkg-deb -f "$package" Version)

quietly() { "$@" >/tmp/log 2>&1 || { tail -n 20 /tmp/log; echo "failed: $*"; exit 1; }; }
# Minimal systems leave man pages out (docker's dpkg settings, for example); here they are wanted.
rm -f /etc/dpkg/dpkg.cfg.d/docker
quietly apt-get update
quietly apt-get install -y --no-install-recommends man-db bash-completion python3-numpy python3-pil
if command -v cc g++ clang; then echo "this system has a compiler"; exit 1; fi
find / -xdev \( -path /proc -o -path /root -o -path /tmp -o -path /var \) -prune -o -print | sort >/tmp/before

quietly apt-get install -y --no-install-recommends "$package"
bale --version
[ "$(bale --version)" = "bale $version" ]
man bale | col -b | grep -c . >/dev/null
man --where bale
test -s /usr/share/bash-completion/completions/bale
test -s /usr/share/zsh/site-functions/_bale
test -s /usr/share/fish/vendor_completions.d/bale.fish
bash -c 'source /usr/share/bash-completion/completions/bale && complete -p bale'
python3 "$here/make_images.py" /root/images --classes 3 --per-class 10
bale pack /root/images /root/packed --quiet
bale verify /root/packed --quiet
bale bench /root/packed --stages train --batch 8 --epochs 1 --json --quiet >/dev/null  # starts bale-worker
dpkg -L bale | sort | sed 's/^/  /'

needs=$(dpkg-query -W -f='${Depends}' bale)

# A C++ program: the packages bring all that it takes but the compiler and CMake.
quietly apt-get install -y --no-install-recommends g++ cmake make pkg-config "${libraries[@]}"
for kind in static shared; do
  quietly cmake -S "$here/consumer" -B "/root/$kind" -DBALE_KIND=$kind
  quietly cmake --build "/root/$kind"
  [ "$("/root/$kind/count_bytes" /root/packed | cut -d' ' -f1)" = 30 ]
  "/root/$kind/train_loop" /root/packed
  ldd "/root/$kind/count_bytes" | grep -E 'libbale|libarchive' || true
done
# shellcheck disable=SC2046  # flags
quietly g++ -std=c++20 "$here/consumer/count_bytes.cpp" -o /root/count_bytes $(pkg-config --cflags --libs bale)
/root/count_bytes /root/packed
ldd /root/count_bytes | grep libbale.so.

quietly apt-get purge -y bale 'libbale*'
for path in $(for each in "$package" "${libraries[@]}"; do dpkg-deb -c "$each"; done | awk '$1 !~ /^d/ {print substr($6, 2)}'); do
  [ ! -e "$path" ] || { echo "still there after removal: $path"; exit 1; }
done
[ ! -e /usr/share/doc/bale ] && [ ! -e /usr/libexec/bale ] && [ ! -e /usr/include/bale ] ||
  { echo "a folder is still there after removal"; exit 1; }
echo "installed, used and removed; bale needs $needs"
