//! How much one reply may hold, and how its parts share that.

/// What one reply may hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Budget {
    /// Characters of text, the words of the tool itself and notes on what was left out included.
    pub characters: usize,
    /// Images; what is beyond is described.
    pub images: usize,
}

impl Default for Budget {
    fn default() -> Self {
        Self { characters: 20_000, images: 4 }
    }
}

/// One that wants a share.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Claim {
    /// What it would take.
    pub(crate) size: usize,
    /// How much more it gets than one of weight 1, where not all get what they want.
    pub(crate) weight: usize,
}

/// Divides `total`: nobody gets more than their size, and whoever gets less gets as much, times their weight, as
/// all others who get less (max-min fairness).
pub(crate) fn shares(total: usize, claims: &[Claim]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..claims.len()).collect();
    // By size for each unit of weight, compared without division.
    order.sort_by(|&a, &b| {
        let (a, b) = (claims[a], claims[b]);
        (a.size.saturating_mul(b.weight)).cmp(&b.size.saturating_mul(a.weight))
    });
    let mut weights: usize = claims.iter().map(|claim| claim.weight).sum();
    let mut left = total;
    let mut shares = vec![0; claims.len()];
    for index in order {
        let Claim { size, weight } = claims[index];
        shares[index] = size.min(left.saturating_mul(weight) / weights.max(1));
        left -= shares[index];
        weights -= weight;
    }
    shares
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn equal(total: usize, sizes: &[usize]) -> Vec<usize> {
        let claims: Vec<Claim> = sizes.iter().map(|&size| Claim { size, weight: 1 }).collect();
        shares(total, &claims)
    }

    #[test]
    fn all_get_what_they_want_if_it_is_there() {
        assert_eq!(equal(100, &[10, 50, 40]), [10, 50, 40]);
        assert_eq!(equal(100, &[]), Vec::<usize>::new());
    }

    #[test]
    fn a_short_one_is_not_starved_by_a_long_one() {
        assert_eq!(equal(100, &[1000, 10]), [90, 10]);
        assert_eq!(equal(100, &[1000, 10, 900]), [45, 10, 45]);
    }

    #[test]
    fn weight_tells_among_long_ones() {
        let claims = [Claim { size: 1000, weight: 1 }, Claim { size: 1000, weight: 3 }];
        assert_eq!(shares(100, &claims), [25, 75]);
    }

    proptest! {
        #[test]
        fn no_share_is_too_large_and_nothing_is_wasted(
            total in 0_usize..1000, claims in prop::collection::vec((0_usize..500, 1_usize..5), 0..9),
        ) {
            let claims: Vec<Claim> = claims.into_iter().map(|(size, weight)| Claim { size, weight }).collect();
            let shares = shares(total, &claims);
            prop_assert!(shares.iter().zip(&claims).all(|(share, claim)| *share <= claim.size));
            let wanted: usize = claims.iter().map(|claim| claim.size).sum();
            let sum: usize = shares.iter().sum();
            prop_assert!(sum <= total);
            prop_assert!(sum + claims.len() >= total.min(wanted));
        }
    }
}
