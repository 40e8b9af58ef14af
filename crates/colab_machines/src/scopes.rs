//! What the person has granted. Google returns other names than were requested, in another order, and people may grant less.

const OPENID: &str = "openid";
const EMAIL: &str = "https://www.googleapis.com/auth/userinfo.email";
const COLAB: &str = "https://www.googleapis.com/auth/colaboratory";

/// The longest list that is kept.
const MAX_SCOPES: usize = 50;

/// A set of scopes by their full names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scopes(Vec<String>);

impl Scopes {
    /// Those that are requested: machines, and who the person is.
    pub(crate) fn requested() -> Self {
        Self([OPENID, EMAIL, COLAB].map(str::to_owned).into())
    }

    /// Reads a list that is separated by spaces.
    pub fn parse(list: &str) -> Self {
        let mut scopes: Vec<String> = list.split_whitespace().take(MAX_SCOPES).map(full_name).collect();
        scopes.sort();
        scopes.dedup();
        Self(scopes)
    }

    /// Whether machines can be used with them. A scope that only reads is not enough.
    pub fn allow_machines(&self) -> bool {
        self.0.iter().any(|scope| scope == COLAB)
    }

    /// The requested scopes that were not granted, as people know them.
    pub fn missing(&self) -> Vec<&'static str> {
        let named = [(COLAB, "Colab machines"), (EMAIL, "e-mail address")];
        named
            .into_iter()
            .filter(|(scope, _)| !self.0.iter().any(|it| it == scope))
            .map(|(_, name)| name)
            .collect()
    }

    pub fn list(&self) -> String {
        self.0.join(" ")
    }
}

fn full_name(scope: &str) -> String {
    if scope == "email" { EMAIL.to_owned() } else { scope.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_order_and_repetition_do_not_matter() {
        let granted = Scopes::parse(&format!("{COLAB} email  openid {EMAIL}"));
        assert!(granted.allow_machines() && granted.missing().is_empty());
        assert_eq!(granted, Scopes::parse(&Scopes::requested().list()));
    }

    #[test]
    fn a_subset_names_what_is_missing() {
        assert_eq!(Scopes::parse(COLAB).missing(), ["e-mail address"]);
        let without = Scopes::parse(&format!("openid {EMAIL} {COLAB}.readonly"));
        assert!(!without.allow_machines());
        assert_eq!(without.missing(), ["Colab machines"]);
    }
}
