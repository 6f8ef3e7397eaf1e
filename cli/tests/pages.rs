//! The pages that are made are those that stand in the repository: whoever changes a lock, a
//! nemesis, a hazard or the suite makes them again.
//!
//! `PICKLOCK_PAGES=write` writes them, and `PICKLOCK_PAGES=survey` makes the survey of all locks
//! under all nemeses again as well, which takes minutes; with `PICKLOCK_ALGO` only that of some
//! locks.

#[path = "pages/mod.rs"]
mod pages;
mod rows;

use base::{ClientAbility, ErrorCode};
use pages::survey::{SurveyLine, figures, pairs, survey};
use pages::{PageWork, Pages, counterexamples, hold, work};
use picklock::foreign::{PROMISE_WORDS, PromiseWord};
use reports::hazards::HAZARDS;
use rows::rows;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

#[test]
fn the_page_of_the_hazards_is_up_to_date() {
    let mut pages = Pages::new();
    pages::hazards::make(&rows(), &counterexamples::read(&root()), &mut pages);
    for (path, text) in &pages {
        hold(&root(), path, text);
    }
    let drawn = std::fs::read_dir(root().join("docs/pictures")).expect("pictures").count();
    assert_eq!(
        drawn,
        pages.len() - 1,
        "docs/pictures holds the pictures of the page and no others"
    );
}

/// The file of the survey.
const SURVEY: &str = "docs/survey.jsonl";

fn read_survey() -> Vec<SurveyLine> {
    let text = std::fs::read_to_string(root().join(SURVEY)).expect("the survey is there");
    let read = |line: &str| serde_json::from_str(line).unwrap_or_else(|e| panic!("{line}: {e}"));
    text.lines().map(read).collect()
}

#[test]
fn the_catalogue_is_up_to_date() {
    if work() == PageWork::Survey {
        let line = |line: &SurveyLine| serde_json::to_string(line).expect("JSON") + "\n";
        hold(&root(), SURVEY, &survey(&read_survey()).iter().map(line).collect::<String>());
    }
    let page = pages::catalogue::make(&read_survey(), &rows(), &counterexamples::read(&root()));
    hold(&root(), "docs/catalogue.md", &page);
    let title = "Catalogue: which lock is safe against what";
    hold(&root(), "docs/catalogue.html", &pages::html::make(title, &page));
}

/// It is made of all that there is, and some of it is measured again.
#[test]
fn the_survey_is_up_to_date() {
    if work() == PageWork::Survey {
        return;
    }
    let stale = "the survey is stale: cargo xtask pages survey";
    let lines = read_survey();
    let surveyed = lines.iter().filter_map(|line| match line {
        SurveyLine::Pair(pair) => Some((pair.lock.clone(), pair.nemesis.clone())),
        SurveyLine::Figures(_) => None,
    });
    let there = pairs().into_iter().map(|(lock, nemesis)| (lock.name.into(), nemesis.into()));
    assert!(surveyed.eq(there), "{stale}: a lock or a nemesis is new");
    for lock in workloads::LOCKS {
        let again = SurveyLine::Figures(figures(lock));
        assert!(lines.contains(&again), "{stale}: {again:?}");
    }
}

#[test]
fn the_table_of_the_readme_is_up_to_date() {
    let readme = std::fs::read_to_string(root().join("README.md")).expect("the README is there");
    hold(&root(), "README.md", &pages::table::make(&readme, &rows()));
}

#[test]
fn every_reason_names_a_hazard_that_there_is() {
    for lock in workloads::LOCKS {
        for known in lock.known() {
            let words = known.why.split(|c: char| !c.is_ascii_alphanumeric());
            let numbers = words.filter(|word| {
                let rest = word.strip_prefix('H').unwrap_or_default();
                !rest.is_empty() && rest.bytes().all(|b| b.is_ascii_digit())
            });
            for number in numbers {
                let is_there = HAZARDS.iter().any(|hazard| hazard.name() == number);
                assert!(is_there, "{}: {number} is no hazard", lock.name);
            }
        }
    }
}

