//! Sets that mostly have no item or one.

use std::borrow::Borrow;
use std::collections::BTreeSet;
use std::iter::{Chain, Flatten};
use std::option;
use std::slice;

use thin_vec::ThinVec;

/// The items of a larger set are in a tree, where an insertion does not move those behind it.
const FEW: usize = 32;

/// A set, in order. A notebook has a dozen for each statement. A tree has room for eleven items from the first on, which made the
/// kept names of 1 000 cells take megabytes.
#[derive(Debug, Clone)]
pub struct SmallSet<T> {
    /// In order; empty if there are many.
    few: ThinVec<T>,
    #[expect(
        clippy::box_collection,
        reason = "nearly all sets do without it, and there are millions of them"
    )]
    many: Option<Box<BTreeSet<T>>>,
}

type Iter<'s, T> = Chain<slice::Iter<'s, T>, Flatten<option::IntoIter<&'s BTreeSet<T>>>>;

impl<T: Ord> SmallSet<T> {
    pub fn contains<Q: Ord + ?Sized>(&self, item: &Q) -> bool
    where
        T: Borrow<Q>,
    {
        match &self.many {
            Some(many) => many.contains(item),
            None => self.position(item).is_ok(),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.iter().next().is_none()
    }

    pub fn iter(&self) -> Iter<'_, T> {
        self.few.iter().chain(self.many.as_deref().into_iter().flatten())
    }

    /// Returns whether it was not in the set.
    pub fn insert(&mut self, item: T) -> bool {
        if let Some(many) = &mut self.many {
            return many.insert(item);
        }
        let Err(position) = self.position(&item) else { return false };
        if self.few.len() < FEW {
            self.few.reserve_exact(1);
            self.few.insert(position, item);
        } else {
            // Collected, they would be sorted, by code of 7 KB for each type.
            let mut many = Box::new(BTreeSet::new());
            many.extend(self.few.drain(..));
            many.insert(item);
            self.many = Some(many);
        }
        true
    }

    pub fn remove<Q: Ord + ?Sized>(&mut self, item: &Q)
    where
        T: Borrow<Q>,
    {
        if let Some(many) = &mut self.many {
            many.remove(item);
        } else if let Ok(position) = self.position(item) {
            self.few.remove(position);
        }
    }

    fn position<Q: Ord + ?Sized>(&self, item: &Q) -> Result<usize, usize>
    where
        T: Borrow<Q>,
    {
        self.few.binary_search_by(|known| known.borrow().cmp(item))
    }
}

impl<T> Default for SmallSet<T> {
    fn default() -> Self {
        Self { few: ThinVec::new(), many: None }
    }
}

impl<T: Ord> PartialEq for SmallSet<T> {
    fn eq(&self, other: &Self) -> bool {
        self.iter().eq(other.iter())
    }
}

impl<T: Ord> Eq for SmallSet<T> {}

impl<'s, T: Ord> IntoIterator for &'s SmallSet<T> {
    type Item = &'s T;
    type IntoIter = Iter<'s, T>;

    fn into_iter(self) -> Iter<'s, T> {
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
