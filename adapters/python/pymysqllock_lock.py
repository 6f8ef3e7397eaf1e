"""PyMySQLLock: GET_LOCK on a connection for each lock (tried with 0.2.0 on PyMySQL 1.2.4 and MariaDB 10.11)."""
import os
import time
import picklock
from PyMySQLLock import Locker


def locker():
    """Returns a locker, for which it tries again while the server is down."""
    host, port = os.environ["SERVER"].split(":")
    while True:
        try:
            return Locker(host=host, port=int(port), user="root")
        except Exception as error:
            print(repr(error))
            time.sleep(0.2)


class PyMySQLLock:
    def __init__(self, run):
        self.locker = locker()

    def acquire(self, key, timeout):
        lock = self.locker.lock(key)
        return lock if lock.acquire(timeout=round(timeout)) else None

    def held(self, lock):
        return lock.locked()  # It does not ask.

    def release(self, lock):
        lock.release()


picklock.serve(PyMySQLLock)
