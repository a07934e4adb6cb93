#!/usr/bin/env bash
# Builds the image for containers by buildah, and packs, verifies and reads in a container of it, as its user.
# usage: scripts/release/try_image.sh
# The base image is a minimal Debian 12 that debootstrap makes here, so no registry is asked. Needs root, debootstrap and buildah.
# Compiles for ten minutes or more.
set -euo pipefail
cd "$(dirname "$0")/../.."
case "${1:-}" in -h | --help) sed -n '2,5s/^# //p' "$0"; exit 0 ;; esac
[ $# -eq 0 ] || { echo "usage: scripts/release/try_image.sh" >&2; exit 2; }
. scripts/release/bare_system.sh
. scripts/packages.sh
need_bare_systems || exit
command -v buildah >/dev/null || { echo "buildah is missing: apt-get install buildah" >&2; exit 2; }

minimal_system bookworm
store=$(mktemp -d "$bare_directory/images.XXXXXX")
work=$(mktemp -d)
trap 'rm -rf "$work"; rm -rf --one-file-system "$store"' EXIT
image() { buildah --root "$store/root" --runroot "$store/run" --storage-driver vfs "$@"; }

base=$(image from scratch)
image add --quiet "$base" "$bare_directory/bookworm" / >/dev/null
image commit --quiet --rm "$base" docker.io/library/debian:bookworm-slim >/dev/null
git archive --prefix=bale/ HEAD | tar -x -C "$work"  # what a clone has
image bud --quiet --isolation chroot --network host --pull-never -t bale -f scripts/release/docker/Dockerfile "$work/bale" >/dev/null

install_packages "${BALE_SAMPLE_PACKAGES[@]}"
/usr/bin/python3 tests/support/make_images.py "$work/images" --classes 3 --per-class 10
mkdir "$work/packed"
chmod -R a+rwX "$work"
container=$(image from --pull-never bale)
[ "$(image inspect --format '{{.OCIv1.Config.User}} {{.OCIv1.Config.Entrypoint}} {{.OCIv1.Config.Cmd}}' "$container")" = "bale [bale] [--help]" ]
inside_image() { image run --isolation chroot -v "$work/images:/data/images" -v "$work/packed:/data/packed" "$container" -- "$@"; }
[ -z "$(inside_image sh -c 'command -v cc g++; true')" ] || { echo "the image has a compiler" >&2; exit 1; }
[ "$(inside_image id -un)" = bale ]
inside_image bale --version
inside_image bale pack images packed/tar
inside_image bale verify packed/tar
inside_image bale bench packed/tar --stages train --batch 8 --epochs 1 --json --quiet >/dev/null  # starts bale-worker
echo "image: $(($(inside_image du -sxk / 2>/dev/null | cut -f 1) / 1024)) MiB, of which Debian $(($(du -sxk "$bare_directory/bookworm" | cut -f 1) / 1024)) MiB"