#[test]
fn every_hazard_has_an_entry_of_the_suite() {
    let rows = rows();
    for hazard in HAZARDS {
        let shown = rows.iter().any(|row| row.hazards.iter().any(|name| *name == hazard.name()));
        assert!(shown, "{}: no entry of suites/seeds.toml", hazard.name());
    }
}

/// The mark behind the words for promises.
const PROMISES: &str = "<!-- promises: end -->";

#[test]
fn the_words_for_promises_are_up_to_date() {
    let page = std::fs::read_to_string(root().join("docs/own-lock.md")).expect("the page is there");
    let (head, rest) = page.split_once("| word | promise |").expect("a table");
    let (_, rest) = rest.split_once(PROMISES).expect("its end");
    let row = |it: &PromiseWord| format!("| `{}` | {} |\n", it.word, it.about);
    let rows: String = PROMISE_WORDS.iter().map(row).collect();
    let table = format!("| word | promise |\n| --- | --- |\n{rows}{}", PROMISES);
    hold(&root(), "docs/own-lock.md", &format!("{head}{table}{rest}"));
}

/// The mark behind the abilities of clients.
const ABILITIES: &str = "<!-- abilities: end -->";

#[test]
fn the_abilities_of_clients_are_up_to_date() {
    let page = std::fs::read_to_string(root().join("docs/protocol.md")).expect("the page is there");
    let title = "| word | a client that can |\n| --- | --- |\n";
    let (head, rest) = page.split_once(title).expect("a table");
    let (_, rest) = rest.split_once(ABILITIES).expect("its end");
    let row = |it: ClientAbility| format!("| `{}` | {} |\n", it.word(), it.about());
    let rows: String = ClientAbility::ALL.into_iter().map(row).collect();
    hold(&root(), "docs/protocol.md", &format!("{head}{title}{rows}{ABILITIES}{rest}"));
}

/// The mark behind the codes of errors.
const CODES: &str = "<!-- codes: end -->";

#[test]
fn the_codes_of_errors_are_up_to_date() {
    let page = std::fs::read_to_string(root().join("docs/protocol.md")).expect("the page is there");
    let title = "| `code` | goes with | meaning |\n| --- | --- | --- |\n";
    let (head, rest) = page.split_once(title).expect("a table");
    let (_, rest) = rest.split_once(CODES).expect("its end");
    let with = |it: ErrorCode| match it.is_definite() {
        Some(true) => "`fail`",
        Some(false) => "`info`",
        None => "either",
    };
    let row = |it: ErrorCode| format!("| `{}` | {} | {} |\n", it.word(), with(it), it.about());
    let rows: String = ErrorCode::ALL.into_iter().map(row).collect();
    hold(&root(), "docs/protocol.md", &format!("{head}{title}{rows}{CODES}{rest}"));
}

#[test]
fn the_protocol_names_every_field() {
    let page = std::fs::read_to_string(root().join("docs/protocol.md")).expect("the page is there");
    let source = std::fs::read_to_string(root().join("base/src/client.rs")).expect("the source");
    let fields = source.lines().filter_map(|line| {
        let line = line.trim().strip_prefix("pub ").unwrap_or(line.trim());
        let (name, rest) = line.split_once(": ")?;
        let is_name = name.bytes().all(|it| it.is_ascii_lowercase() || it == b'_');
        (is_name && rest.ends_with(',')).then_some(name)
    });
    let internal = ["kind", "wall_ns", "reply", "command"];
    let named: Vec<&str> = fields.filter(|it| !internal.contains(it)).collect();
    assert!(named.len() > 15, "{named:?}");
    for name in named {
        assert!(page.contains(&format!("`{name}`")), "docs/protocol.md does not name `{name}`");
    }
}

#[test]
fn the_page_of_the_libraries_is_up_to_date() {
    hold(&root(), "docs/libraries.md", &pages::libraries::make(&root()));
}
