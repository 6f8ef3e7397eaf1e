//! The fuzz targets on stable Rust: each with its corpus, and with mutations of it that are the
//! same on every run.

#[path = "../../fuzz/src/lib.rs"]
mod targets;

use base::Rng;
use histories::reading::Notation;
use std::fs;
use std::path::Path;

/// The number of changes to each file of the corpus. `fuzz/run.sh` looks further.
const MUTATIONS: u64 = 2_000;

/// The words that make a difference to some reader.
const WORDS: &[&[u8]] = &[
    b"\n",
    b"[",
    b"]",
    b"{",
    b"}",
    b"(",
    b")",
    b"\"",
    b"\\",
    b"#",
    b"#_",
    b"#{",
    b";",
    b":",
    b"nil",
    b"null",
    b"-1",
    b"9223372036854775808",
    b"18446744073709551616",
    b"1e400",
    b"\xff",
    b"\xc3",
    b"\0",
    b":invoke",
    b":ok",
    b":info",
    b"\"process\":",
    b"\"index\":0,",
    b"\\u",
    b"\\ud800",
    b"/",
];

fn corpus(target: &str) -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fuzz/corpus").join(target);
    let entries = fs::read_dir(&folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
    let mut files: Vec<_> = entries.map(|entry| entry.expect("an entry").path()).collect();
    files.sort();
    assert!(!files.is_empty(), "{} is empty", folder.display());
    files.iter().map(|file| fs::read(file).expect("readable")).collect()
}

fn mutate(text: &mut Vec<u8>, rng: &mut Rng) {
    for _ in 0..=rng.below(4) {
        let at = rng.below(text.len() as u64 + 1) as usize;
        let to = (at + rng.below(40) as usize).min(text.len());
        match rng.below(6) {
            0 => text.truncate(at),
            1 => drop(text.drain(at..to)),
            2 if at < text.len() => text[at] ^= 1 << rng.below(8),
            3 => {
                let piece = text[at..to].to_vec();
                text.splice(at..at, piece);
            }
            4 => text.splice(at..at, b"([{".repeat(rng.below(200) as usize)).for_each(drop),
            _ => {
                let word = WORDS[rng.below(WORDS.len() as u64) as usize];
                text.splice(at..at, word.iter().copied()).for_each(drop);
            }
        }
    }
}

fn replay(target: &str, run: impl Fn(&[u8])) {
    for (number, file) in corpus(target).into_iter().enumerate() {
        run(&file);
        for seed in 0..MUTATIONS {
            let mut text = file.clone();
            mutate(&mut text, &mut Rng::fork(seed, number as u64));
            run(&text);
        }
    }
}

#[test]
fn no_run_makes_its_reader_panic() {
    replay("run", targets::run);
}

#[test]
fn no_jsonl_makes_its_reader_panic() {
    replay("jsonl", |data| targets::entries(data, Notation::Jsonl));
}

#[test]
fn no_edn_makes_its_reader_panic() {
    replay("edn", |data| targets::entries(data, Notation::Edn));
}

#[test]
fn no_log_makes_its_reader_panic() {
    replay("log", |data| targets::entries(data, Notation::Log));
}
