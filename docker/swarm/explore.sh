#!/bin/sh
# Searches on a Docker Swarm: a replicated job with a shard a task, added up at the end.
#
#   sh docker/swarm/explore.sh SHARDS --algo LOCK --nemesis NEMESIS --seeds N ...
#
# Needs a swarm (`docker swarm init`) and the binary (`cargo build --release --no-default-features`).
# Where the swarm has several nodes, IMAGE names a registry that all of them can pull from, and the
# image is pushed there. Each task says its result on stdout, which `docker service logs` collects
# from all nodes, so no volume is shared. The exit code is that of `picklock merge`.
set -eu

case ${1:-} in '' | *[!0-9]* | 0*)
    echo "explore.sh: how many shards? sh docker/swarm/explore.sh 16 --algo zk-rw ..." >&2
    exit 254
esac
SHARDS=$1
shift
IMAGE=${IMAGE:-picklock-explore}
SERVICE=picklock-explore-$$
HERE=$(dirname "$0")
BINARY=${BINARY:-$HERE/../../target/release/picklock}

fail() {
    echo "explore.sh: $1" >&2
    exit 255
}

[ -x "$BINARY" ] || fail "no $BINARY; fix: cargo build --release --no-default-features"
[ "$(docker info --format '{{.Swarm.LocalNodeState}}')" = active ] ||
    fail "this engine is in no swarm; fix: docker swarm init"
sh "$HERE/../base.sh" >&2

WORK=$(mktemp -d)
trap 'docker service rm "$SERVICE" >/dev/null 2>&1 || true; rm -rf "$WORK"' EXIT
trap 'exit 255' HUP INT TERM
cp "$BINARY" "$HERE/shard.sh" "$WORK"
docker build -q -t "$IMAGE" -f "$HERE/Dockerfile" "$WORK" >&2
case $IMAGE in */*) docker push -q "$IMAGE" >&2 ;; esac

# 1 and 2 are answers, not failures, so nothing is started again. Templates work in --env alone.
docker service create --detach --quiet --name "$SERVICE" --label picklock \
    --mode replicated-job --replicas "$SHARDS" --restart-condition none \
    --env "SLOT={{.Task.Slot}}" --env "SHARDS=$SHARDS" \
    "$IMAGE" "$@" >/dev/null 2>&1

ended() {
    docker service ps "$SERVICE" --format '{{.CurrentState}}' | grep -Ec '^(Complete|Failed|Rejected)' || true
}
until [ "$(ended)" -ge "$SHARDS" ]; do sleep 1; done

# A line a task; what a task had to say besides went to its stderr.
docker service logs --raw "$SERVICE" 2>"$WORK/errors" | grep '^{' >"$WORK/results" || true
split -l 1 -a 4 -d --additional-suffix=.json "$WORK/results" "$WORK/shard-"
if [ "$(wc -l <"$WORK/results")" -lt "$SHARDS" ]; then
    cat "$WORK/errors" >&2
    fail "only $(wc -l <"$WORK/results") of $SHARDS shards answered"
fi
"$BINARY" merge "$WORK"/shard-*.json
