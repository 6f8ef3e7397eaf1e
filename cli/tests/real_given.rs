//! Runs on servers that somebody else runs: faults hit clients only, and nothing stays. These
//! servers are started by the test, as processes, and given to picklock by their addresses.

#![expect(clippy::disallowed_methods, reason = "waits for what other processes do")]

use base::CallError;
use local::RealServers;
use std::collections::BTreeSet;
use std::fs;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};
use stores::zookeeper::{Client, RealSession, Refusal};
use stores::{StoreId, Topology};
use tempfile::TempDir;
use testbed::owner;
use tokio::task::LocalSet;

const PICKLOCK: &str = env!("CARGO_BIN_EXE_picklock");
const TTL: Duration = Duration::from_secs(2);
const LIMIT: Duration = Duration::from_secs(60);

fn start(topology: &'static str) -> RealServers {
    let store = StoreId::ALL.iter().find(|it| it.topologies().iter().any(|it| it.name == topology));
    let topology: &'static Topology = StoreId::topology(topology).expect("it is in the list");
    let servers = RealServers::start(*store.expect("a store"), topology, TTL, &|_| ());
    servers.unwrap_or_else(|error| panic!("{error}"))
}

/// The servers, as `--servers` takes them.
fn named(addresses: &[SocketAddr]) -> String {
    let named = addresses.iter().enumerate().map(|(number, it)| format!("server-{number}={it}"));
    named.collect::<Vec<_>>().join(",")
}

fn picklock(servers: &str, args: &[&str]) -> Output {
    let folder = TempDir::new().expect("a folder");
    let mut command = Command::new(PICKLOCK);
    command.args(["test", "--seed", "1", "--servers", servers]).args(args);
    command.current_dir(folder.path()).output().expect("it runs")
}

/// Starts picklock as if on another machine: with a boot and processes of its own.
fn picklock_elsewhere(folder: &Path, servers: &str, args: &[&str]) -> Child {
    let boot = folder.join("boot_id");
    fs::write(&boot, "another-boot\n").expect("it is written");
    let mut command = Command::new("unshare");
    if !nix::unistd::geteuid().is_root() {
        command.args(["--user", "--map-root-user"]);
    }
    command.args(["--mount", "--pid", "--fork", "--mount-proc", "--kill-child=KILL", "sh", "-c"]);
    command.arg("mount --bind \"$0\" /proc/sys/kernel/random/boot_id && exec \"$@\"").arg(boot);
    command.args([PICKLOCK, "test", "--seed", "2", "--servers", servers]).args(args);
    command.current_dir(folder).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn().expect("`unshare` is there")
}

/// Runs a lock for a few seconds. Returns its stdout.
fn holds(addresses: &[SocketAddr], algo: &str, nemesis: &str) -> String {
    let args = ["--algo", algo, "--nemesis", nemesis, "--time-limit", "5s", "--ttl", "2s"];
    held(&picklock(&named(addresses), &args))
}

/// Returns the stdout of a run in which the lock held.
fn held(output: &Output) -> String {
    let stdout = String::from_utf8_lossy(&output.stdout).into_owned();
    let why = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{stdout}{why}");
    stdout
}

/// Runs the program of an adapter for a few seconds with its own ttl, which has to be longer than
/// the grain of its store: memcached counts whole seconds. It takes Debian's own Python.
fn program_holds(addresses: &[SocketAddr], adapter: &str, nemesis: &str) -> String {
    let adapter = format!("{}/../adapters/{adapter}", env!("CARGO_MANIFEST_DIR"));
    let path = std::env::var("PATH").expect("there is one");
    let mut command = Command::new(PICKLOCK);
    command.args(["test", "--seed", "1", "--servers", &named(addresses), "--lock", &adapter]);
    command.args(["--nemesis", nemesis, "--time-limit", "12s"]);
    let folder = TempDir::new().expect("a folder");
    command.current_dir(folder.path()).env("PATH", format!("/usr/bin:{path}"));
    held(&command.output().expect("it runs"))
}

/// Asks until a server hangs up, or says this.
fn ask(address: SocketAddr, question: &str, last: &str) -> String {
    let mut stream = TcpStream::connect(address).expect("it serves");
    stream.write_all(question.as_bytes()).expect("it reads");
    let (mut answer, mut byte) = (String::new(), [0]);
    while !answer.ends_with(last) && stream.read(&mut byte).expect("it answers") > 0 {
        answer.push(byte[0].into());
    }
    answer
}

