//! A fault script on real servers: the holder that it names is paused at its moment. Nothing is
//! skipped: where there is no `redis-server`, this fails.

mod command;

use command::Bench;
use std::fs;

#[test]
fn the_holder_is_paused_in_its_critical_section() {
    let cli = Bench::new();
    let script = "[[fault]]
action = \"pause\"
target = \"holder\"
when = \"working\"
lasts = \"1.5 ttl\"
";
    fs::write(cli.home.path().join("it.toml"), script).expect("written");
    let test = ["test", "--algo", "redis-set-nx-px", "--script", "it.toml", "--backend", "local"];
    let load = ["--ttl", "1s", "--time-limit", "8s", "--hold", "exact:400ms"];
    let said = cli.run(&[&test[..], &load, &["--print-script", "again.toml"]].concat());
    assert_eq!(said.code, 1, "{said:?}");
    assert!(said.out.contains("VIOLATED: double hold"), "{said:?}");
    let printed = fs::read_to_string(cli.home.path().join("again.toml")).expect("printed");
    for line in ["action = \"pause\"", "target = \"holder\"", "when = \"granted\""] {
        assert!(printed.contains(line), "{printed}");
    }
}
