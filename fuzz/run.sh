#!/usr/bin/env bash
# Runs every fuzz target for a while: fuzz/run.sh [SECONDS], 20 unless told. Needs no nightly Rust:
# there is no sanitizer to be had, but panics, time-outs and memory are watched all the same.
set -euo pipefail
cd "$(dirname "$0")"
seconds=${1:-20}

if ! command -v cargo-fuzz >/dev/null 2>&1; then
    cargo install cargo-fuzz --version 0.13.2 --locked
fi
for target in run jsonl edn log; do
    printf '\n== fuzz %s, %s s\n' "$target" "$seconds"
    # What is new goes to the scratch folder; what is worth keeping is moved by hand.
    mkdir -p "scratch/$target"
    cargo fuzz run --sanitizer none "$target" "scratch/$target" "corpus/$target" -- \
        -max_total_time="$seconds" -max_len=65536 -timeout=10 -rss_limit_mb=1024 -print_final_stats=1
done
