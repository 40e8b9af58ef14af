//! What somebody may have meant by a name that is not found.

use notebook::one_line;
use unicode_normalization::UnicodeNormalization as _;

/// How many names are given.
const MAX_NAMED: usize = 3;
/// Longer names are not compared letter by letter.
const MAX_LENGTH: usize = 200;

/// The names like one that was not found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Near<'c> {
    /// The nearest, all alike.
    pub names: Vec<&'c str>,
    /// Whether they are the same text in another Unicode form.
    pub is_same_text: bool,
}

impl Near<'_> {
    /// A sentence for the error, with a space before it.
    pub fn sentence(&self) -> String {
        let names: Vec<String> = self.names.iter().map(|name| format!("\"{}\"", one_line(name))).collect();
        match &names[..] {
            [] => String::new(),
            [one] => format!(" The nearest is {one}."),
            _ => format!(" Nearest: {}.", names.join(", ")),
        }
    }
}

/// The candidates like `wanted`, by the first of these that any has in common with it: the text in another Unicode form; what an address
/// stands for (`file://`, `%20`, a path from the root); with `.ipynb`; in another case; the name without folders; few other letters.
pub fn nearest<'c>(wanted: &str, candidates: impl IntoIterator<Item = &'c str>) -> Option<Near<'c>> {
    let wanted = Wanted::new(wanted);
    let mut best: Option<(usize, Vec<&'c str>)> = None;
    for candidate in candidates {
        let Some(rank) = wanted.rank(candidate) else { continue };
        match &mut best {
            Some((known, names)) if *known == rank => names.push(candidate),
            Some((known, _)) if *known < rank => {}
            _ => best = Some((rank, vec![candidate])),
        }
    }
    let (rank, mut names) = best?;
    names.sort_unstable();
    names.dedup();
    names.truncate(MAX_NAMED);
    Some(Near { names, is_same_text: rank == 0 })
}

/// Whether two names are the same text, though perhaps in different Unicode forms.
pub fn is_same_text(one: &str, other: &str) -> bool {
    one.nfc().eq(other.nfc())
}

struct Wanted {
    text: String,
    plain: String,
    with_extension: String,
    lower: String,
    name: String,
}

impl Wanted {
    fn new(text: &str) -> Self {
        let text: String = text.nfc().collect();
        let plain = plain(&text);
        let with_extension = format!("{plain}.ipynb");
        let lower = plain.to_lowercase();
        let name = name(&lower).to_owned();
        Self { text, plain, with_extension, lower, name }
    }

    fn rank(&self, candidate: &str) -> Option<usize> {
        let there: String = candidate.nfc().collect();
        let lower = there.to_lowercase();
        let is_below = |path: &str| path.ends_with(&format!("/{there}"));
        let is = [
            there == self.text,
            there == self.plain || is_below(&self.plain) || plain(&there) == self.plain,
            there == self.with_extension || is_below(&self.with_extension),
            lower == self.lower || lower == self.with_extension.to_lowercase(),
            !self.name.is_empty() && (name(&lower) == self.name || stem(name(&lower)) == stem(&self.name)),
        ];
        if let Some(rank) = is.iter().position(|is| *is) {
            return Some(rank);
        }
        let is_short = self.lower.len() <= MAX_LENGTH && lower.len() <= MAX_LENGTH;
        let distance = |one: &str, other: &str| strsim::damerau_levenshtein(stem(one), stem(other));
        // Of a short name, few letters are another name.
        let is_typo = |one: &str, other: &str| {
            let letters = stem(one).chars().count();
            letters > 2 && distance(one, other) <= (letters / 4).clamp(1, 3)
        };
        let is_near = is_short && (is_typo(&self.lower, &lower) || is_typo(&self.name, name(&lower)));
        is_near.then(|| is.len() + distance(&self.name, name(&lower)))
    }
}

