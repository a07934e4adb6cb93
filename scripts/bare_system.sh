# Minimal Debian systems in directories, for scripts that test what a new machine does. Sourced; needs root and debootstrap.
# They are kept below $BALE_SYSTEMS_DIR (/var/tmp/bale-systems). BALE_MIRROR names another mirror of Debian.
bare_directory=${BALE_SYSTEMS_DIR:-/var/tmp/bale-systems}

# need_bare_systems: an error if they cannot be made here.
need_bare_systems() {
  [ "$(id -u)" -eq 0 ] || { echo "chroot and mount need root: run it as root" >&2; return 2; }
  command -v debootstrap >/dev/null || { echo "debootstrap is missing: apt-get install debootstrap" >&2; return 2; }
  mkdir -p "$bare_directory"
}

# minimal_system SUITE: made once, at $bare_directory/SUITE. It reaches packages with the settings and certificates of this machine.
minimal_system() {
  local suite=$1 root=$bare_directory/$1 file
  [ ! -e "$root.done" ] || return 0
  rm -rf --one-file-system "$root"
  debootstrap --variant=minbase --include=ca-certificates,git "$suite" "$root" "${BALE_MIRROR:-http://deb.debian.org/debian}" \
    >"$bare_directory/debootstrap.log" 2>&1 || {
    tail -n 20 "$bare_directory/debootstrap.log" >&2
    return 1
  }
  for file in /etc/resolv.conf /etc/hosts /etc/pip.conf /etc/ssl/certs/ca-certificates.crt /etc/apt/apt.conf.d/9*; do
    [ ! -f "$file" ] || install -D -m 644 "$(realpath "$file")" "$root$file"
  done
  touch "$root.done"
}

# inside ROOT FOLDER COMMAND...: runs it there, in FOLDER. Mounts are made in a namespace of their own, so they end with the
# command and no file of this machine lies below ROOT when it is removed.
inside() {
  local root=$1 kept=() setting
  shift
  local network='^(pip_(cert|index_url|default_timeout)|https?_proxy|no_proxy)='
  while IFS= read -r setting; do kept+=("$setting"); done < <(env | grep -iE "$network")
  # shellcheck disable=SC2016  # expanded by the inner shell
  unshare --mount --propagation private bash -ec '
    root=$1; shift
    mkdir -p "$root/dev" "$root/proc" "$root/sys"
    mount -t proc proc "$root/proc"
    mount --rbind /sys "$root/sys"
    mount --rbind /dev "$root/dev"
    exec chroot "$root" "$@"' inside "$root" \
    /usr/bin/env -i HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin DEBIAN_FRONTEND=noninteractive "${kept[@]}" \
    bash -c 'cd "$1" && shift && exec "$@"' inside "$@" </dev/null
}
