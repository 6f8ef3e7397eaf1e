#!/bin/sh
# Starts one server of a store, the program that is given with its arguments, as process 1 of its
# container, so that what happens to the container happens to the server. Its data outlives a restart
# only where the marker says so.
set -eu

DATA=/var/lib/picklock/data
# Files that the server finds in its data.
FILES=/var/lib/picklock/files
# Whoever wants the server to come back with its data makes this file before killing it. A crash
# that loses the data is the one that has to be quick: it is to be over while somebody holds.
KEEP=/var/lib/picklock/keep
# Stands where this start found nothing, or left nothing: the proof of the loss.
EMPTY=/var/lib/picklock/empty

if [ -e "$KEEP" ]; then
    rm -f "$KEEP" "$EMPTY"
else
    rm -rf "$DATA"
    mkdir -p "$DATA"
    touch "$EMPTY"
fi
if [ -d "$FILES" ]; then
    cp "$FILES"/* "$DATA"
fi

# It joins the network of the servers, under this address, only after its first start.
until hostname -I | grep -qwF "$PICKLOCK_ADDRESS"; do
    sleep 0.05
done
# Libraries that the server loads before its own, by their names below Debian's folder of them.
if [ -n "${PICKLOCK_PRELOAD:-}" ]; then
    # What a server that was killed has left would be taken for that of this one.
    rm -f /dev/shm/*faketime*
    preload=
    for library in $PICKLOCK_PRELOAD; do
        preload="$preload${preload:+:}$(echo /usr/lib/*-linux-gnu/"$library")"
    done
    export LD_PRELOAD="$preload"
fi
exec "$@"
