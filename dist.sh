#!/usr/bin/env bash
# Builds the fastest picklock, target/dist/picklock: everything optimised together, and laid out by
# a profile of the simulator and the checkers at work. On two cores that takes some ten minutes, or
# five with --no-default-features, for a picklock without real servers. On Debian, as root, it
# installs what it needs; otherwise it says what is missing.
#
#   ./dist.sh [options for cargo, such as --no-default-features]
set -euo pipefail
cd "$(dirname "$0")"

# What reads profiles has to be as new as the compiler that writes them.
llvm=$(rustc -vV | sed -n 's/^LLVM version: \([0-9]*\).*/\1/p')
host=$(rustc -vV | sed -n 's/^host: //p')
find_profdata() {
    local names=("$(rustc --print sysroot)/lib/rustlib/$host/bin/llvm-profdata" "llvm-profdata-$llvm")
    profdata=$(command -v "${names[@]}" | head -n 1)
    [ -n "$profdata" ]
}
if ! find_profdata && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
    export DEBIAN_FRONTEND=noninteractive
    { apt-get update -qq && apt-get install -y -qq --no-install-recommends "llvm-$llvm"; } || true
fi
if ! find_profdata; then
    echo "dist.sh: no llvm-profdata for LLVM $llvm; fix: rustup component add llvm-tools," >&2
    echo "         or install the package llvm-$llvm" >&2
    exit 1
fi

target=${CARGO_TARGET_DIR:-$PWD/target}
work=$target/profile
RUSTFLAGS="-Cprofile-generate=$work/raw" cargo build --profile dist --target-dir "$work" "$@"

# Build scripts have left profiles, too.
rm -rf "$work/raw" "$work/store"
train() { "$work/dist/picklock" "$@" >/dev/null || [ $? -le 2 ]; }
train bench sim --time 300ms --rounds 2
train explore --algo redis-set-nx-px --nemesis pause --seeds 100
train explore --algo zk-rw --nemesis partition --seeds 100
train test --backend sim --algo zk-sequential --nemesis crash --store "$work/store"
train bench check --operations 100000 --rounds 1
"$profdata" merge --output "$work/profile" "$work/raw"

RUSTFLAGS="-Cprofile-use=$work/profile" cargo build --profile dist "$@"
echo "built $target/dist/picklock"
