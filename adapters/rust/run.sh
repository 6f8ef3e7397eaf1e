#!/bin/sh
# Becomes an adapter of this folder: `sh run.sh rslock`. Compiles it when it is new: the first process does so, which may
# take half a minute, and others wait for it. With nothing on its stdin (`</dev/null`), that is all.
set -eu
cd "$(dirname "$0")"
cache=${XDG_CACHE_HOME:-${HOME:-/tmp}/.cache}/picklock-adapters
program=$cache/rust-$1-$(cat run.sh Cargo.toml Cargo.lock src/picklock.rs "src/bin/$1.rs" | cksum | tr ' ' -)
if [ ! -x "$program" ]; then
    mkdir -p "$cache"
    (
        flock 9
        [ ! -x "$program" ] || exit 0
        CARGO_TARGET_DIR=$cache/rust-build RUSTFLAGS= cargo build -q --release --locked --features "$1" --bin "$1" >&2
        cp "$cache/rust-build/release/$1" "$cache/rust-new"
        mv "$cache/rust-new" "$program"
    ) 9>"$cache/rust-lock"
fi
exec "$program"
