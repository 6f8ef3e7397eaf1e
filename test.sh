#!/usr/bin/env bash
# The checks of every change: formatting, lints, and all tests, in the simulator and on real servers.
# On Debian, as root, it installs what it needs; otherwise it says what is missing.
set -euo pipefail
cd "$(dirname "$0")"

# The hundredths of a second for which the processors had nothing to do in the first two seconds, before there is any
# work of ours; all of them, where they cannot be read.
idle() { awk '/^cpu /{ print $5 }' /proc/stat 2>/dev/null || echo 0; }
rested=$(idle)
sleep 2
rested=$([ "$rested" = 0 ] && echo 1000000 || echo $(($(idle) - rested)))
# Succeeds where other work takes all of the machine: nine tenths of it, and more.
busy() { [ "$rested" -lt $((20 * $(nproc))) ]; }
# Says what begins, and after how many seconds of the whole.
begun=$(date +%s)
export begun rested
step() { printf '\n== %s s: %s\n' $(($(date +%s) - begun)) "$*"; }

# The eighth of the rows and of the libraries on real servers that is run: 1 to 8, or `all`. They come in turn, a commit
# each; where the commits cannot be counted, a day each. PICKLOCK_EIGHTH says it otherwise.
which_eighth() {
    if [ -n "${PICKLOCK_EIGHTH:-}" ]; then
        echo "$PICKLOCK_EIGHTH"
    elif [ "$(git rev-parse --is-shallow-repository 2>/dev/null)" = false ]; then
        echo $(($(git rev-list --count HEAD) % 8 + 1))
    else
        echo $(($(date +%s) / 86400 % 8 + 1))
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
need openssl openssl
need "$(command -v initdb || find /usr/lib/postgresql/*/bin/initdb 2>/dev/null | head -n 1)" postgresql
need etcd etcd-server
need /usr/sbin/mariadbd mariadb-server-core
need etcdctl etcd-client
need "/usr/lib/$(uname -m)-linux-gnu/faketime/libfaketimeMT.so.1" faketime
need "/usr/lib/$(uname -m)-linux-gnu/libmimalloc.so.2" libmimalloc2.0
need java default-jre-headless
need javac default-jdk-headless
# The libraries whose locks are tested by adapters, for Debian's own Python.
for library in redis kazoo pymemcache psycopg2; do
    need "/usr/lib/python3/dist-packages/$library/__init__.py" "python3-$library"
done
need "$(find /usr/lib/python3.*/ensurepip/__init__.py 2>/dev/null | head -n 1)" python3-venv
# And for Debian's own Java.
need /usr/share/java/curator-recipes.jar libcurator-recipes-java
need /usr/share/java/zookeeper.jar libzookeeper-java
need /usr/share/java/slf4j-simple.jar libslf4j-java
# And for Go, from its sources in Debian's packages.
need go golang-go
need /usr/share/gocode/src/go.etcd.io/etcd/clientv3/concurrency/mutex.go golang-etcd-server-dev
# And for Node.js, Ruby and PHP.
need node nodejs
need /usr/share/nodejs/redis/package.json node-redis
need ruby ruby
need "$(find /usr/share/rubygems-integration/all/gems/redis-*/lib/redis.rb 2>/dev/null | head -n 1)" ruby-redis
need php php-cli
need protoc protobuf-compiler
need /usr/share/php/Symfony/Component/Lock/autoload.php php-symfony-lock
need /usr/share/php/Malkusch/Lock/autoload.php php-malkusch-lock
need "$(find /usr/lib/php/*/redis.so 2>/dev/null | head -n 1)" php-redis
# For whoever installs them in some other way, as a job of CI does.
if [ "${1:-}" = --missing ]; then
    echo "${missing[@]}"
    exit
fi
if [ ${#missing[@]} -gt 0 ]; then
    if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null 2>&1; then
        echo "missing: ${missing[*]}; install them, or run this as root on Debian" >&2
        exit 1
    fi
    step "installing ${missing[*]}"
    apt-get update -qq
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}"
fi

export HOME=${HOME:-$(getent passwd "$(id -u)" | cut -d : -f 6)}
mkdir -p target
eighth=$(which_eighth)
# The adapters to compile: etcd_mutex, which tests on given servers have as well, and those in Rust of the libraries that
# are run, the suite's eighth as `--shard` counts it.
compiled_adapters() {
    local locks entries first=1 last='$'
    locks=$(sed -n 's|^lock = "../adapters/\(.*\).toml"|\1|p' suites/libraries.toml)
    entries=$(wc -l <<<"$locks")
    if [ "$eighth" != all ]; then first=$((entries * (eighth - 1) / 8 + 1)) last=$((entries * eighth / 8)); fi
    echo go/etcd_mutex
    sed -n "$first,${last}p" <<<"$locks" | sed -n '/^rust/p' | sort -u
}
# Made meanwhile: an environment of their own for Python's other libraries, where `real_own_lock` finds them, three of
# another version, each beside the rest, and the programs of those that are compiled.
adapters() {
    local python=${XDG_CACHE_HOME:-$HOME/.cache}/picklock-adapters/python
    [ -x "$python/bin/pip" ] || /usr/bin/python3 -m venv --system-site-packages "$python"
    "$python/bin/pip" install -q --disable-pip-version-check -r adapters/python/requirements.txt
    for library in redis==5.0.8/redis_asyncio_deadline.py kazoo==2.11.0/kazoo_rw.py tenacity==6.1.0/etcd3_lock.py; do
        PATH=$python/bin:$PATH sh adapters/python/with.sh "${library%/*}" "${library#*/}"
    done
    for adapter in $(compiled_adapters); do sh "adapters/${adapter%/*}/run.sh" "${adapter#*/}"; done
}
adapters >target/adapters.log 2>&1 </dev/null &
adapters=$!

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

# The layers of the servers' image take minutes. Docker keeps them: picklock, once it is built, finds them made.
{ sh docker/base.sh && DOCKER_BUILDKIT=0 docker build -q docker; } >target/image.log 2>&1 </dev/null &
layers=$!
trap 'kill $layers 2>/dev/null || true' EXIT

step "formatting"
cargo fmt --all -- --check
tests() { cargo test --release --workspace "$@"; }
# Unit tests are over in seconds; what would take minutes is to optimise their crates.
unit_tests() {
    local quick=()
    for crate in picklock picklock-{base,checkers,histories,nemesis,sim,stores,workloads}; do
        quick+=(--config "profile.release.package.$crate.opt-level=0")
    done
    tests --lib "${quick[@]}" "$@"
}
# Three lanes of tests that wait most of the time, one after the other in each; and those that look at all of the machine,
# or make as many runs at a time as it bears. All but the one that needs the build with Toxiproxy.
lane_1=(real_table real_script real_helpers)
lane_2=(real_conformance real_lab real_routed real_interference)
lane_3=(real_given real_ledger real_clock)
lanes=("${lane_1[@]}" "${lane_2[@]}" "${lane_3[@]}")
alone=(real_own_lock real_backend real_killed real_leftovers)
step "the build of picklock and of its tests on real servers"
built=$(printf -- ' --test %s' "${lanes[@]}" "${alone[@]}")
# shellcheck disable=SC2086
CARGO_TERM_COLOR=never tests --no-run $built 2>&1 | tee target/built.log
# Runs tests by their programs: while something is built, as what only computes is, no `cargo` can begin.
programs() { for name in "$@"; do sed -n "s|.*Executable tests/$name[./].*(\(.*\))|\1|p" target/built.log; done; }
for name in "${lanes[@]}" "${alone[@]}"; do
    [ -n "$(programs "$name")" ] || { echo "there is no test program of $name" >&2; exit 1; }
done
run_alone() {
    for program in "$@"; do
        printf '\n   Running %s\n' "$program"
        "$program" </dev/null
    done
}
# What fails beside others is noted, to be run once more when it is alone.
: >target/again
run_in_lane() { for program in "$@"; do run_alone "$program" || echo "$program" >>target/again; done; }

# What only computes runs beside the tests on real servers, most of which wait, and gives way to them. Linux weighs
# sessions against each other whatever the niceness of their processes, and a session has a niceness of its own.
# The lints are built as the tests are, so that macros and what build scripts compile are built once.
compute() {
    # Beside other work of the machine it would hardly get a turn, and takes its share.
    busy || { echo 19 >/proc/self/autogroup; } 2>/dev/null || true
    step "the gate in the simulator"
    ./target/release/picklock suite suites/seeds.toml --seeds 300 --store target/store --junit target/gate.xml
    step "tests: the simulator, the checkers, the reports"
    # Once a week the matrix of locks and nemeses gets more seeds.
    export PICKLOCK_MATRIX=${PICKLOCK_MATRIX:-1} PICKLOCK_COVERAGE=${PICKLOCK_COVERAGE:-10}
    # The example as a crate of somebody else takes minutes to build: a job of its own has it (ci.yml).
    unit_tests
    tests --test '[!or]*' --test oracle
    tests --doc
    step "lints"
    cargo clippy --release --workspace --all-targets -- -D warnings
}
export -f step busy tests unit_tests compute
setsid nice -n 19 bash -euo pipefail -c compute >target/computed.log 2>&1 &
computed=$!
trap 'kill -- -$computed $layers 2>/dev/null || true' EXIT

# Not beside what makes the image. Tests that need it make it, if that could not.
wait $layers || true
wait $adapters || { cat target/adapters.log; exit 1; }
export PICKLOCK_EIGHTH=$eighth
# Beside other work of the machine, servers of many runs at a time would not answer before their clients give up.
if busy; then export RUST_TEST_THREADS=2; fi
step "tests on real servers: models, faults, and eighth $eighth of the rows and libraries"
run_in_lane $(programs "${lane_2[@]}") >target/lane-2.log 2>&1 &
second=$!
run_in_lane $(programs "${lane_3[@]}") >target/lane-3.log 2>&1 &
third=$!
trap 'kill -- -$computed $second $third 2>/dev/null || true' EXIT
run_in_lane $(programs "${lane_1[@]}")
wait $second $third
trap 'kill -- -$computed 2>/dev/null || true' EXIT
cat target/lane-2.log target/lane-3.log
step "tests on real servers: how they are run, what is left of them, and what failed beside others"
run_alone $(programs "${alone[@]}") $(cat target/again)
step "tests that only compute"
# Nothing is left to give way to: beside other work of the machine, what gives way would take for ever.
{ echo 0 >"/proc/$computed/autogroup"; } 2>/dev/null || true
wait $computed || { cat target/computed.log; exit 1; }
trap - EXIT
grep -E "^==|^test |result:|entries in|Finished" target/computed.log
step "tests: more runs at once than the engine has subnets"
unit_tests -- --ignored
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
