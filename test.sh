#!/usr/bin/env bash
# Every check of picklock: formatting, lints, all tests, in the simulator and on real servers, and
# every reader of histories on bytes that a fuzzer makes up.
# On Debian, as root, it installs what it needs; otherwise it says what is missing.
set -euo pipefail
cd "$(dirname "$0")"

step() { printf '\n== %s\n' "$*"; }

# The third of the rows on real servers that is run: 1, 2, 3 or `all`. They come in turn, a commit each; where
# the commits cannot be counted, a day each. PICKLOCK_THIRD says it otherwise.
which_third() {
    if [ -n "${PICKLOCK_THIRD:-}" ]; then
        echo "$PICKLOCK_THIRD"
    elif [ "$(git rev-parse --is-shallow-repository 2>/dev/null)" = false ]; then
        echo $(($(git rev-list --count HEAD) % 3 + 1))
    else
        echo $(($(date +%s) / 86400 % 3 + 1))
    fi
}

# What the tests need beside Rust, as commands or files and as Debian's packages.
need() { # command-or-file package
    command -v "$1" >/dev/null 2>&1 || [ -f "$1" ] || missing+=("$2")
}

missing=()
need cc gcc
need c++ g++
need make make
need docker docker.io
need debootstrap debootstrap
need redis-server redis-server
need memcached memcached
need "$(command -v initdb || find /usr/lib/postgresql/*/bin/initdb 2>/dev/null | head -n 1)" postgresql
need etcd etcd-server
need etcdctl etcd-client
need "/usr/lib/$(uname -m)-linux-gnu/faketime/libfaketimeMT.so.1" faketime
need "/usr/lib/$(uname -m)-linux-gnu/libmimalloc.so.2" libmimalloc2.0
need java default-jre-headless
need /usr/share/java/zookeeper.jar libzookeeper-java
need /usr/share/java/slf4j-simple.jar libslf4j-java
need pkg-config pkg-config
need /usr/include/openssl/ssl.h libssl-dev
if [ ${#missing[@]} -gt 0 ]; then
    if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null 2>&1; then
        echo "missing: ${missing[*]}; install them, or run this as root on Debian" >&2
        exit 1
    fi
    step "installing ${missing[*]}"
    apt-get update -qq
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}"
fi

if ! docker info >/dev/null 2>&1; then
    # A fresh installation starts the daemon where there is an init system; elsewhere it is ours.
    if [ "$(id -u)" = 0 ] && command -v dockerd >/dev/null 2>&1; then
        step "starting the Docker daemon"
        (service docker start || (dockerd >/tmp/picklock-dockerd.log 2>&1 &)) >/dev/null 2>&1
        for _ in $(seq 30); do docker info >/dev/null 2>&1 && break; sleep 1; done
    fi
    if ! docker info >/dev/null 2>&1; then
        echo "no Docker daemon answers (docker info); the real-server tests need one" >&2
        exit 1
    fi
fi

step "formatting"
cargo fmt --all -- --check
# As the tests are built, so that macros and what build scripts compile are built once.
step "lints"
cargo clippy --release --workspace --all-targets --features picklock/toxiproxy -- -D warnings
cargo clippy --release -p picklock --all-targets -- -D warnings
cargo clippy --release -p picklock --no-default-features --all-targets -- -D warnings
third=$(which_third)
step "tests: the build"
cargo test --release --workspace --features picklock/toxiproxy --no-run
# What only computes runs on one core beside the tests, most of which wait for servers, and gives way to them.
mkdir -p target
nice -n 19 fuzz/run.sh build --jobs 1 >target/fuzz-build.log 2>&1 &
fuzz_build=$!
nice -n 19 ./target/release/picklock suite suites/seeds.toml --seeds 1000 --jobs 1 --store target/store \
    --junit target/gate.xml >target/gate.log 2>&1 &
gate=$!
trap 'kill $fuzz_build $gate 2>/dev/null || true' EXIT
step "tests: the simulator, the checkers, the reports, and third $third of the rows on real servers"
PICKLOCK_THIRD=$third cargo test --release --workspace --features picklock/toxiproxy
step "the gate in the simulator"
wait $gate || { cat target/gate.log; exit 1; }
tail -n 1 target/gate.log
step "fuzzing"
wait $fuzz_build || { cat target/fuzz-build.log; exit 1; }
fuzz/run.sh 20
step "nothing is left behind"
./target/release/picklock clean
if [ -n "$(docker ps -aq --filter label=picklock)$(docker network ls -q --filter label=picklock)" ]; then
    echo "containers or networks of picklock are still there" >&2
    exit 1
fi
if compgen -G "${TMPDIR:-/tmp}/picklock_*"; then
    echo "folders of picklock are still there" >&2
    exit 1
fi
step "all passed"
