// SET NX PX and a script that compares, with node-redis (tried with 4.5.1).
import { randomUUID } from "node:crypto";
import { createRequire } from "node:module";
import { setTimeout } from "node:timers/promises";
import { serve } from "./picklock.mjs";

const { createClient } = createRequire(import.meta.url)("redis"); // Finds Debian's, which `import` does not.
const compareAndDelete =
    'if redis.call("get", KEYS[1]) == ARGV[1] then return redis.call("del", KEYS[1]) end return 0';
const compareAndExpire =
    'if redis.call("get", KEYS[1]) == ARGV[1] then return redis.call("pexpire", KEYS[1], ARGV[2]) end return 0';
class NotHeld extends Error {}

serve(async (run) => {
    const redis = createClient({ url: process.env.REDIS_URL });
    redis.on("error", (error) => console.error(String(error)));
    await redis.connect();
    return {
        async acquire(key, timeout) {
            const token = randomUUID();
            const until = performance.now() + timeout;
            while (!(await redis.set(key, token, { NX: true, PX: run.ttl }))) {
                if (performance.now() >= until) return null;
                await setTimeout(50);
            }
            return { key, token };
        },
        async extend({ key, token }) {
            const more = { keys: [key], arguments: [token, String(run.ttl)] };
            return (await redis.eval(compareAndExpire, more)) ? { key, token } : null;
        },
        held: async ({ key, token }) => (await redis.get(key)) === token,
        async release({ key, token }) {
            if (!(await redis.eval(compareAndDelete, { keys: [key], arguments: [token] }))) {
                throw new NotHeld("it had run out");
            }
        },
    };
}, NotHeld);
