#!/bin/sh
# Becomes the JVM that runs an adapter of this folder: `sh run.sh CuratorMutex`. Compiles them all when one of them is
# new: the first process does so, and others wait for it.
set -eu
cd "$(dirname "$0")"
jars=/usr/share/java
path=$jars/curator-recipes.jar:$jars/zookeeper-recipes-lock.jar:$jars/slf4j-simple.jar
cache=${XDG_CACHE_HOME:-${HOME:-/tmp}/.cache}/picklock-adapters
classes=$cache/java-$(cat run.sh ./*.java | cksum | tr ' ' -)
if [ ! -d "$classes" ]; then
    mkdir -p "$cache"
    (
        flock 9
        [ ! -d "$classes" ] || exit 0
        rm -rf "$cache/java-new"
        javac -d "$cache/java-new" -cp "$path" ./*.java >&2
        mv "$cache/java-new" "$classes"
    ) 9>"$cache/lock"
fi
exec java -XX:+UseSerialGC -XX:TieredStopAtLevel=1 -XX:-UsePerfData -Dorg.slf4j.simpleLogger.defaultLogLevel=warn \
    -cp "$classes:$path" "$1"
