//! Sets that mostly have no item or one.

use std::borrow::Borrow;
use std::ops::Deref;

use thin_vec::ThinVec;

/// A set, as a slice in order. A notebook has a dozen for each statement. A tree has room for eleven items from the first on, which
/// made the kept names of 1 000 cells take megabytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SmallSet<T>(ThinVec<T>);

/// Sets of no more items than this have no room for further ones.
const FEW: usize = 32;

impl<T: Ord> SmallSet<T> {
    pub fn contains<Q: Ord + ?Sized>(&self, item: &Q) -> bool
    where
        T: Borrow<Q>,
    {
        self.position(item).is_ok()
    }

    /// Returns whether it was not in the set.
    pub fn insert(&mut self, item: T) -> bool {
        let Err(position) = self.position(&item) else { return false };
        if self.0.len() < FEW {
            self.0.reserve_exact(1);
        }
        self.0.insert(position, item);
        true
    }

    pub fn remove<Q: Ord + ?Sized>(&mut self, item: &Q)
    where
        T: Borrow<Q>,
    {
        if let Ok(position) = self.position(item) {
            self.0.remove(position);
        }
    }

    fn position<Q: Ord + ?Sized>(&self, item: &Q) -> Result<usize, usize>
    where
        T: Borrow<Q>,
    {
        self.0.binary_search_by(|known| known.borrow().cmp(item))
    }
}

impl<T> Default for SmallSet<T> {
    fn default() -> Self {
        Self(ThinVec::new())
    }
}

impl<T> Deref for SmallSet<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &self.0
    }
}

impl<'s, T> IntoIterator for &'s SmallSet<T> {
    type Item = &'s T;
    type IntoIter = std::slice::Iter<'s, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl<T: Ord> Extend<T> for SmallSet<T> {
    fn extend<I: IntoIterator<Item = T>>(&mut self, items: I) {
        for item in items {
            self.insert(item);
        }
    }
}

impl<T: Ord> FromIterator<T> for SmallSet<T> {
    fn from_iter<I: IntoIterator<Item = T>>(items: I) -> Self {
        let mut set = Self::default();
        set.extend(items);
        set
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn it_is_like_a_tree(steps in prop::collection::vec((prop::bool::weighted(0.8), "[a-z]{1,2}"), 0..200)) {
            let (mut set, mut tree) = (SmallSet::default(), BTreeSet::new());
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
