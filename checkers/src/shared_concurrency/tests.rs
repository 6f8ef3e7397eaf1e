//! Pictures of readers behind a writer.

use super::SharedConcurrency;
use crate::picture::Gallery;
use expect_test::expect;

const SHARED: Gallery = Gallery { checker: &SharedConcurrency, info: |_| {} };

#[test]
fn readers_enter_one_by_one() {
    SHARED.rejects(
        "
        p0 | A===R          A===R          A===R
        p1 |  s----S==R      s----S==R      s----S==R
        p2 |  s--------S=R   s--------S=R   s--------S=R",
        "readers one by one",
        3,
    );
}

#[test]
fn three_readers_behind_one_writer() {
    SHARED.rejects(
        "
        p0 | A===R                A===R
        p1 |  s----S==R            s----S==R
        p2 |  s--------S==R        s--------S==R
        p3 |  s------------S=R     s------------S=R",
        "readers one by one",
        4,
    );
}

#[test]
fn most_of_them_enter_one_by_one() {
    SHARED.rejects(
        "
        p0 | A===R          A===R          A===R          A===R
        p1 |  s----S==R      s----S==R      s----S==R      s----S==R
        p2 |  s--------S=R   s--------S=R   s--------S=R   s-----S=R",
        "readers one by one",
        3,
    );
}

#[test]
fn as_many_enter_together_as_one_by_one() {
    let summary = SHARED.accepts(
        "
        p0 | A===R          A===R          A===R          A===R          A===R          A===R
        p1 |  s----S==R      s----S==R      s----S==R      s----S==R      s----S==R      s----S==R
        p2 |  s--------S=R   s--------S=R   s--------S=R   s-----S=R      s-----S=R      s-----S=R",
    );
    assert!(summary.starts_with("6 pairs"), "{summary}");
}

#[test]
fn readers_enter_together() {
    SHARED.accepts(
        "
        p0 | A===R          A===R          A===R
        p1 |  s----S==R      s----S==R      s----S==R
        p2 |  s-----S=R      s-----S=R      s-----S=R",
    );
}

#[test]
fn a_slow_moment_is_no_rule() {
    SHARED.accepts(
        "
        p0 | A===R          A===R          A===R
        p1 |  s----S==R      s----S==R      s----S==R
        p2 |  s--------S=R   s-----S=R      s-----S=R",
    );
}

#[test]
fn a_writer_between_them_is_a_reason() {
    SHARED.accepts("
        p0 | A===R           A===R           A===R           A===R          A===R          A===R
        p1 |  s----S=R        s----S=R        s----S=R        s----S==R      s----S==R      s----S==R
        p2 |  s----------S=R  s----------S=R  s----------S=R  s-----S=R      s-----S=R      s-----S=R
        p3 |   a------AR       a------AR       a------AR");
}

#[test]
fn a_writer_behind_them_in_the_queue_is_no_reason() {
    let text = "
        p0 | A1==R            A1==R            A1==R
        p1 |  s----S2==R       s----S2==R       s----S2==R
        p2 |   s--------S3R     s--------S3R     s--------S3R
        p3 |    a----------A4R   a----------A4R   a----------A4R";
    SHARED.rejects(text, "readers one by one", 3);
    let between = text.replace("S3R", "S4R").replace("A4R", "A3R");
    SHARED.unclear(
        &between,
        expect!["0 pairs of readers that waited for the same writer, 0 entered together"],
    );
}

#[test]
fn who_came_later_or_had_a_writer_before_it_makes_no_pair() {
    SHARED.unclear(
        "
        p0 | A===R          A===R          A===R
        p1 |  s----S==R      s----S==R      s----S==R
        p2 |      s---S=R        s---S=R        s---S=R",
        expect!["0 pairs of readers that waited for the same writer, 0 entered together"],
    );
    SHARED.unclear(
        "
        p0 | A===R           A===R           A===R
        p1 |  s----S=R        s----S=R        s----S=R
        p2 |  s----------S=R  s----------S=R  s----------S=R
        p3 |   a------AR       a------AR       a------AR",
        expect!["0 pairs of readers that waited for the same writer, 0 entered together"],
    );
}

#[test]
fn a_reader_that_was_gone_at_once_could_not_be_joined() {
    let five_seconds =
        Gallery { checker: &SharedConcurrency, info: |info| info.run.ttl_ns = 5_000_000_000 };
    let text = "
        p0 | A===R          A===R          A===R
        p1 |  s----S==R      s----S==R      s----S==R
        p2 |  s--------S=R   s--------S=R   s--------S=R";
    five_seconds.rejects(text, "readers one by one", 3);
    five_seconds.unclear(
        &text.replace("S==R", "S=R "),
        expect!["0 pairs of readers that waited for the same writer, 0 entered together"],
    );
}

#[test]
fn two_pairs_show_little() {
    SHARED.unclear(
        "
        p0 | A===R          A===R
        p1 |  s----S==R      s----S==R
        p2 |  s--------S=R   s--------S=R",
        expect!["2 pairs of readers that waited for the same writer, 0 entered together"],
    );
}

#[test]
fn a_lock_without_readers() {
    let mutex =
        Gallery { checker: &SharedConcurrency, info: |info| info.lock.promises.shared = false };
    mutex.does_not_apply("p0 | A==R");
}
