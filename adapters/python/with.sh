#!/bin/sh
# Becomes an adapter of this folder with another version of a library: `sh with.sh redis==5.0.8
# redis_asyncio.py`. Installs it when it is new: the first process does so, and others wait for it.
# With nothing on its stdin (`</dev/null`), that is all.
set -eu
cd "$(dirname "$0")"
cache=${XDG_CACHE_HOME:-${HOME:-/tmp}/.cache}/picklock-adapters
libraries=$cache/$1
if [ ! -d "$libraries" ]; then
    mkdir -p "$cache"
    (
        flock 9
        [ ! -d "$libraries" ] || exit 0
        rm -rf "$cache/python-new"
        python3 -m pip install -q --disable-pip-version-check --no-deps --target "$cache/python-new" "$1" >&2
        mv "$cache/python-new" "$libraries"
    ) 9>"$cache/python-lock"
fi
PYTHONPATH=$libraries exec python3 "$2"
