#!/usr/bin/env bash
# SET NX PX with redis-cli: a lock as it stands in many scripts. It serves one worker, and needs no jq.
field() { sed -n "s/.*\"$1\":\"\{0,1\}\([^,\"}]*\).*/\1/p" <<<"$line"; }
say() { echo "{\"id\":$(field id),\"type\":\"$1\"$2}"; }
redis() { timeout 2 redis-cli -u "$REDIS_URL" "$@"; }
compare_and_delete='if redis.call("GET",KEYS[1]) == ARGV[1] then return redis.call("DEL",KEYS[1]) end return 0'

while read -r line; do
    case $(field op) in
    init) ttl=$(($(field ttl_ns) / 1000000)) && say ok ',"can":["timed"]' ;;
    touch) say ok ;;
    exit) exit ;;
    acquire)
        key=$(field key) token=$$-$RANDOM-$SECONDS-$(field id)
        until=$(($(date +%s%N) + $(field acquire_timeout_ns)))
        while granted=$(redis SET "$key" "$token" NX PX "$ttl" 2>&1); [ "$granted" != OK ]; do
            # An error or a time-out: nobody knows whether the key was set.
            [ -z "$granted" ] || { say info && continue 2; }
            [ "$(date +%s%N)" -lt "$until" ] || { say fail && continue 2; }
            sleep 0.05
        done
        say ok
        ;;
    release)
        case $(redis EVAL "$compare_and_delete" 1 "$key" "$token" 2>&1) in
        1) say ok ;;
        0) say fail ;;
        *) say info ;;
        esac
        ;;
    *) say fail ;;
    esac
done
