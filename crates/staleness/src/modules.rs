//! The person's modules, which cells import from files: a kernel keeps what it has loaded when such a file is edited.

use std::collections::BTreeMap;
use std::rc::Rc;

use names::{Names, Unknown, attribute};

use crate::facts::{Facts, Run};
use crate::replay::Env;
use crate::value::hash;

/// Stands for a content that is like no other.
const UNKNOWN: u64 = 1;

/// For each module, the digest of the content that is loaded.
pub(crate) type Loaded<'a> = BTreeMap<&'a str, u64>;

/// Those that a fresh kernel loads, if the last one has loaded these.
pub(crate) fn fresh<'a>(facts: Facts<'a>, kernel: &Loaded<'a>) -> Loaded<'a> {
    kernel.iter().map(|(name, digest)| (*name, *facts.modules.get(*name).unwrap_or(digest))).collect()
}

/// Adds the modules that a run has loaded. What the file of one had then may not be known.
pub(crate) fn add<'a>(loaded: &mut Loaded<'a>, run: &'a Run) {
    loaded.extend(run.loaded.iter().map(|(name, module)| (name.as_str(), module.content.unwrap_or(UNKNOWN))));
}

/// The paths from which a cell imports names.
pub(crate) fn imported(names: &Names) -> impl Iterator<Item = &str> {
    let all = match &names.effects.unknown {
        Some(Unknown::StarImport { module }) => Some(module.as_str()),
        _ => None,
    };
    names.imports.values().map(String::as_str).chain(all)
}

/// Whether a cell calls `importlib.reload` or `reload`.
pub(crate) fn reloads(names: &Names) -> bool {
    names.effects.reads.contains("reload") || names.attributes.contains(&attribute("reload"))
}

/// The modules that something imported is, or is from: `pkg.part` and `pkg.part.more` of `pkg.part`, `pkg.part` of its function
/// `pkg.part.f`.
pub(crate) fn modules_of<'l, 'a>(
    path: &'l str,
    loaded: &'l Loaded<'a>,
) -> impl Iterator<Item = (&'a str, u64)> {
    let path =
        if is_module(path, loaded) { path } else { path.rsplit_once('.').map_or("", |(parent, _)| parent) };
    let is_part = move |name: &str| {
        name.strip_prefix(path).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    };
    loaded.iter().filter(move |(name, _)| is_part(name)).map(|(name, digest)| (*name, *digest))
}

/// Whether a path is that of a module or a package, and not of something in one.
pub(crate) fn is_module(path: &str, loaded: &Loaded<'_>) -> bool {
    let next = loaded.range(path..).next();
    next.is_some_and(|(name, _)| {
        name.strip_prefix(path).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    })
}

/// Stands for the contents of the modules that something is imported from; 0 for those of libraries.
pub(crate) fn content(path: &str, loaded: &Loaded<'_>) -> u64 {
    let all: Vec<_> = modules_of(path, loaded).collect();
    if all.is_empty() { 0 } else { hash(&all) }
}

/// The same for all that a cell imports.
pub(crate) fn contents(names: &Names, loaded: &Loaded<'_>) -> u64 {
    if loaded.is_empty() {
        0
    } else {
        hash(&imported(names).map(|path| content(path, loaded)).collect::<Vec<_>>())
    }
}

/// Other modules are loaded: names of modules have other values.
pub(crate) fn load<'a>(env: &mut Env<'a>, loaded: &Loaded<'a>) {
    for value in env.values_mut() {
        if let Some(path) = value.module.filter(|path| is_module(path, loaded)) {
            Rc::make_mut(value).reload(content(path, loaded));
        }
    }
}
