"""A lock client of picklock in Python: one file, without dependencies.

    import os, redis, picklock

    class MyLock:
        def __init__(self, run):
            self.redis, self.ttl = redis.Redis.from_url(os.environ["REDIS_URL"]), run.ttl

        def acquire(self, key, timeout):
            lock = self.redis.lock(key, timeout=self.ttl)
            return lock if lock.acquire(blocking_timeout=timeout) else None

        def release(self, lock):
            lock.release()

    picklock.serve(MyLock, definite=(redis.exceptions.LockError,))

One object serves a client process; its workers call it from a thread each. `acquire` returns the grant, which may be
anything but None: that is "not granted". A grant with an attribute `fencing_token`, a whole number, is fenced. A lock
that readers share takes a third argument, `shared`; one whose writers become readers has `convert(grant, shared)`, which
returns the new grant; one that can be given more time has `extend(grant)`, which returns the grant, or None if it is
over; `held(grant)` says whether the lock still claims it. An exception of `definite` says that nothing has happened;
after any other nobody knows.
"""

import inspect
import json
import os
import queue
import sys
import threading


class Run:
    """What the harness says of a run: `ttl` in seconds, `servers` as host:port, and all else in `init`."""

    def __init__(self, init, say):
        self.init, self.ttl, self.servers = init, init["ttl_ns"] / 1e9, init["servers"]
        self._say = say

    def lost(self, error, worker=None):
        """Tells the harness that a worker, or the only one, may have lost what it holds. Callable from any thread."""
        self._say(type="lost", worker=worker or 0, error=str(error))


def serve(make, definite=()):
    """Serves the harness until it says `exit` or hangs up. `make(run)` makes the lock."""
    out = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # Whatever a library prints goes to the log.
    saying = threading.Lock()

    def say(**answer):
        with saying:
            out.write(json.dumps(answer) + "\n")

    workers, lock = {}, None
    for line in sys.stdin:
        request = json.loads(line)
        if request["op"] == "exit":
            break
        if request["op"] == "init":
            lock = make(Run(request, say))
            say(id=request["id"], type="ok")
            continue
        worker = request.get("worker", 0)
        if worker not in workers:
            workers[worker] = queue.Queue()
            threading.Thread(target=_work, args=(lock, workers[worker], say, definite), daemon=True).start()
        workers[worker].put(request)
    os._exit(0)  # Threads of the lock need not end.


def _work(lock, requests, say, definite):
    grants = {}
    while True:
        request = requests.get()
        answer = {"id": request["id"], "worker": request.get("worker", 0)}
        try:
            answer.update(_answer(lock, grants, request))
        except definite as error:
            answer.update(type="fail", error=repr(error))
        except Exception as error:  # Nobody knows what has happened.
            answer.update(type="info", error=repr(error))
        say(**answer)


def _answer(lock, grants, request):
    operation, hold = request["op"], request.get("hold", 0)
    if operation == "touch":
        return {"type": "ok"}
    if operation == "release":
        lock.release(grants.pop(hold))
        return {"type": "ok"}
    if operation == "held":
        return {"type": "ok"} if lock.held(grants[hold]) else {"type": "fail", "error": "not held"}
    shared = request.get("mode") == "shared"
    if operation == "convert":
        grant = lock.convert(grants[hold], shared)
    elif operation == "extend":
        grant = lock.extend(grants[hold])
    else:
        arguments = [request["key"], request["acquire_timeout_ns"] / 1e9, shared]
        grant = lock.acquire(*arguments[: len(inspect.signature(lock.acquire).parameters)])
    if grant is None:
        return {"type": "fail", "error": "not granted"}
    grants[hold] = grant
    token = getattr(grant, "fencing_token", None)
    return {"type": "ok"} if token is None else {"type": "ok", "token": token}
