//! The size limit of a reply, and how its parts share it.

/// The size limit of one reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Budget {
    /// Characters of text, including the tool's own text and notes on what was left out.
    pub characters: usize,
    /// Further images are described in text.
    pub images: usize,
    /// The characters of a stream that is longer than the whole budget.
    pub long_stream: usize,
}

impl Budget {
    /// A smaller budget has no room for the last line, and counts as this.
    pub const MIN_CHARACTERS: usize = 300;

    /// Of a stream that does not fit, only the ends are shown: whoever wants more asks for it.
    pub fn new(characters: usize, images: usize) -> Self {
        Self { characters, images, long_stream: 2_000 }
    }

    /// A budget that somebody asked for: a long stream may take all of it.
    #[must_use]
    pub fn asked_for(self) -> Self {
        Self { long_stream: self.characters, ..self }
    }
}

impl Default for Budget {
    fn default() -> Self {
        Self::new(20_000, 4)
    }
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Claim {
    /// The most it can use.
    pub(crate) size: usize,
    /// Its share relative to others, if there is not enough for all.
    pub(crate) weight: usize,
}

/// Divides `total` by weighted max-min fairness: no claim gets more than its size, and those that get less than their size
/// get equal shares per unit of weight.
///
/// Example: 100 for the sizes 1000, 10 and 900 of equal weight. The smallest comes first: 100 / 3 = 33 is more than 10,
/// so it gets its 10. The next two share the remaining 90: 90 / 2 = 45, then 45 / 1 = 45.
pub(crate) fn shares(total: usize, claims: &[Claim]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..claims.len()).collect();
    // By size per unit of weight, compared without division.
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
    fn everything_fits_if_the_total_is_large_enough() {
        assert_eq!(equal(100, &[10, 50, 40]), [10, 50, 40]);
        assert_eq!(equal(100, &[]), Vec::<usize>::new());
    }

    #[test]
    fn a_small_claim_gets_its_whole_size() {
        assert_eq!(equal(100, &[1000, 10]), [90, 10]);
        assert_eq!(equal(100, &[1000, 10, 900]), [45, 10, 45]);
    }

    #[test]
    fn large_claims_share_by_weight() {
        let claims = [Claim { size: 1000, weight: 1 }, Claim { size: 1000, weight: 3 }];
        assert_eq!(shares(100, &claims), [25, 75]);
    }

    proptest! {
        #[test]
        fn shares_are_bounded_and_use_the_total(
            total in 0_usize..1000, claims in prop::collection::vec((0_usize..500, 1_usize..5), 0..9),
        ) {
            let claims: Vec<Claim> = claims.into_iter().map(|(size, weight)| Claim { size, weight }).collect();
            let shares = shares(total, &claims);
            prop_assert!(shares.iter().zip(&claims).all(|(share, claim)| *share <= claim.size));
            let wanted: usize = claims.iter().map(|claim| claim.size).sum();
            let sum: usize = shares.iter().sum();
            prop_assert!(sum <= total);
            prop_assert!(sum + claims.len() >= total.min(wanted), "rounding loses at most one character per claim");
        }
    }
}
