/// What ends the ids of a server's runs, so that a later server can tell them from its own: `-kqzmtb` in `r12-kqzmtb`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RunSuffix {
    letters: Option<[u8; Self::LETTERS]>,
}

impl RunSuffix {
    /// With six, no two of a thousand servers have the same in 998 of 1000 cases.
    const LETTERS: usize = 6;
    const ALL: [&'static str; 26] = [
        "a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l", "m", "n", "o", "p", "q", "r", "s", "t",
        "u", "v", "w", "x", "y", "z",
    ];

    /// A suffix made of random bytes.
    pub fn of_random(bytes: [u8; Self::LETTERS]) -> Self {
        Self { letters: Some(bytes) }
    }

    /// The text; empty by default.
    pub fn text(self) -> String {
        let Some(letters) = self.letters else { return String::new() };
        let letters = letters.iter().map(|byte| Self::ALL[usize::from(*byte) % Self::ALL.len()]);
        std::iter::once("-").chain(letters).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_suffix_is_a_hyphen_and_letters() {
        assert_eq!(RunSuffix::default().text(), "");
        assert_eq!(RunSuffix::of_random([0, 25, 26, 255, 1, 51]).text(), "-azavbz");
    }
}
