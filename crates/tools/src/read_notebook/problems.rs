//! Problems known before a notebook runs: syntax, names, modules, attributes of modules and files.
//!
//! A false alarm costs more than a problem that is missed: where a cell may provide something, nothing is said about it.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use notebook::{Json, Notebook, one_line};
use place::{KernelState, ask_memory};
use runs::{CellTags, OpenNotebook};
use serde::Deserialize;
use serde_json::json;
use syntax::{Needs, syntax_error};
use workspace::CellStates;

use calls::prelude::*;
use calls::replies::cell_text::{ranges, shortened, undefined};

/// Time limit for the kernel's lookup.
const LIMIT: Duration = Duration::from_secs(3);
const MAX_CAUSE: usize = 200;
const UNCHECKED: &str =
    "Modules, attributes and files were not checked: the kernel's environment cannot be read.";
/// Words of code after which modules may be elsewhere, and files may be there.
const MOVES_MODULES: [&str; 8] =
    ["sys.path", "chdir", "%cd", "addsitedir", "PYTHONPATH", "sys.modules", "__init__.py", "clone"];
const MAKES_FILES: [&str; 9] =
    ["chdir", "%cd", "urlretrieve", "urlopen", "requests.", "extract", "download", "subprocess", "system("];
/// Maximum number of attributes of one name that are followed.
const MAX_DEPTH: usize = 5;

/// Missing modules, attributes and files, as `memory/handler/surroundings.py` of the crate `kernel` answers.
#[derive(Default, Deserialize)]
struct Lacking {
    /// Each with the first of it and the modules above it that is not there.
    modules: Vec<(String, String)>,
    /// Each with the module that lacks it, and its name there.
    attributes: Vec<(String, String, String)>,
    /// Each with the file that is named most like it.
    files: Vec<(String, String)>,
}

/// The problems of these cells, a line each, and why not all was looked for.
pub(super) async fn problems(
    context: &Context<'_>,
    opened: &OpenNotebook,
    notebook: &Notebook,
    states: &CellStates,
    selected: &[usize],
) -> (Vec<String>, Option<&'static str>) {
    let mut found: BTreeMap<String, BTreeSet<usize>> = BTreeMap::new();
    let mut add = |index: usize, cause: &str| {
        found.entry(shortened(&one_line(cause), MAX_CAUSE)).or_default().insert(index);
    };
    for index in selected.iter().copied().filter(|index| !may_fail(notebook, *index)) {
        if let Some(error) = syntax_error(&notebook.cells()[index].source()) {
            add(index, &format!("syntax error in line {}: {}", error.line, error.cause));
        }
        undefined(states, index).for_each(|clause| add(index, &clause));
    }
    let wanted = Wanted::of(notebook, opened.path());
    let answer = wanted.ask(context, opened).await;
    let lacking = answer.as_ref().and_then(|answer| answer.decode::<Lacking>().ok());
    let unchecked = lacking.is_none().then_some(UNCHECKED);
    let Lacking { modules, attributes, files } = lacking.unwrap_or_default();
    let absent: BTreeSet<String> = modules.iter().map(|(_, missing)| missing.clone()).collect();
    let modules = modules.into_iter().map(|(module, missing)| {
        (wanted.modules.get(&module), format!("module `{missing}` is not installed"))
    });
    // A module that is not installed is told once.
    let attributes = attributes
        .into_iter()
        .filter(|(_, module, name)| !absent.contains(&format!("{module}.{name}")))
        .map(|(path, module, name)| (wanted.attributes.get(&path), format!("`{module}` has no `{name}`")));
    let files = files.into_iter().map(|(file, nearest)| {
        let nearest =
            if nearest.is_empty() { String::new() } else { format!("; the nearest is `{nearest}`") };
        (wanted.files.get(&file), format!("file `{file}` does not exist{nearest}"))
    });
    for (cells, cause) in modules.chain(attributes).chain(files) {
        let cells = cells.into_iter().flatten().copied();
        cells.filter(|index| selected.contains(index)).for_each(|index| add(index, &cause));
    }
    let mut found: Vec<(Vec<usize>, String)> =
        found.into_iter().map(|(cause, cells)| (cells.into_iter().collect(), cause)).collect();
    found.sort();
    let line = |(cells, cause): (Vec<usize>, String)| {
        let also = if cells.len() > 1 { format!(" (also {})", ranges(&cells[1..])) } else { String::new() };
        format!("cell {}: {cause}{also}", cells[0])
    };
    (found.into_iter().map(line).collect(), unchecked)
}

fn may_fail(notebook: &Notebook, index: usize) -> bool {
    let tags = CellTags::of(&notebook.cells()[index]);
    tags.may_fail || tags.is_skipped
}

/// Needs of a notebook from outside, each with its cells.
#[derive(Default)]
struct Wanted {
    modules: Cells,
    attributes: Cells,
    files: Cells,
}

type Cells = BTreeMap<String, BTreeSet<usize>>;

