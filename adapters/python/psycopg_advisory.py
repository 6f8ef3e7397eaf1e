"""PostgreSQL's advisory locks of a session, by psycopg2 (tried with 2.9.5)."""
import os
import zlib
import picklock
import psycopg2


class Advisory:
    def __init__(self, run):
        self.session = psycopg2.connect(os.environ["DATABASE_URL"])
        self.session.autocommit = True

    def acquire(self, key, timeout):
        number = zlib.crc32(key.encode())
        with self.session.cursor() as cursor:
            cursor.execute("SET lock_timeout = %s", (max(1, int(timeout * 1000)),))
            try:
                cursor.execute("SELECT pg_advisory_lock(%s)", (number,))
            except psycopg2.errors.LockNotAvailable:
                return None
        return number

    def held(self, number):
        return not self.session.closed  # It does not ask.

    def release(self, number):
        with self.session.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_unlock(%s)", (number,))
            if not cursor.fetchone()[0]:
                raise RuntimeError("PostgreSQL says that it was not held")


picklock.serve(Advisory)