#[test]
fn a_redis_keeps_its_own_keys_and_no_others() {
    let servers = start("redis");
    let address = servers.addresses()[0];
    // Another one is of a run that was killed: this process is not one that started with the
    // machine.
    let words: Vec<String> = owner::own_name().split('_').map(String::from).collect();
    let dead = [&words[0], &words[1], "1", &words[3], &words[4], &words[5]].join("_");
    for key in ["theirs", &format!("{dead}:lock:k")] {
        assert_eq!(ask(address, &format!("SET {key} 1\r\n"), "\r\n"), "+OK\r\n");
    }
    let stdout = holds(servers.addresses(), "redis-set-nx-px-fenced", "link-reset");
    assert!(stdout.contains(&format!("--servers server-0={address}")), "{stdout}");
    assert_eq!(keys(address), "*1\r\n$6\r\ntheirs\r\n+OK\r\n");
}

/// The observer has a server tell of changes to its keys. That ends with the run, or with the next
/// one if it was killed.
#[test]
fn a_redis_that_is_observed_names_exact_causes_and_tells_no_more_afterwards() {
    let servers = start("redis");
    let address = servers.addresses()[0];
    let (setting, before) = ("CONFIG GET notify-keyspace-events\r\nQUIT\r\n", "\r\nxK\r\n+OK\r\n");
    assert_eq!(ask(address, "CONFIG SET notify-keyspace-events Kx\r\n", "\r\n"), "+OK\r\n");
    let run = |limit: &str| {
        let mut command = Command::new(PICKLOCK);
        command.args(["test", "--algo", "redis-set-nx-px", "--nemesis", "pause-client"]);
        command.args(["--seed", "1", "--ttl", "1s", "--time-limit", limit, "--observe"]);
        command.args(["--servers", &named(&[address])]).stdout(Stdio::piped());
        command
    };
    let folder = TempDir::new().expect("a folder");
    let mut killed = run("60s").current_dir(folder.path()).spawn().expect("it runs");
    let since = Instant::now();
    while ask(address, setting, "+OK\r\n").ends_with(before) {
        assert!(since.elapsed() < LIMIT, "it observes");
        sleep(Duration::from_millis(50));
    }
    assert!(ask(address, setting, "+OK\r\n").ends_with("\r\nAKE\r\n+OK\r\n"), "K is others'");
    killed.kill().expect("it lives");
    killed.wait().expect("it has ended");
    let output = run("8s").current_dir(folder.path()).output().expect("it runs");
    let stdout = String::from_utf8_lossy(&output.stdout);
    assert!(stdout.contains("Expected because the holder was paused"), "{stdout}");
    assert!(ask(address, setting, "+OK\r\n").ends_with(before));
    assert_eq!(ask(address, "DBSIZE\r\n", "\r\n"), ":0\r\n");
}

/// Makes a run that is observed, beside which somebody else does this again and again. The ledger
/// has the names of the run alone, and names the exact cause. Returns the output.
fn is_observed(servers: &RealServers, lock: &[&str], words: &str, theirs: impl Fn()) -> String {
    let folder = TempDir::new().expect("a folder");
    let run = || observed(&folder, servers, lock, &theirs);
    let mut printed = run();
    for _ in 0..2 {
        // A machine that stands still for too long leaves a run without a ledger.
        if printed.contains("the observed servers did not tell all") {
            printed = run();
        }
    }
    let ledger = fs::read_to_string(folder.path().join("store/latest/ledger.jsonl"));
    let ledger = ledger.unwrap_or_else(|error| panic!("{error}: {printed}"));
    let ledger = ledger.split_once('\n').map_or("", |(_header, entries)| entries);
    assert!(ledger.lines().count() > 10, "{ledger}");
    assert!(!ledger.contains("picklock_") && !ledger.contains("theirs"), "{ledger}");
    assert!(printed.contains(words), "{printed}");
    printed
}