/// A path without what an address or a quotation has: its scheme, a fragment or query, characters as `%20`, and quotation marks.
fn plain(text: &str) -> String {
    let path = text.trim().trim_matches(['"', '\'', '`']);
    let path = path.strip_prefix("file://").or_else(|| path.strip_prefix("file:")).unwrap_or(path);
    let end = path.find(".ipynb#").or_else(|| path.find(".ipynb?")).map(|at| at + ".ipynb".len());
    let path = &path[..end.unwrap_or(path.len())];
    let path = percent_encoding::percent_decode_str(path).decode_utf8().unwrap_or_default();
    let path: String = if path.is_empty() { text.to_owned() } else { path.nfc().collect() };
    with_ending(path.replace('\\', "/").trim_start_matches("./"))
}

/// The path with the ending of a notebook, if its own has the same letters.
fn with_ending(path: &str) -> String {
    const ENDING: &str = "ipynb";
    let sorted = |text: &str| {
        let mut letters: Vec<char> = text.to_lowercase().chars().collect();
        letters.sort_unstable();
        letters
    };
    match path.rsplit_once('.') {
        Some((stem, ending)) if ending != ENDING && sorted(ending) == sorted(ENDING) => {
            format!("{stem}.{ENDING}")
        }
        _ => path.to_owned(),
    }
}

fn name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

fn stem(name: &str) -> &str {
    name.strip_suffix(".ipynb").unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATHS: [&str; 6] = [
        "Analysis.ipynb",
        "my data.ipynb",
        "sub/model.ipynb",
        "Caf\u{e9}.ipynb",
        "train_v1.ipynb",
        "train_v2.ipynb",
    ];

    fn found(wanted: &str) -> Vec<&str> {
        nearest(wanted, PATHS).map(|near| near.names).unwrap_or_default()
    }

    #[test]
    fn one_that_was_meant_is_named() {
        for (wanted, expected) in [
            ("analysis.ipynb", "Analysis.ipynb"),
            ("Analysis", "Analysis.ipynb"),
            ("ANALYSIS", "Analysis.ipynb"),
            ("my%20data.ipynb", "my data.ipynb"),
            ("file:///home/ada/work/my%20data.ipynb", "my data.ipynb"),
            ("/home/ada/sub/model.ipynb", "sub/model.ipynb"),
            ("model.ipynb", "sub/model.ipynb"),
            ("./sub/model.ipynb", "sub/model.ipynb"),
            ("other/model.ipynb", "sub/model.ipynb"),
            ("sub\\model.ipynb", "sub/model.ipynb"),
            ("Anaylsis.ipynb", "Analysis.ipynb"),
            ("Analysis.ipnyb", "Analysis.ipynb"),
            ("model.ipybn", "sub/model.ipynb"),
            ("\"my data.ipynb\"", "my data.ipynb"),
            ("`my data.ipynb`", "my data.ipynb"),
            ("file:my data.ipynb", "my data.ipynb"),
            ("my data.ipynb#cell=2", "my data.ipynb"),
            ("my data.ipynb?x=1", "my data.ipynb"),
        ] {
            assert_eq!(found(wanted), [expected], "{wanted}");
        }
        assert_eq!(found("train.ipynb"), [""; 0], "two others letters of five are too many");
        assert_eq!(found("train_v3.ipynb"), ["train_v1.ipynb", "train_v2.ipynb"]);
        assert_eq!(found("something else.ipynb"), [""; 0]);
        assert_eq!(nearest("nothing/like/it.ipynb", ["x.ipynb"]), None);
        assert_eq!(found(""), [""; 0]);
    }

    #[test]
    fn another_unicode_form_is_the_same_text() {
        let near = nearest("Cafe\u{301}.ipynb", PATHS).unwrap();
        assert_eq!((near.names, near.is_same_text), (vec!["Caf\u{e9}.ipynb"], true));
        assert!(!nearest("cafe\u{301}.ipynb", PATHS).unwrap().is_same_text);
        assert_eq!(nearest("a b.ipynb", ["a%20b.ipynb"]).unwrap().names, ["a%20b.ipynb"]);
        let decomposed = nearest("\u{dc}ber.ipynb", ["sub/U\u{308}ber.ipynb"]).unwrap();
        assert_eq!(decomposed.sentence(), " The nearest is \"sub/U\u{308}ber.ipynb\".");
        assert_eq!(nearest("python4", ["python3", "ir"]).unwrap().sentence(), " The nearest is \"python3\".");
    }
}
