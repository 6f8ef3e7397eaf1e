//! Pictures of releases that free another's hold, and of such that do not.

use super::ForeignRelease;
use crate::picture::Gallery;
use expect_test::expect;

const ANY: Gallery = Gallery { checker: &ForeignRelease, info: |_| {} };

#[test]
fn a_bare_deletion_after_a_later_grant() {
    ANY.rejects(
        "
        p0 | A=============D
        p1 |            A====N",
        "foreign release",
        1,
    );
}

#[test]
fn who_had_waited_all_the_time_but_whose_request_came_later() {
    ANY.rejects(
        "
        p1 | a----------A====N
        p0 | A=============D",
        "foreign release",
        1,
    );
}

/// Of two grants at one time the later one is known by its place.
#[test]
fn whoever_began_to_ask_after_the_grant_came_later() {
    ANY.rejects(
        "
        p0 | A====D
        p1 | A======N",
        "foreign release",
        1,
    );
}

#[test]
fn a_request_at_the_time_of_the_grant_may_have_come_before() {
    ANY.accepts(
        "
        p1 | a--k----A====N
        p0 |    A=======D",
    );
}

#[test]
fn a_writer_frees_what_a_reader_holds_and_a_reader_what_a_writer_holds() {
    ANY.rejects(
        "
        p0 | A====D
        p1 |   S====N
        p2 |         S====D
        p3 |            A===N",
        "foreign release",
        2,
    );
}

#[test]
fn the_other_may_have_gone_already() {
    ANY.rejects(
        "
        p0 | A===========D
        p1 |    A==D
        p2 |         A=====N",
        "foreign release",
        1,
    );
}

#[test]
fn whoever_frees_what_it_has_lost_frees_anothers() {
    ANY.rejects(
        "
        p0 | A=======L r-D
        p1 |  a-------A======!
        p2 |   a-----------A==N",
        "foreign release",
        1,
    );
}

#[test]
fn what_was_lost_may_be_freed_before_anybody_else_has_it() {
    ANY.accepts(
        "
        p0 | A=====LrD
        p1 |  a--------A======O",
    );
}

#[test]
fn whoever_was_never_granted_the_lock_frees_anothers() {
    ANY.rejects(
        "
        p0 |   rD
        p1 | A=====N",
        "foreign release",
        1,
    );
}

#[test]
fn whoever_was_never_granted_the_lock_may_free_what_has_run_out_or_what_nobody_has() {
    ANY.accepts("p0 |    rD\np1 | A=O   A=O");
    ANY.accepts("p0 | rD\np1 |  A=O");
    ANY.accepts("p0 |    rN\np1 | A=====O");
    ANY.accepts("ttl | *\np0 |            rD\np1 | A=============N");
}

#[test]
fn the_ledger_knows_of_a_release_without_a_grant_and_of_one_of_what_was_lost() {
    ANY.rejects(
        "
        store |  1  a
        p0    |    r-R
        p1    | A=====N",
        "foreign release",
        1,
    );
    ANY.rejects(
        "
        store |  0      x1  a
        p0    | A=======L r--R
        p1    |  a-------A====N",
        "foreign release",
        1,
    );
}

/// Also where the release was carried out after its client had given it up.
#[test]
fn a_signal_that_a_release_left_is_nobodys_lock() {
    ANY.accepts(
        "
        store   |  0    a1      b
        store b |       0       b
        p0      | A===r?
        p1      |  a------A====r-O",
    );
    ANY.accepts(
        "
        store   |  0   a 1      b
        store b |      0        b
        p0      | A===r-O
        p1      |  a------A====r-O",
    );
}

/// A hash with a field for each reader, say, of which the release takes one out.
#[test]
fn a_reader_that_takes_itself_out_frees_nobody() {
    ANY.accepts(
        "
        store |  0  1     0  2
        p0    | s-S======rR
        p1    |    s-S=============R
        p2    |            s-S=====R",
    );
}

/// A list of those who wait, say, of which the first has the lock.
#[test]
fn whoever_leaves_a_queue_that_all_share_frees_nobody_elses_lock() {
    ANY.accepts(
        "
        p0          | A=====r-R
        p1          |  a------A==r-R
        p2          |   a----------A=r-R
        p3          |          a-------A=r-R
        store queue | 0 12   0  3 1   2   d",
    );
    ANY.rejects(
        "
        store queue | 0    1       a
        p0          | A===========r=R
        p1          |  a----A==========R",
        "foreign release",
        1,
    );
}

/// A count of readers that a writer joins as it becomes one of them.
#[test]
fn a_writer_that_became_a_reader_takes_its_own_part_out() {
    let text = "
        p0          | aA==v-V====r-R s-S=r-R
        p1          |        s-S============r-R
        store       | 0    a
        store queue |      0  1   0   0   0  1";
    let downgrading = Gallery {
        info: |info| {
            info.lock.promises =
                base::Promises { shared: true, downgrades: true, ..info.lock.promises };
        },
        ..ANY
    };
    downgrading.accepts(text);
    downgrading.rejects(
        &text.replace("v-V", "===").replace("store       | 0    a", ""),
        "foreign release",
        1,
    );
}

#[test]
fn who_compares_frees_only_his_own() {
    ANY.accepts(
        "
        p0 | A=============O
        p1 |            A====O",
    );
}

#[test]
fn the_news_of_an_older_grant_came_late() {
    ANY.accepts(
        "
        p0 |    A=======D
        p1 | ak-----A======N",
    );
}

#[test]
fn a_deletion_before_the_next_grant() {
    ANY.accepts(
        "
        p0 | A==D      A==D
        p1 | a----A=D",
    );
}

#[test]
fn the_answer_to_a_deletion_may_come_after_the_next_grant() {
    ANY.accepts(
        "
        p0 | A==r----D
        p1 | a----A======D",
    );
}

#[test]
fn a_release_that_compares_is_not_to_blame_for_an_overlap() {
    ANY.accepts(
        "
        p0 | A==r----O
        p1 | a-----A======N
        p2 |  a--------A====O",
    );
}

#[test]
fn an_overlap_long_after_the_release_is_not_due_to_it() {
    ANY.accepts(
        "
        p0 | A==r-D
        p1 | a--------A======N
        p2 |  a----------A====O",
    );
}

#[test]
fn what_removed_nothing_freed_nobody() {
    ANY.accepts(
        "
        p0 | A=============N
        p1 |            A====D",
    );
}

#[test]
fn readers_hold_together() {
    ANY.accepts(
        "
        p0 | S=======D
        p1 |   S===D",
    );
}

#[test]
fn releases_that_do_not_say_what_they_removed() {
    ANY.unclear(
        "
        p0 | A=======R
        p1 |   A===R",
        expect!["no release says what it removed"],
    );
}