/// Makes such a run, and returns its output.
fn observed(folder: &TempDir, servers: &RealServers, lock: &[&str], theirs: impl Fn()) -> String {
    let path = std::env::var("PATH");
    let mut command = Command::new(PICKLOCK);
    command.args(["test", "--servers", &named(servers.addresses()), "--observe", "--seed", "1"]);
    command.args(lock).env("PATH", format!("/usr/bin:{}", path.expect("there is one")));
    command.current_dir(folder.path()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut run = command.spawn().expect("it runs");
    while run.try_wait().expect("a child").is_none() {
        theirs();
        sleep(Duration::from_millis(5));
    }
    let output = run.wait_with_output().expect("it has run");
    String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned()
}

const PAUSED: &str = "because the holder was paused";

/// A lock of ours, which a pause of a client breaks.
fn paused<'a>(lock: &'a str, ttl: &'a str) -> [&'a str; 8] {
    ["--algo", lock, "--nemesis", "pause-client", "--ttl", ttl, "--time-limit", "10s"]
}

#[test]
fn an_etcd_that_is_observed_names_exact_causes_of_its_own_keys() {
    let servers = start("etcd-x3");
    put_theirs(&servers);
    is_observed(&servers, &paused("etcd-lease", "2s"), PAUSED, || {
        post(&servers, "/v3/kv/put", r#"{"key":"dGhlaXJz","value":"MQ=="}"#);
    });
    only_theirs(&servers);
}

#[test]
fn a_memcached_that_is_observed_names_exact_causes_of_its_own_keys() {
    let servers = start("memcached");
    let address = servers.addresses()[0];
    // It is not the first that watches.
    let _watching = TcpStream::connect(address).map(|mut it| it.write_all(b"watch mutations\r\n"));
    ask(address, "set before 0 0 1\r\n1\r\n", "\r\n");
    is_observed(&servers, &paused("memcached-add", "2s"), PAUSED, || {
        ask(address, "set theirs 0 0 1\r\n1\r\nget theirs\r\ndelete theirs\r\nquit\r\n", "quit");
    });
    let items = ask(address, "stats\r\n", "END\r\n");
    assert!(items.contains("STAT curr_items 1\r\n"), "{items}");
}

#[test]
fn a_memcached_that_lets_nobody_watch_says_so_and_keeps_nothing() {
    let free = TcpListener::bind("127.0.0.1:0").and_then(|it| it.local_addr()).expect("a port");
    let mut command = Command::new("memcached");
    command.args(["-W", "-u", "nobody", "-l", "127.0.0.1", "-p", &free.port().to_string()]);
    let mut memcached = command.spawn().expect("memcached is there");
    let begun = Instant::now();
    while TcpStream::connect(free).is_err() {
        assert!(begun.elapsed() < LIMIT, "it does not serve");
        sleep(Duration::from_millis(20));
    }
    let output = picklock(&named(&[free]), &["--algo", "memcached-add", "--observe"]);
    let items = ask(free, "stats\r\n", "END\r\n");
    memcached.kill().expect("it lives");
    memcached.wait().expect("it has ended");
    let why = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(255), "{why}");
    assert!(why.contains("cannot observe server 0: it lets nobody watch"), "{why}");
    assert!(items.contains("STAT curr_items 0\r\n"), "{items}");
}

#[test]
fn a_zookeeper_that_is_observed_names_exact_causes_of_its_own_nodes() {
    let servers = start("zookeeper-x3");
    is_observed(&servers, &paused("zk-sequential", "2s"), PAUSED, || ());
    assert_eq!(nodes(&servers), Ok(vec!["zookeeper".to_owned()]));
}

/// It puts a word of its own in front of the name of the run, and leaves keys when it dies.
#[test]
fn a_program_leaves_no_keys_on_a_redis() {
    let servers = start("redis");
    let address = servers.addresses()[0];
    let words: Vec<String> = owner::own_name().split('_').map(String::from).collect();
    let dead = [&words[0], &words[1], "1", &words[3], &words[4], &words[5]].join("_");
    for key in ["theirs", &format!("lock:{dead}:k"), "picklock_is_fun:k"] {
        assert_eq!(ask(address, &format!("SET {key} 1\r\n"), "\r\n"), "+OK\r\n");
    }
    program_holds(servers.addresses(), "bash/set_nx_px.toml", "crash-client");
    assert_eq!(ask(address, "DBSIZE\r\n", "\r\n"), ":2\r\n");
    assert_eq!(ask(address, "EXISTS theirs picklock_is_fun:k\r\n", "\r\n"), ":2\r\n");
}

