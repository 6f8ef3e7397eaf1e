#!/bin/sh
# Starts one server of a store as process 1 of its container, so that what happens to the container
# happens to the server. Its data outlives a restart only where the marker says so.
set -eu

DATA=/var/lib/picklock/data
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

# Every acknowledged write is on disk before the acknowledgement: a crash loses nothing that a
# client was promised.
redis() {
    exec redis-server --bind 0.0.0.0 --port 6379 --protected-mode no --dir "$DATA" \
        --appendonly yes --appendfsync always --save ""
}

# ZOO_ID is this member's number, ZOO_ADDRESS its address on the network of the members, which it
# joins only after its first start, and ZOO_PEERS the host names of all members in order.
zookeeper() {
    until hostname -I | grep -qwF "$ZOO_ADDRESS"; do
        sleep 0.05
    done
    echo "$ZOO_ID" >"$DATA/myid"
    {
        echo "dataDir=$DATA"
        echo "clientPort=2181"
        echo "tickTime=$ZOO_TICK"
        echo "initLimit=$ZOO_INIT_LIMIT"
        echo "syncLimit=$ZOO_SYNC_LIMIT"
        echo "maxClientCnxns=0"
        echo "4lw.commands.whitelist=*"
        id=1
        for peer in $ZOO_PEERS; do
            echo "server.$id=$peer:2888:3888"
            id=$((id + 1))
        done
    } >/var/lib/picklock/zoo.cfg
    exec java -Xmx256m -XX:+UseSerialGC -XX:TieredStopAtLevel=1 \
        -Dzookeeper.admin.enableServer=false \
        -Dorg.slf4j.simpleLogger.showDateTime=true \
        -Dorg.slf4j.simpleLogger.dateTimeFormat=HH:mm:ss.SSS \
        -cp /usr/share/java/zookeeper.jar:/usr/share/java/slf4j-simple.jar \
        org.apache.zookeeper.server.quorum.QuorumPeerMain /var/lib/picklock/zoo.cfg
}

# All in memory: a server that comes back has lost everything, and says so by the mark. Its memory is
# small, has one size of chunks for all that locks store, and one list by last use, which nothing
# sorts in the background: so the order is certain in which it evicts
# (`stores/src/memcached/memory.rs`).
memcached() {
    touch "$EMPTY"
    exec memcached -u nobody -l 0.0.0.0 -p 11211 -m 2 -n 976 -o no_modern
}

case "${1:-}" in
memcached | redis | zookeeper) "$1" ;;
*)
    echo "usage: node.sh memcached|redis|zookeeper" >&2
    exit 64
    ;;
esac
