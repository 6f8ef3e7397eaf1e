//! Puts things in the order of their places in a history.

/// Sorts by place, stably. Returns true if no two things share a place.
pub(crate) fn sort<T: Copy>(things: &mut Vec<T>, place: impl Fn(&T) -> u64) -> bool {
    let places = || things.iter().map(&place);
    let (first, last) = (places().min().unwrap_or(0), places().max().unwrap_or(0));
    let span = usize::try_from(last - first).unwrap_or(usize::MAX);
    match span / 8 <= things.len() {
        true => match lay_out(things, span, |thing| (place(thing) - first) as usize) {
            Some(sorted) => {
                *things = sorted;
                true
            }
            None => {
                things.sort_by_key(place);
                false
            }
        },
        false => {
            things.sort_by_key(&place);
            things.windows(2).all(|pair| place(&pair[0]) != place(&pair[1]))
        }
    }
}

/// Event indices lie close together: each has its place in a table, which is faster than to sort.
/// `None` if two share one.
fn lay_out<T: Copy>(things: &[T], span: usize, place: impl Fn(&T) -> usize) -> Option<Vec<T>> {
    // 0 marks an empty entry.
    let mut table = vec![0u32; span + 1];
    for (id, thing) in things.iter().enumerate() {
        let entry = &mut table[place(thing)];
        if *entry != 0 {
            return None;
        }
        *entry = id as u32 + 1;
    }
    let mut sorted = Vec::with_capacity(things.len());
    sorted.extend(table.into_iter().filter(|id| *id != 0).map(|id| things[id as usize - 1]));
    Some(sorted)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sorted(places: &[u64]) -> (Vec<(u64, usize)>, bool) {
        let mut things: Vec<(u64, usize)> = places.iter().copied().zip(0..).collect();
        let distinct = sort(&mut things, |(place, _)| *place);
        (things, distinct)
    }

    #[test]
    fn things_are_sorted_whether_they_lie_close_or_far() {
        assert_eq!(sorted(&[]), (vec![], true));
        assert_eq!(sorted(&[7, 5, 6]), (vec![(5, 1), (6, 2), (7, 0)], true));
        assert_eq!(sorted(&[u64::MAX, 0]), (vec![(0, 1), (u64::MAX, 0)], true));
        assert_eq!(sorted(&[900, 3]), (vec![(3, 1), (900, 0)], true));
    }

    #[test]
    fn those_that_share_a_place_stay_in_order() {
        assert_eq!(sorted(&[2, 1, 2]), (vec![(1, 1), (2, 0), (2, 2)], false));
        assert_eq!(sorted(&[900, 1, 900]), (vec![(1, 1), (900, 0), (900, 2)], false));
    }
}
