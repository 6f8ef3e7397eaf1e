//! The claims of each key, sorted out once for all checkers.

use histories::holds::{Claim, Claims};

/// Numbers of claims by key; those of a key stay in the order in which they came.
#[derive(Debug)]
pub(crate) struct Groups {
    claims: Vec<u32>,
    /// The ends of each key's claims in the list.
    ends: Vec<u32>,
}

impl Groups {
    /// Groups all claims, in the order of their requests.
    pub(crate) fn by_request(claims: &Claims) -> Self {
        Self::of(claims, 0..claims.claims.len() as u32)
    }

    /// Groups the claims that were answered, in the order of their answers.
    pub(crate) fn by_answer(claims: &Claims) -> Self {
        Self::of(claims, claims.answered.iter().copied())
    }

    fn of(claims: &Claims, order: impl Iterator<Item = u32> + Clone) -> Self {
        let key = |id: u32| claims.claims[id as usize].key;
        let mut ends = vec![0; claims.keys.len()];
        order.clone().for_each(|id| ends[key(id)] += 1);
        let mut total = 0;
        for end in &mut ends {
            // Where it begins, until it has been filled.
            total += std::mem::replace(end, total);
        }
        let mut sorted = vec![0; total as usize];
        for id in order {
            let end = &mut ends[key(id)];
            sorted[*end as usize] = id;
            *end += 1;
        }
        Self { claims: sorted, ends }
    }

    /// The claims of a key, with their numbers.
    pub(crate) fn of_key<'a>(
        &'a self,
        claims: &'a [Claim],
        key: usize,
    ) -> impl DoubleEndedIterator<Item = (usize, &'a Claim)> + Clone {
        let begin = key.checked_sub(1).map_or(0, |before| self.ends[before] as usize);
        let ours = self.claims[begin..self.ends[key] as usize].iter();
        ours.map(|id| (*id as usize, &claims[*id as usize]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::picture::picture;

    #[test]
    fn each_key_has_its_claims_in_both_orders() {
        let run = picture(
            "
            p0/k1 | a----A=R
            p1    |  A=R
            p2/k1 |   A=R
            p3/k1 |    a---",
        );
        let claims = Claims::of(&run.history);
        let of = |groups: &Groups, key| -> Vec<u32> {
            groups.of_key(&claims.claims, key).map(|(_, claim)| claim.process).collect()
        };
        let (asked, answered) = (Groups::by_request(&claims), Groups::by_answer(&claims));
        assert_eq!((of(&asked, 0), of(&asked, 1)), (vec![0, 2, 3], vec![1]));
        assert_eq!((of(&answered, 0), of(&answered, 1)), (vec![2, 0], vec![1]));
    }
}
