//! What cells do with the random states that whole libraries share: a seed sets one, and each draw changes it. The finder holds the uses
//! that its methods here add to.

use std::collections::{BTreeMap, BTreeSet};

use ruff_python_ast::{Expr, ExprCall};

use super::finder::Finder;
use super::table::Library;
use crate::tree::{names_in, path_of};
use crate::{Name, NameSet, hash};

/// What a cell does with one random state.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "they are independent facts")]
pub struct RandomUse {
    /// It draws from the state that it finds, or reads it.
    pub draws: bool,
    /// It leaves another state behind.
    pub changes: bool,
    /// It sets the state to a fixed one.
    pub seeds: bool,
    /// Stands for the calls that do so.
    pub code: u64,
    /// The names on which it depends how many numbers are drawn.
    pub inputs: NameSet,
    /// It is not known which of its statements draw: only its run has shown it.
    pub is_hidden: bool,
}

/// What the random state that a library shares is called in messages.
pub fn random_state(library: &str) -> Name {
    format!("{library}'s random state")
}

/// What the code cells of a notebook, given in order, do with random states, by what these are called in messages. Empty where no
/// cell sets a seed: no state can be repeated then.
pub fn random_use(cells: &[&str]) -> Vec<BTreeMap<Name, RandomUse>> {
    if !cells.iter().any(|source| source.contains("seed")) {
        return Vec::new();
    }
    let mut finder = Finder::default();
    let mut seeded = BTreeSet::new();
    let of_cell = |source: &&str| {
        finder.cell(source);
        let mut random = std::mem::take(&mut finder.random);
        seeded.extend(random.iter().filter(|(_, it)| it.seeds).map(|(state, _)| state.clone()));
        // What is drawn above the first seed is another number each time.
        random.retain(|state, _| seeded.contains(state));
        random
    };
    cells.iter().map(of_cell).collect()
}

/// The call that the walk is in.
#[derive(Debug, Clone, Default)]
pub(super) struct Called {
    code: u64,
    pub(super) inputs: NameSet,
}

impl Called {
    pub(super) fn of(call: &ExprCall, text: &str) -> Self {
        let path = path_of(&call.func);
        // Of others, what stands first are the parameters of a distribution.
        let first = match path.last().copied().unwrap_or_default() {
            "normal" | "uniform" | "randint" | "integers" | "gauss" | "binomial" | "beta" | "gamma"
            | "laplace" => 2,
            "poisson" | "exponential" | "randrange" => 1,
            _ => 0,
        };
        let is_size = |name: &str| matches!(name, "size" | "n" | "k" | "shape" | "n_samples");
        let keywords = call.arguments.keywords.iter();
        let sizes = keywords.filter(|keyword| keyword.arg.as_ref().is_none_or(|name| is_size(name)));
        let arguments = call.arguments.args.iter().skip(first).chain(sizes.map(|keyword| &keyword.value));
        let function = Some(&*call.func).filter(|function| function.is_name_expr());
        Self { code: hash(text), inputs: names_in(function.into_iter().chain(arguments)) }
    }
}

impl Finder {
    /// Walks where these expressions decide how often something is done.
    pub(super) fn repeatedly<'e>(
        &mut self,
        headers: impl IntoIterator<Item = &'e Expr>,
        walk: impl FnOnce(&mut Self),
    ) {
        let headers: Vec<&Expr> = headers.into_iter().collect();
        if headers.is_empty() {
            return walk(self);
        }
        let code: Vec<_> = headers.iter().map(|header| self.text(*header)).collect();
        self.repeated.push(Called { code: hash(&code.join("\n")), inputs: names_in(headers) });
        walk(self);
        self.repeated.pop();
    }

    /// The call that the walk is in draws from the state, keeps it, or sets it to another one.
    pub(super) fn used(&mut self, library: Library, seeds: bool, changes: bool) {
        let calls = self.repeated.iter().chain([&self.called]);
        if self.is_in_function {
            let inputs: Vec<_> = calls.flat_map(|it| it.inputs.iter().cloned()).collect();
            return self.effects.inputs.extend(inputs);
        }
        let known = self.random.entry(random_state(library)).or_default();
        known.draws |= !seeds && !known.seeds;
        known.changes |= changes;
        known.seeds |= seeds;
        for called in calls {
            known.code = hash(&format!("{} {}", known.code, called.code));
            known.inputs.extend(called.inputs.iter().cloned());
        }
    }
}
