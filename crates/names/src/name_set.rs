//! Sets of the names of one cell.

use std::collections::BTreeSet;
use std::iter::{Chain, Flatten};
use std::{option, slice};

use crate::names::Name;

/// The names of a larger set are in a tree, where an insertion does not move those behind it.
const FEW: usize = 32;

/// A set of names, in order. A notebook has a dozen for each statement, most of them empty or with one name. A tree has room for
/// eleven from the first on, which made the kept names of 1 000 cells take megabytes.
#[derive(Debug, Clone, Default)]
pub struct NameSet {
    /// In order; empty if there are many.
    few: Vec<Name>,
    many: Option<Box<BTreeSet<Name>>>,
}

type Iter<'s> = Chain<slice::Iter<'s, Name>, Flatten<option::IntoIter<&'s BTreeSet<Name>>>>;

impl NameSet {
    pub fn contains(&self, name: &str) -> bool {
        match &self.many {
            Some(many) => many.contains(name),
            None => self.position(name).is_ok(),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.iter().next().is_none()
    }

    pub fn iter(&self) -> Iter<'_> {
        self.few.iter().chain(self.many.as_deref().into_iter().flatten())
    }

    /// Returns whether it was not in the set.
    pub(crate) fn insert(&mut self, name: Name) -> bool {
        if let Some(many) = &mut self.many {
            return many.insert(name);
        }
        let Err(position) = self.position(&name) else { return false };
        if self.few.len() < FEW {
            self.few.reserve_exact(1);
            self.few.insert(position, name);
        } else {
            self.many = Some(Box::new(self.few.drain(..).chain([name]).collect()));
        }
        true
    }

    pub(crate) fn remove(&mut self, name: &str) {
        if let Some(many) = &mut self.many {
            many.remove(name);
        } else if let Ok(position) = self.position(name) {
            self.few.remove(position);
        }
    }

    fn position(&self, name: &str) -> Result<usize, usize> {
        self.few.binary_search_by(|known| known.as_str().cmp(name))
    }
}

impl PartialEq for NameSet {
    fn eq(&self, other: &Self) -> bool {
        self.iter().eq(other.iter())
    }
}

impl Eq for NameSet {}

impl<'s> IntoIterator for &'s NameSet {
    type Item = &'s Name;
    type IntoIter = Iter<'s>;

    fn into_iter(self) -> Iter<'s> {
        self.iter()
    }
}

impl Extend<Name> for NameSet {
    fn extend<I: IntoIterator<Item = Name>>(&mut self, names: I) {
        for name in names {
            self.insert(name);
        }
    }
}

impl FromIterator<Name> for NameSet {
    fn from_iter<I: IntoIterator<Item = Name>>(names: I) -> Self {
        let mut set = Self::default();
        set.extend(names);
        set
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn it_is_like_a_tree(steps in prop::collection::vec((prop::bool::weighted(0.8), "[a-z]{1,2}"), 0..200)) {
            let (mut set, mut tree) = (NameSet::default(), BTreeSet::new());
            for (is_inserted, name) in steps {
                if is_inserted {
                    prop_assert_eq!(set.insert(name.clone()), tree.insert(name));
                } else {
                    set.remove(&name);
                    tree.remove(&name);
                    prop_assert!(!set.contains(&name));
                }
                prop_assert!(set.iter().eq(&tree) && tree.iter().all(|name| set.contains(name)));
                prop_assert_eq!(&set, &tree.iter().cloned().collect());
            }
        }
    }
}
