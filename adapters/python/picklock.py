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
anything but None: that is "not granted". A grant with an attribute `fencing_token`, a whole number, is fenced; one with
`valid_seconds` says for how long it is good from now on. A lock
that readers share takes a third argument, `shared`; a semaphore of which an acquire can take several permits, all or
none, takes one of the name `permits`; one whose writers become readers has `convert(grant, shared)`, which
returns the new grant; one that can be given more time has `extend(grant)`, which returns the grant, or None if it is
over; `held(grant)` says whether the lock still claims it. It may take a second argument, the seconds for which an answer
counts: a later one claims nothing. An exception of `definite` says that nothing has happened;
after any other nobody knows.

Methods may be coroutines (`async def`), which one event loop runs. Then the harness can cancel an acquire or a release.
"""

import asyncio
import functools
import inspect
import json
import os
import queue
import sys
import threading


NOT_HELD = {"type": "fail", "code": "not-held", "error": "not held"}


class Run:
    """What the harness says of a run: `ttl` in seconds, `servers` as host:port, and all else in `init`."""

    def __init__(self, init, workers, say):
        self.init, self.ttl, self.servers = init, init["ttl_ns"] / 1e9, init["servers"]
        self._workers, self._say = workers, say

    def lost(self, error, worker=None, level="lost"):
        """Tells the harness that a worker, or all of them, may have lost what they hold. Callable from any thread."""
        for number in list(self._workers) if worker is None else [worker]:
            self._say(type="lost", worker=number, level=level, error=str(error))

    def doubt(self, error, worker=None):
        """The same of a loss that is in doubt, and in spite of which the program goes on."""
        self.lost(error, worker, level="doubt")


def serve(make, definite=()):
    """Serves the harness until it says `exit` or hangs up. `make(run)` makes the lock."""
    out = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # Whatever a library prints goes to the log.
    saying = threading.Lock()

    def say(**answer):
        with saying:
            out.write(json.dumps(answer) + "\n")

    workers, lock, calls = {}, None, _Calls()
    for line in sys.stdin:
        request = json.loads(line)
        if request["op"] == "exit":
            break
        if request["op"] == "init":
            lock = calls.call(request["id"], make, Run(request, workers, say))
            say(id=request["id"], type="ok", version=1, can=_abilities(lock))
            continue
        if request["op"] == "cancel":
            calls.cancel(request["request"])
            continue
        worker = request.get("worker", 0)
        if worker not in workers:
            workers[worker] = queue.Queue()
            work = (lock, calls, workers[worker], say, definite)
            threading.Thread(target=_work, args=work, daemon=True).start()
        workers[worker].put(request)
    os._exit(0)  # Threads of the lock need not end.


class _Calls:
    """The calls of a lock. Those that are coroutines run in one event loop, and can be cancelled there."""

    def __init__(self):
        self._loop, self._tasks, self._cancelled = asyncio.new_event_loop(), {}, set()
        threading.Thread(target=self._loop.run_forever, daemon=True).start()

    def call(self, request, method, *arguments):
        made = method(*arguments)
        if not inspect.isawaitable(made):
            return made
        return asyncio.run_coroutine_threadsafe(self._await(request, made), self._loop).result()

    async def _await(self, request, made):
        task = self._tasks[request] = asyncio.current_task()
        if request in self._cancelled:  # Before it began.
            task.cancel()
        try:
            return await made
        finally:
            del self._tasks[request]

    def cancel(self, request):
        self._cancelled.add(request)
        self._loop.call_soon_threadsafe(lambda: request in self._tasks and self._tasks[request].cancel())


def _abilities(lock):
    """What a lock can do beyond the four requests, by what it defines."""
    parameters = inspect.signature(lock.acquire).parameters
    takes = len(parameters.keys() - {"permits"})
    can = [name for name in ("convert", "extend", "held") if hasattr(lock, name)]
    cancels = all(map(inspect.iscoroutinefunction, (lock.acquire, lock.release)))
    takes = {"timed": takes > 1, "shared": takes > 2, "permits": "permits" in parameters, "cancel": cancels}
    return can + ["workers"] + [name for name, is_able in takes.items() if is_able]


def _work(lock, calls, requests, say, definite):
    grants = {}
    while True:
        request = requests.get()
        answer = {"id": request["id"], "worker": request.get("worker", 0)}
        try:
            answer.update(_answer(lock, calls, grants, request))
        except definite as error:
            answer.update(type="fail", error=repr(error))
        except Exception as error:  # Nobody knows what has happened.
            answer.update(type="info", error=repr(error))
        say(**answer)


def _answer(lock, calls, grants, request):
    operation, hold = request["op"], request.get("hold", 0)
    call = functools.partial(calls.call, request["id"])
    if operation == "touch":
        return {"type": "ok"}
    if operation != "acquire" and hold not in grants:
        return NOT_HELD
    if operation == "release":
        call(lock.release, grants.pop(hold))
        return {"type": "ok"}
    if operation == "held":
        arguments = [grants[hold], request["within_ns"] / 1e9]
        held = call(lock.held, *arguments[: len(inspect.signature(lock.held).parameters)])
        return {"type": "ok"} if held else NOT_HELD
    shared = request.get("mode") == "shared"
    if operation == "convert":
        grant = call(lock.convert, grants[hold], shared)
    elif operation == "extend":
        grant = call(lock.extend, grants[hold])
    else:
        takes = inspect.signature(lock.acquire).parameters.keys()
        permits = {"permits": request.get("permits", 1)} if "permits" in takes else {}
        arguments = [request["key"], request["acquire_timeout_ns"] / 1e9, shared]
        grant = call(functools.partial(lock.acquire, **permits), *arguments[: len(takes - {"permits"})])
    if grant is None:
        return {"type": "fail", "error": "not granted"}
    grants[hold] = grant
    token, valid = getattr(grant, "fencing_token", None), getattr(grant, "valid_seconds", None)
    told = {"token": token, "valid_ns": None if valid is None else round(valid * 1e9)}
    return {"type": "ok"} | {name: value for name, value in told.items() if value is not None}