#[test]
fn a_program_leaves_no_nodes_on_a_zookeeper() {
    let servers = start("zookeeper-x3");
    program_holds(servers.addresses(), "python/kazoo_lock.toml", "partition-client");
    assert_eq!(nodes(&servers), Ok(vec!["zookeeper".to_owned()]));
}

/// Nobody gets the lock any more, or two do, and that is not the lock's doing.
#[test]
fn a_redis_with_a_trouble_of_its_own_is_not_held_against_the_lock() {
    std::thread::scope(|threads| {
        for (trouble, words) in [
            ("CONFIG SET maxmemory 1", "turned a client away (\"-OOM command not allowed"),
            ("REPLICAOF 127.0.0.1 1", "turned a client away (\"-READONLY You can't write"),
            ("ACL SETUSER default -eval -evalsha", "turned a client away (\"-NOPERM this user has"),
            ("FLUSHALL", "server-0 has lost its data"),
            ("CLIENT PAUSE 12000", "server-0 does not answer"),
            ("CLIENT PAUSE 12000 WRITE", "server-0 does not answer"),
            ("SHUTDOWN NOSAVE", "server-0 takes no connections: Connection refused"),
        ] {
            threads.spawn(move || has_a_trouble_of_its_own(trouble, words));
        }
    });
}

