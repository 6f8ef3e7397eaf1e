"""PALs: PostgreSQL's advisory locks by SQLAlchemy (tried with 0.4.0 on SQLAlchemy 2.1.9 and psycopg2 2.9.5)."""
import os
import pals
import picklock


class Pals:
    def __init__(self, run):
        url = os.environ["DATABASE_URL"].replace("postgresql://", "postgresql+psycopg2://", 1)
        self.locker = pals.Locker("picklock", url)

    def acquire(self, key, timeout, shared):
        lock = self.locker.lock(key, shared=shared)
        granted = lock.acquire(acquire_timeout=int(timeout * 1000)) if timeout else lock.acquire(blocking=False)
        return lock if granted else None

    def held(self, lock):
        return not lock.conn.invalidated  # It does not ask.

    def release(self, lock):
        if not lock.release():
            raise RuntimeError("PALs says that it was not released")


picklock.serve(Pals)
