// A lock client of picklock in JavaScript: one file, without dependencies. A lock that deletes whatever stands there:
//
//     import { createClient } from "redis";
//     import { serve } from "./picklock.mjs";
//
//     const redis = createClient({ url: process.env.REDIS_URL });
//     await redis.connect();
//     serve((run) => ({
//         async acquire(key, timeout) {
//             for (const until = performance.now() + timeout; performance.now() < until; ) {
//                 if (await redis.set(key, "mine", { NX: true, PX: run.ttl })) return key;
//             }
//         },
//         release: (key) => redis.del(key),
//     }));
//
// One object serves a client process, all its workers at once. Times are in milliseconds. `acquire`
// resolves to the grant, which may be anything but null or undefined: those are "not granted". A
// grant with a property `fencingToken`, a whole number, is fenced. A lock that readers share takes
// a third argument, `shared`; a semaphore of which an acquire can take several permits, all or none,
// takes a fourth, `permits`; one whose writers become readers has `convert(grant, shared)`, which
// resolves to the new grant; one that can be given more time has `extend(grant)`, which resolves to
// the grant, or to null if it is over; `held(grant)` says whether the lock still claims it. An
// error of one of the classes that are given to `serve` says that nothing has happened; after any
// other nobody knows.
import { createInterface } from "node:readline";

const write = process.stdout.write.bind(process.stdout);
const say = (answer) => write(JSON.stringify(answer) + "\n");
process.stdout.write = process.stderr.write.bind(process.stderr); // Whatever a library prints goes to the log.

/** Serves the harness until it says `exit` or hangs up. `make(run)` makes the lock, or a promise of it. */
export function serve(make, ...definite) {
    const quit = (error) => {
        if (error) console.error(error, `\n${error}`); // Its message comes last: the harness shows the last words.
        process.exit(error ? 1 : 0); // Connections of the lock need not end.
    };
    listen(make, definite).then(quit, quit);
}

async function listen(make, definite) {
    const grants = new Map();
    const workers = new Set();
    let lock;
    for await (const line of createInterface({ input: process.stdin })) {
        const request = JSON.parse(line);
        const { id, op, worker = 0 } = request;
        if (op === "exit") return;
        if (op === "init") {
            lock = await make(runOf(request, workers));
            process.on("uncaughtException", (error) => console.error(error)); // Such as of a connection that broke.
            say({ id, type: "ok", version: 1, can: abilities(lock) });
            continue;
        }
        workers.add(worker);
        carryOut(lock, grants, request).then(
            (answer) => say({ id, worker, ...answer }),
            (error) => {
                const type = definite.some((it) => error instanceof it) ? "fail" : "info";
                say({ id, worker, type, error: String(error) });
            },
        );
    }
}

/** What a lock can do beyond the four requests, by what it defines. */
function abilities(lock) {
    const can = ["convert", "extend", "held"].filter((name) => typeof lock[name] === "function");
    const takes = lock.acquire.length;
    return [...can, "workers", ...["timed", "shared", "permits"].filter((_, place) => takes > place + 1)];
}

/** A run, as the harness tells of it: `ttl` in milliseconds, `servers` as host:port, and all else in `init`. */
function runOf(init, workers) {
    const tell = (level, error) =>
        workers.forEach((worker) => say({ type: "lost", worker, level, error: String(error) }));
    return {
        init,
        ttl: init.ttl_ns / 1e6,
        servers: init.servers,
        /** Tells the harness that the workers may have lost what they hold. */
        lost: (error) => tell("lost", error),
        /** The same of a loss that is in doubt, and in spite of which the program goes on. */
        doubt: (error) => tell("doubt", error),
    };
}

const NOT_HELD = { type: "fail", code: "not-held", error: "not held" };

async function carryOut(lock, grants, { op, worker = 0, hold = 0, key, mode, permits = 1, acquire_timeout_ns }) {
    const name = `${worker}/${hold}`;
    const held = grants.get(name);
    if (op === "touch") return { type: "ok" };
    if (op !== "acquire" && !grants.has(name)) return NOT_HELD;
    if (op === "release") {
        grants.delete(name);
        await lock.release(held);
        return { type: "ok" };
    }
    if (op === "held") return (await lock.held(held)) ? { type: "ok" } : NOT_HELD;
    const shared = mode === "shared";
    const grant = await (op === "convert"
        ? lock.convert(held, shared)
        : op === "extend"
          ? lock.extend(held)
          : lock.acquire(key, acquire_timeout_ns / 1e6, shared, permits));
    if (grant == null) return { type: "fail", error: "not granted" };
    grants.set(name, grant);
    return { type: "ok", token: grant.fencingToken };
}