impl Wanted {
    fn of(notebook: &Notebook, path: &str) -> Self {
        let cells: Vec<(usize, String)> = notebook
            .cells()
            .iter()
            .enumerate()
            .filter(|(_, cell)| cell.is_code())
            .map(|(index, cell)| (index, cell.source().into_owned()))
            .collect();
        let needs: Vec<Needs> =
            syntax::with_stack(|| cells.iter().map(|(_, source)| Needs::of_cell(source)).collect());
        let names = imported_names(&needs);
        let set: BTreeSet<&String> = needs.iter().flat_map(|needs| &needs.set).collect();
        let mut wanted = Self::default();
        // What the cells above have said, read and written.
        let (mut above, mut reads, mut has_moved, mut has_written) = (String::new(), vec![], false, false);
        for ((index, source), needs) in cells.iter().zip(&needs) {
            above.push_str(source);
            above.push('\n');
            has_moved |= MOVES_MODULES.iter().any(|word| source.contains(word));
            reads.extend(&needs.reads);
            has_written |= source.lines().any(|line| {
                line.contains("= !") || ["!", "%run"].iter().any(|it| line.trim_start().starts_with(it))
            });
            has_written |= needs.writes_files || MAKES_FILES.iter().any(|word| source.contains(word));
            if may_fail(notebook, *index) {
                continue;
            }
            let add = |all: &mut Cells, name: &str| {
                all.entry(name.to_owned()).or_default().insert(*index);
            };
            let modules = needs.modules.iter().filter(|module| !has_moved && !may_provide(&above, module));
            modules.for_each(|module| add(&mut wanted.modules, module));
            needs.members.iter().for_each(|member| add(&mut wanted.attributes, member));
            for attribute in &needs.attributes {
                let (name, rest) = attribute.split_once('.').unwrap_or_default();
                let is_it = |it: &&String| {
                    attribute
                        .strip_prefix(it.as_str())
                        .is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
                };
                let is_set = set.iter().any(is_it);
                if let Some(target) = names.get(name).filter(|_| !is_set) {
                    let rest: Vec<&str> = rest.split('.').take(MAX_DEPTH).collect();
                    add(&mut wanted.attributes, &format!("{target}.{}", rest.join(".")));
                }
            }
            let files = needs.files.iter().filter(|file| !has_written && is_within(path, file));
            files
                .filter(|file| is_only_read(&above, &reads, file))
                .for_each(|file| add(&mut wanted.files, file));
        }
        wanted
    }

    /// Asks the kernel if it runs, and otherwise its environment's files.
    async fn ask(&self, context: &Context<'_>, opened: &OpenNotebook) -> Option<Json> {
        let names = |of: &Cells| of.keys().cloned().collect::<Vec<_>>();
        let wanted = json!({ "modules": names(&self.modules), "attributes": names(&self.attributes), "files": names(&self.files) });
        if self.modules.is_empty() && self.attributes.is_empty() && self.files.is_empty() {
            return Some(Json::from_value(&json!({ "modules": [], "attributes": [], "files": [] })));
        }
        let kernel = opened.kernel()?;
        let is_running = matches!(kernel.description().state, KernelState::Idle | KernelState::Busy);
        let question = json!({ "lacking": wanted });
        if is_running
            && context.consent.may(&[Group::Kernels], Permission::Execute)
            && let Ok(answer) = ask_memory(&*kernel, &question, LIMIT).await
        {
            return Some(answer);
        }
        kernel.lacking(wanted).await
    }
}

/// The modules and their members that names stand for, whichever cell uses them.
fn imported_names(needs: &[Needs]) -> BTreeMap<&str, &str> {
    let mut targets: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for (name, target) in needs.iter().flat_map(|needs| &needs.imports) {
        targets.entry(name).or_default().insert(target);
    }
    let is_bound = |name: &str| needs.iter().any(|needs| needs.bound.contains(name));
    let only = targets.into_iter().filter(|(name, targets)| targets.len() == 1 && !is_bound(name));
    only.filter_map(|(name, targets)| Some((name, *targets.first()?))).collect()
}

/// Whether the text may make the module: it names its file, or has a command that may install it.
fn may_provide(text: &str, module: &str) -> bool {
    let root = module.split('.').next().unwrap_or_default();
    let package = packages::package_of(root).unwrap_or_default().to_ascii_lowercase();
    let is_installed = |line: String| {
        let parts = [" -r", " -e", " .", "git+", ".txt", ".whl", "{", "$", "("];
        parts.iter().any(|part| line.contains(part))
            || line.contains(&root.to_ascii_lowercase())
            || (!package.is_empty() && line.contains(&package))
    };
    text.contains(&format!("{root}.py"))
        || text.contains(&format!("{root}/"))
        || text.lines().any(|line| line.contains("install") && is_installed(line.to_ascii_lowercase()))
}

/// Whether a file named from a notebook's folder lies in the place.
fn is_within(notebook: &str, file: &str) -> bool {
    let mut depth = notebook.matches('/').count() + 1;
    file.split('/').all(|part| {
        match part {
            ".." => depth -= 1,
            "" | "." => {}
            _ => depth += 1,
        }
        depth > 0
    })
}

