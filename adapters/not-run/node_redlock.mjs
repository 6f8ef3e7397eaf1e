// NOT RUN HERE: written from its documentation alone. node-redlock 5, over ioredis.
//
// Copy ../node/picklock.mjs beside it. `--on redis-x5 --promises recovers,available`, or `--on redis --promises
// recovers`.
import { Redis } from "ioredis";
import Redlock, { ExecutionError } from "redlock";
import { serve } from "./picklock.mjs";

const retryDelay = 100;

serve((run) => {
    const clients = process.env.REDIS_URLS.split(",").map((url) => new Redis(url));
    clients.forEach((client) => client.on("error", (error) => console.error(String(error))));
    const redlock = new Redlock(clients, { retryDelay, retryJitter: 50 });
    return {
        // It takes back what it got from a minority.
        acquire: (key, timeout) =>
            redlock.acquire([key], run.ttl, { ...redlock.settings, retryCount: Math.ceil(timeout / retryDelay) }),
        release: (lock) => lock.release(),
    };
}, ExecutionError);
