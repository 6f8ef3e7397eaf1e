//! The list of the hazards, in the order of their numbers.

use super::{Hazard, HazardSource};

use HazardSource::{CuratorLock, ManyStores, Search, SimpleRedis, WhyLocks, ZooKeeperLocks};

/// All hazards: H1 is the first.
pub const HAZARDS: &[Hazard] = &[
    Hazard {
        number: 1,
        title: "a holder dies and its key stays for ever",
        source: SimpleRedis,
        story: "SETNX takes the lock and nothing ever removes the key but its owner's DEL. The \
                owner is killed while it holds, and everybody after it finds the key and waits \
                for ever. A time to live, set by the same command, frees it.",
        commands: &[],
    },
    Hazard {
        number: 2,
        title: "a client dies between SETNX and EXPIRE",
        source: WhyLocks,
        story: "The lock is taken by one command and gets its time to live by a second. A client \
                that is killed, or whose call is lost, between the two leaves a key without a \
                time to live, and the lock is never free again. SET with NX and PX does both at \
                once.",
        commands: &[],
    },
    Hazard {
        number: 3,
        title: "the same value for everybody makes compare-and-delete blind",
        source: WhyLocks,
        story: "Every owner writes the same word into the key, so the comparison before the DEL \
                is true of anybody's lock. A holder that was paused past its ttl wakes up, \
                compares, finds its own word and frees the lock of the next, and a third gets \
                in. A random value that no other grant has is what is to be compared.",
        commands: &[],
    },
    Hazard {
        number: 4,
        title: "a bare DEL frees another's lock",
        source: SimpleRedis,
        story: "The owner frees with DEL and compares nothing. Once its lock has run out while \
                it was paused, the key is another's, and the DEL removes that. Compare the owner \
                and delete in one script.",
        commands: &[],
    },
    Hazard {
        number: 5,
        title: "the lock runs out between GET and DEL",
        source: SimpleRedis,
        story: "The owner reads the key, sees its own value and then sends DEL as a second \
                command. The lock runs out between the two, another client takes it, and the DEL \
                frees the newcomer's lock. The comparison and the deletion have to be one \
                script.",
        commands: &[],
    },
    Hazard {
        number: 6,
        title: "the printed release script does not compile",
        source: SimpleRedis,
        story: "The script that is to compare and delete has two typing mistakes, and the server \
                refuses to compile it: every release fails with that error. The lock is free \
                again only when its ttl is over, so that each turn costs a whole ttl.",
        commands: &[],
    },
    Hazard {
        number: 7,
        title: "a paused holder outlives its ttl and writes on",
        source: WhyLocks,
        story: "The holder is stopped, as by a long garbage collection, for longer than its lock \
                lives. The lock runs out, another client takes it, and the first wakes up inside \
                its critical section: two believe that they hold, and the late write overwrites \
                the newer one. No release can mend that; the resource has to refuse old fencing \
                tokens.",
        commands: &[],
    },
    Hazard {
        number: 8,
        title: "the work takes longer than the ttl",
        source: WhyLocks,
        story: "Nobody is paused and nothing fails: the work simply takes longer than the lock \
                lives. The lock runs out under its holder and the next client enters. A watchdog \
                that renews the lock while its holder works helps as long as the holder is not \
                paused.",
        commands: &[],
    },
    Hazard {
        number: 9,
        title: "a server restarts without its data",
        source: WhyLocks,
        story: "The one server that knows of the lock crashes and comes back empty. The holder \
                goes on working, and the next client is given the same lock. Servers that keep \
                what they have granted on disk, such as a ZooKeeper ensemble restarted member by \
                member, do not forget.",
        commands: &[],
    },
    Hazard {
        number: 10,
        title: "failover loses the lock",
        source: WhyLocks,
        story: "A primary grants the lock and dies before its replica has heard of it. The \
                replica is promoted, knows of no lock and grants it again, while the first \
                holder works on. The document says that three masters with three replicas cure \
                the single point of failure; they cure the outage and not the lost lock.",
        commands: &[],
    },
    Hazard {
        number: 11,
        title: "a single server is down and nobody can lock",
        source: WhyLocks,
        story: "Everything hangs on one server. While it is down nothing is granted, and nobody \
                can free anything; once it is back, the lock has to work again. A majority, as \
                of Redlock or of ZooKeeper, serves on while a minority is down.",
        commands: &[],
    },
    Hazard {
        number: 12,
        title: "Redlock does not cure the pause",
        source: WhyLocks,
        story: "Redlock counts a majority of independent servers and subtracts the time that \
                this took. All of that is over before the holder is paused: its lock runs out on \
                every server, another client gets a majority, and the first wakes up and writes. \
                The document claims the contrary. Only the resource can refuse the late write, \
                by a token.",
        commands: &[],
    },
    Hazard {
        number: 13,
        title: "Redlock on three of five loses one of its three",
        source: WhyLocks,
        story: "Two masters are cut off from the holder, so that it has exactly three of five. \
                One of these jumps its clock, or restarts empty: the lock is gone there, and \
                another client finds three servers that are free. Locks that do not live by \
                clocks, and servers that keep their data, are not concerned.",
        commands: &[],
    },
    Hazard {
        number: 14,
        title: "a client whose clock is ahead takes a live lock",
        source: ManyStores,
        story: "The expiry is a time in the value, and each client compares it with its own \
                clock. A client whose clock is ahead by more than the timeout sees every lock as \
                expired and takes it from its live holder. The semaphore that Redis in Action \
                prints first lets in those whose times rank lowest, so that a client whose clock \
                is behind comes before the holders. A ttl that one server keeps needs no clocks \
                of clients.",
        commands: &[],
    },
    Hazard {
        number: 15,
        title: "an overwritten expiry keeps everybody out",
        source: ManyStores,
        story: "Two clients recover an expired lock at once; GETSET lets one win, but the loser \
                has already written its own expiry over the winner's. If the loser's clock was \
                an hour fast when it computed that time, and the winner dies, the lock stays \
                taken for that hour. Any owner with a fast clock that dies does the same alone.",
        commands: &[],
    },
    Hazard {
        number: 16,
        title: "an old owner frees while the new owner's time lies ahead",
        source: ManyStores,
        story: "An owner frees if the time in the key has not passed. Once its lock has expired \
                and been recovered, the time in the key is the new owner's, which lies ahead: \
                the old owner removes a lock that is not its own. It never compares whose lock \
                it is.",
        commands: &[],
    },
    Hazard {
        number: 17,
        title: "two recoverers, and the second deletes the first's fresh lock",
        source: ManyStores,
        story: "Two clients see the same lock expired. The first deletes it and takes it; the \
                DEL of the second arrives after that and removes the fresh lock, and the second \
                takes it as well. This is the C0, C1, C2 story that the document tells itself.",
        commands: &[],
    },
    Hazard {
        number: 18,
        title: "memcached forgets: restart, expiry, eviction",
        source: ManyStores,
        story: "memcached keeps a lock as long as it keeps a cache entry: a restart empties it, \
                its exptime is over under a paused holder, and a memory that is full makes it \
                evict what was used least recently. Each time the next client's add succeeds \
                while the first holds.",
        commands: &[],
    },
    Hazard {
        number: 19,
        title: "a client waits for its own node",
        source: ZooKeeperLocks,
        story: "The create was applied and its reply was lost. The client tries again, is told \
                that the node exists, and waits for its owner, who is itself: it waits as long \
                as its own session lives, and it keeps it alive. Writing the owner's id into the \
                node tells it apart.",
        commands: &[],
    },
    Hazard {
        number: 20,
        title: "the lock is freed between the failed create and the watch",
        source: ZooKeeperLocks,
        story: "A create fails because the lock is held; before the client sets its watch, the \
                owner frees it. The watch finds no node and is never called, and the client \
                sleeps beside a free lock. A watch that finds no node has to go back to the \
                create. Seeds hardly ever draw this order; the enumeration of all orders does.",
        commands: &["picklock explore --exhaustive --algo zk-exclusive-naive"],
    },
    Hazard {
        number: 21,
        title: "one release wakes every waiter",
        source: ZooKeeperLocks,
        story: "All waiters watch the one node. A release wakes all of them, one gets the lock \
                and the others go back to sleep: the work of a release grows with the number of \
                waiters. In a queue each waiter watches its predecessor alone.",
        commands: &["picklock explore --algo zk-exclusive --nemesis none --seeds 100"],
    },
    Hazard {
        number: 22,
        title: "every release and every arrival wakes everybody",
        source: ManyStores,
        story: "Everybody watches the children of the parent, which change with each node that \
                comes or goes. So an arrival, which concerns nobody, wakes all waiters as a \
                release does. Watching one's predecessor alone wakes one.",
        commands: &[],
    },
    Hazard {
        number: 23,
        title: "a queue node whose owner does not know of it",
        source: ZooKeeperLocks,
        story: "The node of the queue was created and the reply was lost. The client creates \
                another behind it, and everybody waits behind a node whose owner is alive and \
                knows nothing of it. An id in the name of the node lets the client find it \
                again.",
        commands: &[],
    },
    Hazard {
        number: 24,
        title: "a client that is cut off goes on believing",
        source: ZooKeeperLocks,
        story: "A client is cut off for longer than its session. The servers remove its node and \
                let the next one in, while the client, which ignores Disconnected, works on. A \
                client has to stop at Disconnected, since its session may be over before it \
                hears of it.",
        commands: &[],
    },
    Hazard {
        number: 25,
        title: "a paused client of ZooKeeper writes on",
        source: WhyLocks,
        story: "A client that is paused inside its critical section for longer than its session \
                cannot hear Disconnected. Its node is removed, the next client enters, and the \
                first one wakes up in the middle of a write. ZooKeeper alone is not correct \
                here, as the document has it; its czxid as a fencing token makes it so.",
        commands: &[],
    },
    Hazard {
        number: 26,
        title: "an old owner deletes the new owner's node",
        source: ZooKeeperLocks,
        story: "A client that lost its session gets a new one and frees the lock that it \
                believes to hold, by delete with version -1. The node of that name is another's \
                by now. The deletion has to name the version, or a node that has the owner's id \
                in its name.",
        commands: &[],
    },
    Hazard {
        number: 27,
        title: "a reader walks in on a writer",
        source: WhyLocks,
        story: "The children are sorted by their whole names, and `product_read_…` sorts before \
                `product_write_…`. A reader that comes while a writer holds finds itself first \
                and enters. What counts is the sequence number at the end of the name.",
        commands: &[],
    },
    Hazard {
        number: 28,
        title: "a notification between exists() and wait() is lost",
        source: WhyLocks,
        story: "The waiter sets its watch by exists() and then calls wait(). A notification that \
                fires between the two wakes nobody, and the waiter sleeps for ever. It takes a \
                primitive that remembers it, or a check under the same monitor.",
        commands: &["picklock explore --exhaustive --algo zk-rw-as-printed"],
    },
    Hazard {
        number: 29,
        title: "readers behind a writer enter one by one",
        source: WhyLocks,
        story: "Each waiter watches its immediate neighbour, as the watch rule alone says. When \
                the writer ends, only the first reader wakes up; the reader behind it sleeps \
                until that one is done. Readers have to wait for the last writer before them.",
        commands: &[],
    },
    Hazard {
        number: 30,
        title: "a waiting writer starves",
        source: WhyLocks,
        story: "Later readers sort before a writer that waits, since `read` comes before \
                `write`. As long as readers keep coming, the writer never becomes first. In the \
                order of sequence numbers nobody overtakes.",
        commands: &[
            "picklock explore --algo zk-rw-as-printed --nemesis none --task readers --seeds 100",
        ],
    },
    Hazard {
        number: 31,
        title: "one product waits for another",
        source: WhyLocks,
        story: "All products queue up below one /lock, and only the name of a node tells them \
                apart. A writer of product 2 finds a node of product 1 before its own and waits \
                for it. A directory for each key makes the keys independent.",
        commands: &["picklock explore --exhaustive --algo zk-rw-as-printed --keys 2"],
    },
    Hazard {
        number: 32,
        title: "a holder acquires again",
        source: SimpleRedis,
        story: "The holder of a lock that is not re-entrant takes it again. A lock with a ttl \
                makes it wait for itself until the ttl is over. `zk-exclusive` lets it in, as \
                the node carries its session's id, and the inner release frees the outer hold. A \
                count per owner makes a lock re-entrant.",
        commands: &[],
    },
    Hazard {
        number: 33,
        title: "how soon a ZooKeeper lock is free after a kill",
        source: ZooKeeperLocks,
        story: "A killed holder leaves its ephemeral node until its session expires. The lock \
                has to be free again after the session time-out, a tick and a bound, and not \
                later; the figure is measured after every death of a holder.",
        commands: &[],
    },
    Hazard {
        number: 34,
        title: "a waiter in the middle of the queue dies",
        source: CuratorLock,
        story: "The node of a waiter goes away, and its successor is woken although the holder \
                still holds. It has to look again whether it is first, and to wait for whoever \
                stands before it now. One that takes the wake-up for its turn walks in on the \
                holder.",
        commands: &[],
    },
    Hazard {
        number: 35,
        title: "the ttl is too short or too long",
        source: WhyLocks,
        story: "A short ttl runs out under holders that are only slow, and lets two in; a long \
                one leaves the lock taken for long after its holder has died. There is no value \
                that is right for all faults: `picklock sweep` measures both sides of the trade \
                over the ttl.",
        commands: &["picklock sweep --algo redis-set-nx-px --nemesis pause,crash --ttl 100ms..10s"],
    },
    Hazard {
        number: 36,
        title: "acquire says false while the key stands in its name",
        source: WhyLocks,
        story: "The class compares the server's reply with \"ok\", and the server says OK. Every \
                acquire sets the key and is told that it failed, so that nobody ever gets in \
                while the lock counts as held.",
        commands: &[],
    },
    Hazard {
        number: 37,
        title: "thread numbers as owners, and 30 ms for 30 s",
        source: SimpleRedis,
        story: "The owner's value is the number of its thread, and two processes both have a \
                thread 1; PX 30 is 30 ms and not the 30 s of the prose. A lock that runs out \
                after 30 ms is taken by another, and the comparison takes the other's value for \
                its own.",
        commands: &[],
    },
    Hazard {
        number: 38,
        title: "the release deletes another key",
        source: ManyStores,
        story: "The lock adds `lock:{orderid}` and deletes `lock.{orderid}`. The release frees \
                nothing, and the lock is free only when its exptime is over.",
        commands: &[],
    },
    Hazard {
        number: 39,
        title: "a bare delete of an owner that outlived its exptime",
        source: ManyStores,
        story: "memcached's delete compares no owner. A holder whose entry has expired frees the \
                entry of the next one. A compare-and-delete needs more than the plain commands \
                of a cache.",
        commands: &[],
    },
    Hazard {
        number: 40,
        title: "threads of one process share an identity",
        source: ZooKeeperLocks,
        story: "The session's id says whose client a node is, and not which thread's. A second \
                thread of the same client finds its own id and enters. In the Java class one \
                shared watcher field loses a wake-up, and in the PHP class a static expiry frees \
                another's lock. Each acquire needs an id of its own.",
        commands: &[],
    },
    Hazard {
        number: 41,
        title: "an owner's count outlives its session",
        source: CuratorLock,
        story: "A re-entrant lock counts its holds in a map of its own process. The session is \
                lost and the node with it, the map is not emptied, and the old owner's next \
                acquire is let in by its count while another client holds. The map has to be \
                emptied when the session is lost.",
        commands: &[],
    },
    Hazard {
        number: 42,
        title: "a session that expired is never made again",
        source: WhyLocks,
        story: "The session's handle is made once and for all. After it has expired, every call \
                fails, acquire takes any exception for \"held\" and tries again for ever: this \
                client never gets the lock again.",
        commands: &[],
    },
    Hazard {
        number: 43,
        title: "an exception in acquire lets its caller in",
        source: WhyLocks,
        story: "Any exception inside acquire is caught and null is returned. The caller does not \
                look at it and enters the critical section without a lock. A cut link is enough.",
        commands: &[],
    },
    Hazard {
        number: 44,
        title: "database and lease locks end under a paused client",
        source: Search,
        story: "The connection that an advisory lock or a row lock lives in is closed while its \
                client is paused, or a lease runs out. The next client enters and the first \
                wakes up and writes. Where the store gives a number that grows, such as a \
                revision, the resource can fence by it.",
        commands: &[],
    },
    Hazard {
        number: 45,
        title: "a server's clock is set right and the lock outlives its ttl",
        source: Search,
        story: "A lock is taken while the server's wall clock is ahead, and the clock is set \
                right later. The expiry that was computed lies ahead by as much, and if the \
                holder is killed, the lock stays taken for the size of the jump. Sessions that \
                are counted in ticks do not care.",
        commands: &[],
    },
    Hazard {
        number: 46,
        title: "a follower that is cut off serves on after the session is over",
        source: Search,
        story: "With short sessions and a long syncLimit, a follower that has lost its leader \
                answers its clients' pings for longer than the leader waits before it expires \
                their sessions. A client that obeys Disconnected hears it too late. A session \
                has to be at least 2 x syncLimit x tickTime.",
        commands: &[],
    },
    Hazard {
        number: 47,
        title: "the write is late, not its writer",
        source: Search,
        story: "The holder is awake and obeys everything; its write is delayed on its way to the \
                resource. By the time that it arrives, the lock has changed hands. No lock can \
                see that; a resource that checks fencing tokens refuses the write.",
        commands: &[],
    },
    Hazard {
        number: 48,
        title: "a waiter does not hear that its server's machine is gone",
        source: Search,
        story: "A client that waits for a lock over an open connection only listens. The machine of \
                the server is gone without a word and comes back knowing nothing of the client: \
                nothing tells it, and it sleeps on beside a free lock. TCP has to keep the \
                connection alive, or the client asks with a time-out and asks again.",
        commands: &[],
    },
];