/// Whether nothing but the texts that are read mentions the file.
fn is_only_read(text: &str, reads: &[&String], file: &str) -> bool {
    let name = file.rsplit('/').next().unwrap_or_default();
    text.matches(name).count() <= reads.iter().map(|read| read.matches(name).count()).sum()
}

#[cfg(test)]
mod tests {
    use notebook::{CellType, Edit, NewCell};

    use super::*;

    /// Needs of these cells from outside, each with its cells: modules, attributes and files.
    fn wanted(sources: &[&str]) -> [String; 3] {
        let mut notebook = Notebook::new();
        for (index, source) in sources.iter().enumerate() {
            let cell = NewCell { id: format!("c{index}").into(), ..NewCell::new(CellType::Code, *source) };
            notebook.apply(&Edit::Insert { index, cell }).unwrap();
        }
        let Wanted { modules, attributes, files } = Wanted::of(&notebook, "a/n.ipynb");
        [modules, attributes, files].map(|all| {
            let all = all
                .into_iter()
                .map(|(name, cells)| format!("{name} {}", ranges(&cells.into_iter().collect::<Vec<_>>())));
            all.collect::<Vec<_>>().join("; ")
        })
    }

    #[test]
    fn modules_are_wanted_unless_a_command_installs_them_or_the_path_changes() {
        let modules = |sources: &[&str]| wanted(sources)[0].clone();
        assert_eq!(modules(&["import a, b.c", "from a import d"]), "a 0–1; b.c 0");
        assert_eq!(modules(&["!pip install scikit-learn x", "import sklearn, y"]), "y 1");
        assert_eq!(modules(&["%pip install -r all.txt", "import y"]), "");
        assert_eq!(modules(&["import y", "%pip install y"]), "y 0");
        assert_eq!(modules(&["import y, sys", "sys.path.append('src')\nimport own"]), "sys 0; y 0");
        assert_eq!(modules(&["%%writefile y.py\na = 1", "import y"]), "");
        assert_eq!(modules(&["open('y.py', 'w').write('a = 1')", "import y, z"]), "z 1");
        assert_eq!(modules(&["%%bash\nmkdir y && touch y/z.py", "from y import z"]), "");
        assert_eq!(modules(&["try: import y\nexcept ImportError: pass"]), "");
    }

    #[test]
    fn attributes_are_wanted_of_names_that_stand_for_one_module() {
        let attributes = |sources: &[&str]| wanted(sources)[1].clone();
        assert_eq!(attributes(&["import numpy as np", "np.int(1); x.int", "np.int"]), "numpy.int 1–2");
        assert_eq!(attributes(&["from sklearn.svm import A"]), "sklearn.svm.A 0");
        assert_eq!(attributes(&["import a.b", "a.b.c"]), "a.b.c 1");
        for sources in [
            &["import numpy as np", "np = 1", "np.int"][..],
            &["import numpy as np", "import jax.numpy as np", "np.int"],
            &["import numpy as np", "def f(np): return np.int"],
            &["import numpy as np", "np.int = int", "np.int"],
            &["import numpy as np", "if not hasattr(np, 'int'): np.int = int", "np.int.x"],
        ] {
            assert_eq!(attributes(sources), "", "{sources:?}");
        }
    }

    #[test]
    fn files_are_wanted_unless_something_may_have_written_them() {
        let files = |sources: &[&str]| wanted(sources)[2].clone();
        assert_eq!(files(&["pd.read_csv('x.csv')", "open('../y.txt')"]), "../y.txt 1; x.csv 0");
        for sources in [
            &["df.to_csv('x.csv')", "pd.read_csv('x.csv')"][..],
            &["name = 'x.csv'\ndf.to_csv(name)", "pd.read_csv('x.csv')"],
            &["%%writefile x.csv\na", "pd.read_csv('x.csv')"],
            &["!wget $URL", "pd.read_csv('x.csv')"],
            &["import os\nos.chdir('..')", "pd.read_csv('x.csv')"],
            &["pd.read_csv('../../x.csv')"],
            &["MODE = 'w'\nf = open('x.csv', MODE)", "open('x.csv')"],
            &["with open(file='x.csv', mode='a') as f: f.write('a')", "open('x.csv')"],
            &["open('x.csv', mode=MODE)", "open('x.csv', 'rb')"],
            &["Path('x.csv').open('w').write('read')", "open('x.csv')"],
            &["p = Path(folder, name)\np.open('w')", "open('x.csv')"],
            &["import io, codecs\nio.open('x.csv', 'x')", "open('x.csv')"],
            &["print(1, file=open('x.csv', 'w'))", "pd.read_csv('x.csv')"],
            &["open(path, mode=MODE)", "pd.read_csv('x.csv')"],
            &["%%file x.csv\na", "pd.read_csv('x.csv')"],
            &["%%perl\nmake()", "pd.read_csv('x.csv')"],
            &["lines = !make", "pd.read_csv('x.csv')"],
        ] {
            assert_eq!(files(sources), "", "{sources:?}");
        }
    }
}
