//! What cells do with the random states that whole libraries share: a seed sets one, and each draw changes it. The finder holds the uses
//! that its methods here add to.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hash, Hasher};

use ruff_python_ast::{Expr, ExprCall};

use super::finder::Finder;
use super::table::Library;
use crate::tree::names_in;
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
    let all: Vec<_> = cells
        .iter()
        .map(|source| {
            finder.cell(source);
            let mut random = std::mem::take(&mut finder.random);
            seeded.extend(random.iter().filter(|(_, it)| it.seeds).map(|(library, _)| *library));
            // What is drawn above the first seed is another number each time.
            random.retain(|library, _| seeded.contains(library));
            random
        })
        .collect();
    let named = |cell: BTreeMap<Library, RandomUse>| {
        cell.into_iter().map(|(library, it)| (state_of(library), it)).collect()
    };
    all.into_iter().map(named).collect()
}

fn state_of(library: Library) -> Name {
    random_state(match library {
        Library::Python => "Python",
        Library::NumPy => "NumPy",
        Library::Torch => "PyTorch",
        Library::TensorFlow => "TensorFlow",
        Library::System => "the system",
    })
}

/// The call that the walk is in.
#[derive(Debug, Clone, Default)]
pub(super) struct Called {
    code: u64,
    inputs: NameSet,
}

impl Called {
    pub(super) fn of(call: &ExprCall, text: &str) -> Self {
        let function = match &*call.func {
            Expr::Name(name) => name.id.as_str(),
            Expr::Attribute(attribute) => &attribute.attr,
            _ => "",
        };
        // Of others, what stands first are the parameters of a distribution.
        let first = match function {
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

    pub(super) fn depends_on(&mut self, names: &NameSet) {
        self.inputs.extend(names.iter().cloned());
    }

    /// What decides how often something is called.
    fn by<'e>(headers: impl IntoIterator<Item = &'e Expr>, text: impl Fn(&Expr) -> String) -> Self {
        let mut hash = DefaultHasher::new();
        let headers = headers.into_iter().inspect(|header| text(header).hash(&mut hash));
        let inputs = names_in(headers);
        Self { code: hash.finish(), inputs }
    }
}

impl Finder {
    /// Walks where these expressions decide how often something is done.
    pub(super) fn repeatedly<'e>(
        &mut self,
        headers: impl IntoIterator<Item = &'e Expr>,
        walk: impl FnOnce(&mut Self),
    ) {
        let header = Called::by(headers, |header| self.text(header).to_owned());
        self.repeated.push(header);
        walk(self);
        self.repeated.pop();
    }

    /// The function that the walk is in seeds or draws.
    pub(super) fn called_in_function(&mut self) {
        for called in self.repeated.iter().chain([&self.called]) {
            self.facts.inputs.extend(called.inputs.iter().cloned());
        }
    }

    /// The cell draws, in the call that the walk is in.
    pub(super) fn drawn(&mut self, library: Library) {
        let known = self.random.entry(library).or_default();
        known.draws |= !known.seeds;
        known.changes = true;
        self.repeated.iter().chain([&self.called]).for_each(|called| known.add(called));
    }

    /// The cell keeps the state, for [`Self::sets`].
    pub(super) fn reads(&mut self, library: Library) {
        if self.is_in_function() {
            return;
        }
        let called = self.called.clone();
        let known = self.random.entry(library).or_default();
        known.draws |= !known.seeds;
        known.add(&called);
    }

    /// The state is as repeatable after this as that which is set.
    pub(super) fn sets(&mut self, library: Library) {
        if !self.is_in_function() {
            self.sown(library);
        }
    }

    pub(super) fn sown(&mut self, library: Library) {
        let called = self.called.clone();
        let known = self.random.entry(library).or_default();
        (known.seeds, known.changes) = (true, true);
        known.add(&called);
    }
}

impl RandomUse {
    fn add(&mut self, called: &Called) {
        let mut hash = DefaultHasher::new();
        (self.code, called.code).hash(&mut hash);
        self.code = hash.finish();
        self.inputs.extend(called.inputs.iter().cloned());
    }
}
