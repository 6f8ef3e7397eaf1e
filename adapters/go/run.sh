#!/bin/sh
# Becomes an adapter of this folder: `sh run.sh etcd_mutex`. Compiles it when it is new, from Debian's packages alone:
# the first process does so, which may take half a minute, and others wait for it. With nothing on its stdin
# (`</dev/null`), that is all.
set -eu
cd "$(dirname "$0")"
cache=${XDG_CACHE_HOME:-${HOME:-/tmp}/.cache}/picklock-adapters
program=$cache/go-$1-$(cat run.sh picklock.go "$1.go" | cksum | tr ' ' -)
if [ ! -x "$program" ]; then
    mkdir -p "$cache"
    (
        flock 9
        [ ! -x "$program" ] || exit 0
        GO111MODULE=off GOFLAGS= GOPATH=/usr/share/gocode GOCACHE=$cache/go-build CGO_ENABLED=0 \
            go build -o "$cache/go-new" picklock.go "$1.go" >&2
        mv "$cache/go-new" "$program"
    ) 9>"$cache/go-lock"
fi
exec "$program"
