//! Tests of the readers together: detection of the format, reading, refusal.

use super::*;
use base::Kind;
use expect_test::expect;
use std::io;

/// Reads a text: each entry as a few words, and the line in which the text breaks off.
fn read(text: &str) -> Result<(Vec<String>, Option<u64>), String> {
    let message = |error: HistoryError| error.to_string();
    let mut entries = Entries::open(text.as_bytes(), None).map_err(message)?;
    let mut words = Vec::new();
    for entry in &mut entries {
        let entry = entry.map_err(message)?;
        words.push(format!("{} {:?} {} {}", entry.process, entry.kind, entry.verb, entry.value));
    }
    assert!(entries.next().is_none());
    Ok((words, entries.cut_off()))
}

fn words(text: &str) -> Vec<String> {
    let (words, cut_off) = read(text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    assert_eq!(cut_off, None, "{text}");
    words
}

const EXPECTED: [&str; 2] = ["0 Invoke write 4", "0 Ok write 4"];

#[test]
fn one_history_in_all_its_forms() {
    let maps = "{:process 0, :type :invoke, :f :write, :value 4}\n\
                {:process :nemesis, :type :info, :f :start, :value nil}\n\
                {:process 0, :type :ok, :f :write, :value 4}";
    for text in [
        maps.into(),
        format!("[{maps}]\n"),
        format!("({maps})"),
        format!("; a remark\n#jepsen.History [{maps}]"),
        maps.replace("{:", "#jepsen.history.Op{:"),
        "INFO  jepsen.util - 0\t:invoke\t:write\t4\njunk\nINFO  jepsen.util - 0\t:ok\t:write\t4\n"
            .into(),
        "[2026-01-01] 0 :invoke :write 4\n[2026-01-01] 0 :ok :write 4\n".into(),
        r#"{"process":0,"type":"invoke","f":"write","value":4}
           {"process":"nemesis","type":"info","f":"start"}

           {"process":0,"type":"ok","f":"write","value":4}"#
            .into(),
        "\u{feff}{\"picklock_history\":2}\n\
         {\"index\":0,\"time_ns\":1,\"process\":0,\"type\":\"invoke\",\"f\":\"write\",\"value\":4}\r\n\
         {\"index\":1,\"time_ns\":1,\"process\":\"nemesis\",\"type\":\"info\",\"f\":\"quiet\"}\n\
         {\"index\":2,\"time_ns\":2,\"process\":0,\"type\":\"ok\",\"f\":\"write\",\"value\":4}\n"
            .into(),
        r#"{"process" 0, "type" :invoke, "f" :write, "value" 4}
           {"process" 0, "type" :ok, "f" :write, "value" 4}"#
            .into(),
    ] {
        assert_eq!(words(&text), EXPECTED, "{text}");
    }
}

#[test]
fn a_text_that_ends_too_early_is_read_up_to_there() {
    let whole = "[{:process 0, :type :invoke, :f :write, :value 4}\n{:process 0, :type :ok}]";
    for (text, line) in [
        (whole[..whole.len() - 8].to_owned(), 2),
        (whole[..whole.len() - 24].to_owned(), 2),
        ("{:process 0, :type :invoke, :f :write, :value 4} {:pro".into(), 1),
        ("- 0 :invoke :write 4\n- 0 :ok :write 4".into(), 2),
        ("{\"process\":0,\"type\":\"invoke\",\"f\":\"write\",\"value\":4}\n{\"pro".into(), 2),
    ] {
        let (words, cut_off) = read(&text).unwrap();
        assert_eq!(
            (words.as_slice(), cut_off),
            (&[EXPECTED[0].to_owned()][..], Some(line)),
            "{text}"
        );
    }
}

#[test]
fn what_is_out_of_order_is_refused_with_its_line() {
    let line = |index: u64| {
        format!("{{\"index\":{index},\"process\":0,\"type\":\"invoke\",\"f\":\"read\"}}\n")
    };
    let map = |index: u64| format!("{{:index {index}, :process 0, :type :invoke, :f :read}}\n");
    let header = "{\"picklock_history\":2}\n";
    for (text, expected) in [
        (header.to_owned() + &line(0) + &line(2), "line 3: event 2 stands where event 1 should"),
        (line(4) + &line(7) + &line(7), "line 3: event 7 stands after event 7"),
        (map(4) + &map(7) + &map(5), "line 3: event 5 stands after event 7"),
    ] {
        assert_eq!(read(&text).unwrap_err(), expected);
    }
}

#[test]
fn a_time_that_goes_back_is_noted() {
    let line = |time: u64| format!("{{:time {time}, :process 0, :type :info, :f :read}}\n");
    let text = line(5) + &line(4) + &line(3);
    let mut entries = Entries::open(text.as_bytes(), None).unwrap();
    assert_eq!(entries.by_ref().count(), 3);
    assert_eq!(entries.time_goes_back(), Some(2));
    let mut entries = Entries::open("{:time -5, :process :nemesis}".as_bytes(), None).unwrap();
    assert_eq!((entries.by_ref().count(), entries.time_goes_back()), (0, None));
}

#[test]
fn what_is_no_history_is_refused() {
    for (text, expected) in [
        ("", "the history is empty"),
        (" \n\n", "the history is empty"),
        ("{\"picklock_history\":7}\n", "line 1: the history has version 7, of a newer"),
        ("[{:process :nemesis} 1]", "line 1: not the map of an operation: 1"),
        ("[{:a 1}\n{:a 1}]", "line 1: an operation without :process: {:a 1}"),
        ("\n{:process 0\n :type 7, :f :read}", "line 2: no :type is 7"),
        ("{\"process\":0,\"type\":\"ok\"}\n", "line 1: not an event: missing field `f` at column"),
        ("[{\"process\":0}]\n", "line 1: an array; write one object a line"),
    ] {
        let refused = read(text).unwrap_err();
        assert!(refused.starts_with(expected), "{refused}");
    }
}

#[test]
fn a_last_line_without_an_end_is_read_unless_it_was_cut_off() {
    let array = r#"[{"process": 0, "type": "invoke", "f": "acquire"}]"#;
    let refused = Entries::open(array.as_bytes(), None).unwrap().next().unwrap();
    expect!["line 1: an array; write one object a line, no brackets around"]
        .assert_eq(&refused.unwrap_err().to_string());
    let cut_off = &array[1..array.len() - 4];
    assert!(Entries::open(cut_off.as_bytes(), None).unwrap().next().is_none());
}

#[test]
fn what_is_hostile_ends_in_one_error() {
    let deep = |open: &str| open.repeat(100_000);
    let long = "x".repeat(LONGEST_LINE + 1);
    for (text, expected) in [
        (format!("[{{:a {}", deep("[")), "line 1: EDN nested deeper than 64"),
        (format!("[{}", deep("#a ")), "line 1: EDN nested deeper than 64"),
        (format!("- 0 :ok :read {}\n", deep("(")), "line 1: EDN nested deeper than 64"),
        (format!("{{\"process\":{}", deep("[")) + "\n", "line 1: not an event: recursion limit"),
        (long.clone(), "line 1: longer than 1048576 bytes"),
        (format!("{{\"process\":\"{long}"), "line 1: longer than 1048576 bytes"),
        (format!("{{:process \"{long}"), "line 1: a string or name longer than"),
    ] {
        let refused = read(&text).unwrap_err();
        assert!(refused.starts_with(expected), "{refused}");
    }
    for (bytes, expected) in [
        (&b"\x1f\x8b\x08\0"[..], "line 1: compressed by gzip; unpack it first"),
        (&b"\x28\xb5\x2f\xfd"[..], "line 1: compressed by zstd; unpack it first"),
        (&b"\xff\xfe{\0"[..], "line 1: UTF-16 text; write it as UTF-8"),
    ] {
        assert_eq!(Entries::open(bytes, None).err().map(|e| e.to_string()), Some(expected.into()));
    }
    let broken = b"{\"process\":0,\"type\":\"ok\",\"f\":\"\xff\"}\n";
    let mut entries = Entries::open(&broken[..], None).unwrap();
    let message = entries.next().unwrap().unwrap_err().to_string();
    assert_eq!(message, "line 1: not UTF-8 text");
    assert!(entries.next().is_none(), "nothing follows an error");
}

#[test]
fn a_format_may_be_forced() {
    let text = "0 :invoke :read nil\n";
    let mut entries = Entries::open(text.as_bytes(), Some(Notation::Edn)).unwrap();
    assert!(entries.next().unwrap().is_err());
    let mut entries = Entries::open(text.as_bytes(), Some(Notation::Log)).unwrap();
    assert_eq!(entries.next().unwrap().unwrap().kind, Kind::Invoke);
}

/// A reader that gives a byte at a time, as a slow pipe does.
struct Slow<'a>(&'a [u8]);

impl io::Read for Slow<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n = self.0.len().min(buffer.len()).min(1);
        let (now, later) = self.0.split_at(n);
        buffer[..n].copy_from_slice(now);
        self.0 = later;
        Ok(n)
    }
}

#[test]
fn a_slow_pipe_is_read_as_a_file_is() {
    let text = "({:process 0, :type :invoke, :f :write, :value 4})";
    let entries = Entries::open(io::BufReader::new(Slow(text.as_bytes())), None).unwrap();
    assert_eq!(entries.format(), Notation::Edn);
    assert_eq!(entries.count(), 1);
}
