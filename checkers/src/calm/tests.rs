//! Pictures of what disturbs a run, and for how long.

use super::Calm;
use crate::Case;
use crate::picture::picture;

/// Tells for each acquire of process 4 whether nothing disturbs it, when trouble lasts for three
/// columns more.
fn calm(text: &str) -> Vec<bool> {
    let mut run = picture(text);
    run.info.run.ttl_ns = 300_000_000;
    let case = Case::of(&run);
    let calm = Calm::of(&run, &case.claims, &case.fault_spans);
    let probes = case.claims.claims.iter().filter(|claim| claim.process == 4);
    probes.map(|claim| calm.spans(claim.invoke, claim.asking().end)).collect()
}

#[test]
fn a_fault_disturbs_from_its_begin_until_some_time_after_its_heal() {
    let apart = "
        pause c0 |     [   ]
        p4       | a-!     a!a-!";
    assert_eq!(calm(apart), [true, false, false]);
    let at_the_moment = "
        pause c0 |     [   ]
        p4       | a---!       a!a!";
    assert_eq!(calm(at_the_moment), [false, true, true]);
    let at_the_end = "
        pause c0 |     [   ]
        p4       |            a!a!";
    assert_eq!(calm(at_the_end), [false, true]);
    let for_ever = "
        pause c0 |     [
        p4       | a-!            a!";
    assert_eq!(calm(for_ever), [true, false]);
}

#[test]
fn a_death_and_an_acquire_in_doubt_disturb_for_some_time() {
    for row in ["A---X", "a---?"] {
        let text = format!(
            "
            p0 | {row}
            p4 | a--!a!a-!a!"
        );
        assert_eq!(calm(&text), [true, false, false, true], "{row}");
    }
    let lost = "
        p0 | A---L
        p4 | a--!a!a-!a!";
    assert_eq!(calm(lost), [true; 4]);
}

#[test]
fn what_lies_between_two_troubles_is_calm_and_what_lies_in_the_longer_of_them_is_not() {
    let apart = "
        pause c0 | []
        pause c1 |          []
        p4       |      a-!   a!";
    assert_eq!(calm(apart), [true, false]);
    let nested = "
        pause c0 | [               ]
        pause c1 |  []
        p4       |          a-!";
    assert_eq!(calm(nested), [false]);
}
