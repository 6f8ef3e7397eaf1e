#!/bin/sh
# Provides the base image that the Dockerfile starts from: pulls it, or, where no registry can be
# reached, makes it from Debian's packages.
#
#   sh docker/base.sh [--no-pull] [image]
set -eu

PULL=yes
if [ "${1:-}" = --no-pull ]; then
    PULL=no
    shift
fi
IMAGE=${1:-debian:bookworm-20251229-slim}
SUITE=bookworm

fail() {
    echo "base.sh: $1" >&2
    exit 1
}

command -v docker >/dev/null || fail "the docker command is missing; fix: apt-get install docker.io"
docker image inspect "$IMAGE" >/dev/null 2>&1 && exit 0
if [ "$PULL" = yes ] && docker pull "$IMAGE"; then
    exit 0
fi

echo "base.sh: $IMAGE cannot be pulled; making it with debootstrap" >&2
[ "$(id -u)" = 0 ] || fail "debootstrap must run as root; fix: run this once with sudo"
command -v debootstrap >/dev/null ||
    fail "debootstrap is missing; fix: apt-get install debootstrap"

ROOT=$(mktemp -d)
trap 'rm -rf --one-file-system "$ROOT"' EXIT
trap 'exit 1' HUP INT TERM
debootstrap --variant=minbase "$SUITE" "$ROOT"
rm -rf "$ROOT"/var/lib/apt/lists/* "$ROOT"/var/cache/apt/archives/*.deb
tar -C "$ROOT" -c . | docker import - "$IMAGE"
