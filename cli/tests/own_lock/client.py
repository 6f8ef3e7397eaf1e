"""A client that does what a client has to, without any helper: memcached's `add`."""
import json
import os
import socket
import sys
import threading
import time

out = open(1, "w", closefd=False)
server = os.environ["MEMCACHED_SERVERS"].split(":")
saying, connection, held = threading.Lock(), [], set()


def say(**answer):
    with saying:
        print(json.dumps(answer), file=out, flush=True)


def store(command):
    if not connection:
        connection.append(socket.create_connection(server, timeout=2))
    try:
        connection[0].sendall(command.encode() + b"\r\n")
        return connection[0].recv(64).decode().split()[0]
    except (OSError, IndexError):
        connection.pop().close()
        raise


def carry_out(request):
    if request["op"] == "touch":
        return "ok"
    if request["op"] == "release":
        if not held:
            return "fail"
        return "ok" if store(f"delete {held.pop()}") == "DELETED" else "fail"
    key, until = request["key"], time.monotonic() + request["acquire_timeout_ns"] / 1e9
    while store(f"add {key} 0 60 1\r\n1") != "STORED":
        if time.monotonic() >= until:
            return "fail"
        time.sleep(0.05)
    held.add(key)
    return "ok"


def answer(request):
    try:
        kind = carry_out(request)
    except (OSError, IndexError):
        kind = "info"
    say(id=request["id"], worker=request["worker"], type=kind)


for line in sys.stdin:
    request = json.loads(line)
    if request["op"] == "exit":
        break
    if request["op"] == "init":
        say(id=0, type="ok")
        continue
    threading.Thread(target=answer, args=[request], daemon=True).start()
