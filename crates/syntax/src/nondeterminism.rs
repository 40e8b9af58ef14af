//! Which cells may give other results when they run again, and why: read from their source, in the order of the notebook.
//!
//! Followed are imports under other names, in any cell above, and the notebook's own functions. What a random number
//! generator gives is no cause after a seed for it. A class of scikit-learn that was given no `random_state` is not taken for one
//! that draws: many draw only with some of their other arguments.

use std::collections::BTreeMap;

mod calls;
mod finder;
mod random;
mod table;

use finder::Finder;
pub use random::{RandomUse, random_state, random_use};
pub use table::{Cause, may_vary};

/// The causes of each code cell of a notebook, given in order, with the first code that is one: `np.random.rand()`. A cell that cannot
/// be read has none.
pub fn nondeterminism(cells: &[&str]) -> Vec<BTreeMap<Cause, String>> {
    let mut finder = Finder::default();
    cells.iter().map(|source| finder.cell(source)).collect()
}
