#!/bin/sh
# Does the share of one task of a job, and says the result on one line, since the lines of all tasks come
# out of one log as they happened. It is a search, or with COMMAND=suite a suite.
#
# SHARDS is the number of tasks. Tasks are numbered from 0, and shards from 1. A Kubernetes Indexed Job
# has the number in JOB_COMPLETION_INDEX; in a Swarm it is SLOT={{.Task.Slot}}, where the engine fills in
# the id of the node instead for task 0.
SLOT=${SLOT:-${JOB_COMPLETION_INDEX:-}}
case $SLOT in *[!0-9]*) SLOT=0 ;; esac
picklock "${COMMAND:-explore}" --shard $((SLOT + 1))/"$SHARDS" --format json "$@" >/tmp/result
status=$?
tr -d '\n' </tmp/result
echo
exit $status
