#!/usr/bin/env bash
# Runs every fuzz target for a while: fuzz/run.sh [SECONDS], 20 unless told; `fuzz/run.sh build` only builds
# them, and takes cargo's options. Stable Rust and a C++ compiler (for libFuzzer) are enough: the flags are
# those of `cargo fuzz run --sanitizer none`. No sanitizer watches, but panics, overflows, time-outs and
# memory are watched all the same.
set -euo pipefail
cd "$(dirname "$0")"
seconds=${1:-20}

flags="--cfg fuzzing -Ccodegen-units=1 -Cpasses=sancov-module"
for coverage in level=4 inline-8bit-counters pc-table trace-compares; do
    flags+=" -Cllvm-args=-sanitizer-coverage-$coverage"
done
# With a target named, the flags stay away from build scripts and macros.
host=$(rustc -vV | sed -n 's/^host: //p')
export RUSTFLAGS="$flags"
if [ "$seconds" = build ]; then
    exec cargo build --release --target "$host" "${@:2}"
fi
cargo build --release --target "$host"

for target in run jsonl edn log; do
    printf '\n== fuzz %s, %s s\n' "$target" "$seconds"
    # What is new goes to the scratch folder; what is worth keeping is moved by hand.
    mkdir -p "scratch/$target" "artifacts/$target"
    "target/$host/release/$target" "scratch/$target" "corpus/$target" \
        -artifact_prefix="artifacts/$target/" -max_total_time="$seconds" -max_len=65536 \
        -timeout=10 -rss_limit_mb=1024 -verbosity=0 -print_final_stats=1
done
