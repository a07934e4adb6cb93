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
# SUITE-arm64 is a system for aarch64, whose programs run under qemu.
minimal_system() {
  local suite=${1%-arm64} root=$bare_directory/$1 file machine=()
  if [ "$1" != "$suite" ]; then
    run_arm64_programs || return
    machine=(--arch=arm64)
  fi
  [ ! -e "$root.done" ] || return 0
  rm -rf --one-file-system "$root"
  debootstrap "${machine[@]}" --variant=minbase --include=ca-certificates,git "$suite" "$root" "${BALE_MIRROR:-http://deb.debian.org/debian}" \
    >"$bare_directory/debootstrap.log" 2>&1 || {
    tail -n 20 "$bare_directory/debootstrap.log" >&2
    return 1
  }
  for file in /etc/resolv.conf /etc/hosts /etc/pip.conf /etc/ssl/certs/ca-certificates.crt /etc/apt/apt.conf.d/9*; do
    [ ! -f "$file" ] || install -D -m 644 "$(realpath "$file")" "$root$file"
  done
  touch "$root.done"
}

# run_arm64_programs: has the kernel start them by qemu, until the next start of this machine.
run_arm64_programs() {
  local kernel=/proc/sys/fs/binfmt_misc rule
  [ "$(uname -m)" != aarch64 ] || return 0
  [ -e $kernel/register ] || mount -t binfmt_misc binfmt_misc $kernel
  [ ! -e $kernel/qemu-aarch64 ] || return 0
  rule=$(compgen -G '/usr/lib/binfmt.d/qemu-aarch64*.conf') || {
    echo "qemu for aarch64 is missing: apt-get install qemu-user-static" >&2
    return 2
  }
  cat "$rule" >$kernel/register
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
