// A semaphore of three permits, for one worker.
import { serve } from "./picklock.mjs";

let free = 3;
serve(() => ({
    acquire(key, timeout, shared, permits) {
        if (permits > free) return null;
        free -= permits;
        return permits;
    },
    release(permits) {
        free += permits;
    },
}));