/// Makes a run on a Redis to which somebody says this in the middle, and which it is inconclusive
/// for, in these words.
fn has_a_trouble_of_its_own(trouble: &str, words: &str) {
    let servers = start("redis");
    let address = servers.addresses()[0];
    let folder = TempDir::new().expect("a folder");
    let mut command = Command::new(PICKLOCK);
    command.args(["test", "--algo", "redis-set-nx-px", "--nemesis", "none", "--seed", "1"]);
    command.args(["--time-limit", "20s", "--servers", &named(&[address])]);
    command.current_dir(folder.path()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let run = command.spawn().expect("it runs");
    sleep(Duration::from_secs(4));
    // One that shuts down hangs up without a word.
    let answer = ask(address, &format!("{trouble}\r\n"), "\r\n");
    assert!(["+OK\r\n", ""].contains(&&*answer), "{trouble}: {answer}");
    let output = run.wait_with_output().expect("it runs");
    let printed = [output.stdout, output.stderr].concat();
    let printed =
        String::from_utf8_lossy(&printed).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(printed.contains(words) && printed.contains("INCONCLUSIVE"), "{trouble}: {printed}");
    assert!(!printed.contains("VIOLATED"), "{trouble}: {printed}");
}

/// Others wait while a server looks for keys: it does so once, for what runs before have left, and
/// a hundred keys at a time.
#[test]
fn a_redis_of_many_keys_is_looked_through_once_and_in_small_steps() {
    let servers = start("redis");
    let address = servers.addresses()[0];
    let fill = "EVAL \"for i = 1, 10000 do redis.call('SET', 'theirs' .. i, 1) end\" 0\r\n";
    assert_eq!(ask(address, fill, "\r\n"), "$-1\r\n");
    holds(servers.addresses(), "redis-set-nx-px-fenced", "crash-client");
    let stats = ask(address, "INFO commandstats\r\nQUIT\r\n", "+OK\r\n");
    let scans = stats.lines().find_map(|line| line.strip_prefix("cmdstat_scan:calls="));
    let scans = scans.and_then(|rest| rest.split(',').next()).expect("a number");
    let scans: u32 = scans.parse().expect("a number");
    assert!((80..=110).contains(&scans), "{scans} searches");
    assert_eq!(ask(address, "DBSIZE\r\n", "\r\n"), ":10000\r\n");
}

#[test]
fn a_redis_that_forbids_the_search_keeps_nothing_either() {
    let servers = start("redis");
    let address = servers.addresses()[0];
    assert_eq!(ask(address, "ACL SETUSER default -scan\r\n", "\r\n"), "+OK\r\n");
    holds(servers.addresses(), "redis-set-nx-px-fenced", "crash-client");
    assert_eq!(ask(address, "DBSIZE\r\n", "\r\n"), ":0\r\n");
}

/// The names of all keys, as Redis tells them.
fn keys(address: SocketAddr) -> String {
    ask(address, "KEYS *\r\nQUIT\r\n", "+OK\r\n")
}

/// The number of runs on another machine that have keys there.
fn runs_elsewhere(address: SocketAddr) -> usize {
    let keys = keys(address);
    let names = keys.lines().filter(|it| it.contains("another-boot"));
    let runs = names.filter_map(|it| it.split(':').next());
    runs.collect::<BTreeSet<_>>().len()
}

#[test]
fn runs_from_two_machines_leave_each_other_alone() {
    let servers = start("redis");
    let address = servers.addresses()[0];
    let folder = TempDir::new().expect("a folder");
    let what = ["--algo", "redis-set-nx-px-fenced", "--nemesis", "none", "--ttl", "2s"];
    let start = |limit, runs| {
        let args = [&what[..], &["--time-limit", limit]].concat();
        let run = picklock_elsewhere(folder.path(), &named(servers.addresses()), &args);
        let begun = Instant::now();
        while runs_elsewhere(address) < runs {
            assert!(begun.elapsed() < LIMIT, "it has not begun");
            sleep(Duration::from_millis(20));
        }
        run
    };
    // What one that was killed has left, nobody but its own machine may remove.
    let mut killed = start("60s", 1);
    killed.kill().expect("it lives");
    killed.wait().expect("it has ended");
    let mut run = start("45s", 2);
    holds(servers.addresses(), what[1], what[3]);
    if run.try_wait().expect("a child").is_some() {
        panic!("it ended before the one beside it: {:?}", run.wait_with_output());
    }
    assert_eq!(runs_elsewhere(address), 2);
    let output = run.wait_with_output().expect("it ends");
    let why = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{}{why}", String::from_utf8_lossy(&output.stdout));
    assert_eq!(runs_elsewhere(address), 1);
    assert!(
        !keys(address).lines().any(|it| it.starts_with("picklock") && !it.contains("another-boot"))
    );
}

#[test]
fn five_redis_servers_keep_nothing_of_a_majority_lock() {
    let servers = start("redis-x5");
    holds(servers.addresses(), "redlock", "none");
    for address in servers.addresses() {
        assert_eq!(ask(*address, "DBSIZE\r\n", "\r\n"), ":0\r\n");
    }
}

#[test]
fn a_memcached_keeps_its_own_keys_and_no_others() {
    let servers = start("memcached");
    let address = servers.addresses()[0];
    assert_eq!(ask(address, "set theirs 0 0 1\r\n1\r\n", "\r\n"), "STORED\r\n");
    holds(servers.addresses(), "memcached-add", "link-lose-reply");
    program_holds(servers.addresses(), "python/pymemcache_add.toml", "crash-client");
    let items = ask(address, "stats\r\n", "END\r\n");
    assert!(items.contains("STAT curr_items 1\r\n"), "{items}");
    assert_eq!(ask(address, "get theirs\r\n", "END\r\n"), "VALUE theirs 0 1\r\n1\r\nEND\r\n");
}

#[test]
fn a_zookeeper_keeps_its_own_nodes_and_no_others() {
    let servers = start("zookeeper-x3");
    holds(servers.addresses(), "zk-rw", "crash-client");
    assert_eq!(nodes(&servers), Ok(vec!["zookeeper".to_owned()]));
}

/// Returns the names of the nodes below the root, in order.
fn nodes(servers: &RealServers) -> Result<Vec<String>, CallError<Refusal>> {
    let addresses = servers.addresses().iter().map(ToString::to_string).collect();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.expect("a runtime").block_on(LocalSet::new().run_until(async {
        let session = RealSession::connect(addresses, TTL, 1).await.expect("they serve");
        let mut nodes = Client::new(std::rc::Rc::new(session)).get_children("/").await;
        nodes.iter_mut().for_each(|nodes| nodes.sort());
        nodes
    }))
}

#[test]
fn an_etcd_keeps_its_own_keys_and_no_others() {
    let servers = start("etcd-x3");
    put_theirs(&servers);
    holds(servers.addresses(), "etcd-lease", "link-reset");
    only_theirs(&servers);
}

/// The keys of a program have more behind them, and its leases any number.
#[test]
fn a_program_leaves_no_keys_on_an_etcd() {
    let servers = start("etcd-x3");
    put_theirs(&servers);
    program_holds(servers.addresses(), "go/etcd_mutex.toml", "crash-client");
    // One that was killed before it had a key leaves its lease, which runs out.
    let begun = Instant::now();
    while begun.elapsed() < LIMIT && !post(&servers, LEASES, "{}").contains(THEIR_LEASE) {
        sleep(Duration::from_millis(100));
    }
    only_theirs(&servers);
}

const LEASES: &str = "/v3/lease/leases";

/// The list of leases that has only that of somebody else.
const THEIR_LEASE: &str = r#""leases":[{"ID":"7"}]"#;

/// Puts a key and a lease of somebody else on an etcd.
fn put_theirs(servers: &RealServers) {
    let theirs = r#"{"key":"dGhlaXJz","value":"MQ=="}"#;
    assert!(post(servers, "/v3/kv/put", theirs).contains(r#""revision":"2""#));
    assert!(post(servers, "/v3/lease/grant", r#"{"ID":"7","TTL":"600"}"#).contains(r#""ID":"7""#));
}

/// Nothing else is there.
fn only_theirs(servers: &RealServers) {
    let left = post(servers, "/v3/kv/range", r#"{"key":"AA==","range_end":"AA=="}"#);
    assert!(left.contains(r#""count":"1""#) && left.contains("dGhlaXJz"), "{left}");
    let leases = post(servers, LEASES, "{}");
    assert!(leases.contains(THEIR_LEASE), "{leases}");
}

fn post(servers: &RealServers, path: &str, body: &str) -> String {
    let length = body.len();
    let asked = format!("POST {path} HTTP/1.0\r\nContent-Length: {length}\r\n\r\n{body}");
    ask(servers.addresses()[0], &asked, "\0")
}

/// Nothing is started: nobody is at this address.
#[test]
fn what_such_servers_cannot_have_is_refused_by_name() {
    let one = "server-0=127.0.0.1:1";
    for (servers, args, code, wanted) in [
        (
            one,
            &["--algo", "redis-set-nx-px", "--nemesis", "link,pause"][..],
            254,
            "the nemesis pause",
        ),
        (one, &["--algo", "memcached-add", "--nemesis", "evict"], 254, "the nemesis evict hits"),
        (one, &["--algo", "postgres-row"], 254, "cannot be of postgres"),
        (one, &["--client", "./my-lock", "--on", "postgres"], 254, "cannot be of postgres"),
        (one, &["--algo", "zk-rw"], 254, "server-0=host:port,server-1=host:port,"),
        ("server-1=a:1", &["--algo", "redis-set-nx-px"], 254, "--servers has to name"),
        ("a", &["--algo", "redis-set-nx-px"], 254, "names no server"),
        (one, &["--algo", "redis-set-nx-px"], 255, "cannot reach server-0 at 127.0.0.1:1"),
        (one, &["--algo", "redlock", "--backend", "local"], 254, "cannot be used with"),
    ] {
        let output = picklock(servers, args);
        let why = String::from_utf8_lossy(&output.stderr);
        assert!(why.contains(wanted), "{args:?}: {why}");
        assert_eq!(output.status.code(), Some(code), "{why}");
    }
}

#[test]
fn a_script_that_hits_a_server_is_refused_with_its_line() {
    let folder = TempDir::new().expect("a folder");
    for (fault, wanted) in [
        ("action = \"crash\"\ntarget = \"server-0\"", "this hits a server"),
        ("action = \"pause\"\ntarget = \"holder\"", "cannot reach"),
    ] {
        let script = folder.path().join("script.toml");
        let text = format!("[[fault]]\n{fault}\nat = \"1s\"\nlasts = \"1s\"\n");
        std::fs::write(&script, text).expect("it is written");
        let args = ["--algo", "redis-set-nx-px", "--script", script.to_str().expect("a name")];
        let output = picklock("server-0=127.0.0.1:1", &args);
        let why = String::from_utf8_lossy(&output.stderr);
        assert!(why.contains(wanted), "{why}");
    }
}

#[cfg(not(feature = "toxiproxy"))]
#[test]
fn a_build_without_toxiproxy_names_the_feature() {
    let links = "toxiproxy=http://127.0.0.1:1";
    let args = ["--algo", "redis-set-nx-px", "--links", links];
    let output = picklock("server-0=127.0.0.1:1", &args);
    let why = String::from_utf8_lossy(&output.stderr);
    assert!(why.contains("with the cargo feature `toxiproxy`"), "{why}");
    assert_eq!(output.status.code(), Some(255), "{why}");
}
