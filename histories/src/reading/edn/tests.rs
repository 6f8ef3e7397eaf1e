//! Tests of well-formed, malformed and oversized EDN.

use super::*;
use expect_test::expect;

fn first(text: &str) -> Result<Value, String> {
    match Parser::new(text.as_bytes(), 1).form(None) {
        Ok(NextForm::Form(_, value)) => Ok(value),
        Ok(other) => Err(format!("{other:?}")),
        Err(NoForm::CutOff) => Err("cut off".into()),
        Err(NoForm::Wrong(error)) => Err(error.to_string()),
    }
}

#[test]
fn forms_are_read_as_they_print() {
    for (text, printed) in [
        ("nil", "nil"),
        ("true", "true"),
        ("-7", "-7"),
        ("+7", "7"),
        ("5N", "5"),
        ("0x1F", "31"),
        ("9223372036854775808", "9223372036854775808"),
        ("1.50", "1.5"),
        ("1e3", "1000"),
        ("2.50M", "2.5"),
        ("1/3", "1/3"),
        ("##NaN", "##NaN"),
        (":jepsen/read", ":jepsen/read"),
        ("foo/bar", "foo/bar"),
        ("\\a", "\\a"),
        ("\\newline", "\\newline"),
        ("\\(", "\\("),
        (r#""a\n\"b\" \u00e9 \ud83d\ude00""#, "\"a\\n\\\"b\\\" é 😀\""),
        ("[1, (2 3) #{3 1}]", "[1 [2 3] #{1 3}]"),
        ("{:b 2, :a [nil]}", "{:a [nil], :b 2}"),
        ("#jepsen.history.Op{:f :read}", "#jepsen.history.Op {:f :read}"),
        ("#inst \"2026-01-01\"", "#inst \"2026-01-01\""),
        ("#:op{:f :read}", "#:op {:f :read}"),
        ("; a remark\n [1 #_ 2 #_ #_ 3 4 5]", "[1 5]"),
        ("#_ [1 2] 3", "3"),
        ("[a;b\n]", "[a]"),
        ("\"a\"1", "\"a\""),
    ] {
        assert_eq!(first(text).map(|value| value.to_string()), Ok(printed.into()), "{text}");
    }
}

#[test]
fn what_is_no_edn_is_refused_with_its_line() {
    for (text, expected) in [
        ("]", "line 1: not EDN: `]` closes nothing"),
        ("\n[1 }", "line 2: not EDN: `}` where `]` should be"),
        ("{:a}", "line 1: not EDN: a map with a key that has no value"),
        ("{:a 1 :a 2}", "line 1: not EDN: a map with a key that stands twice"),
        ("1x", "line 1: not EDN: `1x`"),
        ("1.5N", "line 1: not EDN: `1.5N`"),
        ("1e99999999999", "line 1: not EDN: `1e99999999999`"),
        ("1/0", "line 1: not EDN: `1/0`"),
        ("\n\n:", "line 3: not EDN: `:`"),
        ("\"\\q\"", "line 1: not EDN: `\\q`"),
        ("\"\\ud800x\"", "line 1: not EDN: `half of a character`"),
        ("#\"x\"", "line 1: not EDN: `#`"),
        ("[#a]", "line 1: not EDN: no value after `#a`"),
        ("[#_]", "line 1: not EDN: nothing after `#_`"),
    ] {
        assert_eq!(first(text), Err(expected.into()), "{text}");
    }
}

#[test]
fn what_ends_too_early_is_cut_off() {
    for text in ["[1", "{:a", "\"abc", "#", "#{", "\\", "\"\\u00", "[#_", "#tag", "#_"] {
        assert_eq!(first(text), Err("cut off".into()), "{text}");
    }
    assert_eq!(first(" ; nothing"), Err("End".into()));
}

#[test]
fn no_depth_and_no_size_is_too_much() {
    let deep = "[".repeat(DEEPEST) + &"]".repeat(DEEPEST);
    assert!(first(&deep).is_ok());
    let expected = "line 1: EDN nested deeper than 64";
    for nest in ["[", "{", "#{", "#a ", "#_ "] {
        assert_eq!(first(&nest.repeat(100_000)), Err(expected.into()), "{nest}");
    }
    let long = format!("[{}]", "1 ".repeat(LARGEST));
    let texts = format!("[{}]", format!("\"{}\" ", "x".repeat(LONGEST)).repeat(33));
    let text = format!("\"{}\"", "x".repeat(LONGEST + 1));
    let refused = [long, texts, text].map(|text| first(&text).unwrap_err());
    expect![[r#"
        line 1: one form of more than 32 MiB
        line 1: one form of more than 32 MiB
        line 1: a string or name longer than 1048576 bytes"#]]
    .assert_eq(&refused.join("\n"));
    let discarded = "#_ 1 ".repeat(LARGEST) + "2";
    assert_eq!(first(&discarded).map(|value| value.to_string()), Ok("2".into()));
}

#[test]
fn equal_numbers_are_equal_and_others_are_not() {
    for five in ["5N", "5.0", "5M", "+5", "0x5", "10/2", "0.5e1"] {
        assert_eq!(first(five), first("5"), "{five}");
    }
    assert_eq!(first("-0.0"), first("0"));
    assert_eq!(first("1/2"), first("0.5"));
    let beyond = "9".repeat(60);
    assert_eq!(first(&beyond), first(&format!("+{beyond}N")));
    for (a, b) in [("5", "\"5\""), (":a", "\"a\""), (":a", "a"), ("5", "5.1"), ("[1 2]", "[2 1]")] {
        assert_ne!(first(a), first(b));
    }
}

#[test]
fn a_sequence_is_entered_and_left() {
    let mut parser = Parser::new("#history [1\n 2]".as_bytes(), 1);
    let close = parser.enter().unwrap().unwrap();
    assert_eq!(parser.form(Some(close)).unwrap(), NextForm::Form(1, Value::Int(1)));
    assert_eq!(parser.form(Some(close)).unwrap(), NextForm::Form(2, Value::Int(2)));
    assert_eq!(parser.form(Some(close)).unwrap(), NextForm::Close);
    assert_eq!(parser.form(None).unwrap(), NextForm::End);
}

/// Describes the forms of a text, with their lines, up to its end or its first error.
fn everything(text: impl BufRead) -> String {
    let mut parser = Parser::new(text, 1);
    let mut forms = String::new();
    loop {
        let next = parser.form(Some(b')'));
        forms += &format!("{next:?} {}\n", parser.line());
        if !matches!(next, Ok(NextForm::Form(..) | NextForm::Close)) {
            return forms;
        }
    }
}

/// Pieces of forms in random order; brackets are mostly closed as they were opened.
fn random_text(seed: u64) -> Vec<u8> {
    const PIECES: &[u8] =
        b"{ [ ( #{ ] } #_ #a ##NaN :f :type :process :x/f :error : nil true 0 12 \
        -7 +7 5N 1.50 1/3 0x1F 1x 1e30 12345678901234567890 99999999999999999999 sym a#b \xc3\xa9 \
        \xff \"s\" \"a\\n\" \\a ;c , \n 1,2,3 :a,1,:b,[2] {:f,1,:type,:ok} {:f,nil\n,:key \
        a-symbol-that-is-longer-than-one-unit";
    let pieces: Vec<&[u8]> = PIECES.split(|byte| *byte == b' ').collect();
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mut below = |most: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 33) as usize % most
    };
    let (mut text, mut open) = (Vec::new(), Vec::new());
    for _ in 0..below(30) {
        let piece = pieces[below(pieces.len())];
        match piece {
            b"{" | b"#{" | b"{:f,nil\n,:key" => open.push(b'}'),
            b"[" => open.push(b']'),
            b"(" => open.push(b')'),
            _ => {}
        }
        text.extend_from_slice(piece);
        text.extend_from_slice([" ", "", "\n", ", "][below(4)].as_bytes());
        if below(4) == 0 {
            text.extend(open.pop());
        }
    }
    while below(8) > 0 && !open.is_empty() {
        text.extend(open.pop());
    }
    text
}

#[test]
fn pieces_of_any_length_are_read_alike() {
    let mut maps = 0;
    for seed in 1..20_000 {
        let text = random_text(seed);
        let at_once = everything(text.as_slice());
        // No word is at hand up to the byte that ends it: each is a token of its own.
        let bytewise = everything(std::io::BufReader::with_capacity(1, text.as_slice()));
        assert_eq!(at_once, bytewise, "{}", text.escape_ascii());
        maps += usize::from(at_once.contains("Map([("));
    }
    assert!(maps > 1000, "{maps}");
}

#[test]
fn the_bound_on_size_is_the_same_for_pieces_of_any_length() {
    for count in [LARGEST - 2, LARGEST - 1, LARGEST] {
        let text = format!("\n[{}]", "1\n".repeat(count));
        let bytewise = everything(std::io::BufReader::with_capacity(1, text.as_bytes()));
        assert_eq!(everything(text.as_bytes()), bytewise, "{count}");
    }
}
