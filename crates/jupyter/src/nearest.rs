//! Which notebook somebody means whose path leads to none.

use percent_encoding::percent_decode_str;
use unicode_normalization::UnicodeNormalization as _;

/// How many are named.
const MAX_NAMED: usize = 3;

/// The notebooks that a path may mean.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Nearest {
    /// This one alone has the same characters, in another Unicode form.
    Same(String),
    /// Names that differ in case, in their extension or in how they are encoded; then those of the same name in other folders.
    Similar(Vec<String>),
}

impl Nearest {
    /// The nearest of `paths`, which are from the server's root, as `asked` is.
    pub(crate) fn of<'a>(asked: &str, paths: impl IntoIterator<Item = &'a str>) -> Self {
        let (form, key, name) = (composed(asked), key(asked), key(file_name(asked)));
        let (mut same, mut similar, mut elsewhere) = (Vec::new(), Vec::new(), Vec::new());
        for path in paths.into_iter().filter(|path| *path != asked) {
            if composed(path) == form {
                same.push(path.to_owned());
            } else if self::key(path) == key {
                similar.push(path.to_owned());
            } else if self::key(file_name(path)) == name {
                elsewhere.push(path.to_owned());
            }
        }
        if same.len() == 1 {
            return Self::Same(same.remove(0));
        }
        let mut near: Vec<_> = [same, similar].concat();
        if near.is_empty() {
            near = elsewhere;
        }
        near.sort();
        near.dedup();
        near.truncate(MAX_NAMED);
        Self::Similar(near)
    }

    pub(crate) fn is_empty(&self) -> bool {
        matches!(self, Self::Similar(near) if near.is_empty())
    }
}

fn file_name(path: &str) -> &str {
    path.rsplit(['/', '\\']).next().unwrap_or(path)
}

fn composed(path: &str) -> String {
    path.nfc().collect()
}

/// What paths have in common that people mix up.
fn key(path: &str) -> String {
    let decoded = percent_decode_str(path).decode_utf8_lossy();
    let lower: String = decoded.nfkc().collect::<String>().to_lowercase().nfc().collect();
    let lower = lower.trim().trim_matches('/').replace(['_', '-', '+'], " ");
    lower.strip_suffix(".ipynb").unwrap_or(&lower).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATHS: [&str; 5] =
        ["Data.ipynb", "a/Über uns.ipynb", "a/deep/model.ipynb", "b/model.ipynb", "cafe\u{301}.ipynb"];

    fn near(asked: &str) -> Vec<String> {
        match Nearest::of(asked, PATHS) {
            Nearest::Similar(near) => near,
            Nearest::Same(path) => panic!("{path}"),
        }
    }

    #[test]
    fn another_form_of_the_same_characters_is_the_same_notebook() {
        assert_eq!(Nearest::of("caf\u{e9}.ipynb", PATHS), Nearest::Same("cafe\u{301}.ipynb".to_owned()));
        let both = ["u\u{308}\u{301}.ipynb", "\u{fc}\u{301}.ipynb"];
        assert!(matches!(Nearest::of("\u{1d8}.ipynb", both), Nearest::Similar(near) if near.len() == 2));
    }

    #[test]
    fn names_that_people_mix_up_are_near() {
        for asked in ["data.ipynb", "Data", "DATA.IPYNB", "data.ipynb/"] {
            assert_eq!(near(asked), ["Data.ipynb"], "{asked}");
        }
        for asked in ["a/%C3%9Cber%20uns.ipynb", "a/über_uns.ipynb", "a/U\u{308}ber uns"] {
            assert_eq!(near(asked), ["a/Über uns.ipynb"], "{asked}");
        }
    }

    #[test]
    fn a_file_name_alone_names_those_that_have_it() {
        assert_eq!(near("model.ipynb"), ["a/deep/model.ipynb", "b/model.ipynb"]);
        assert_eq!(near("file:/srv/work/Data.ipynb"), ["Data.ipynb"]);
        assert_eq!(near("C:\\work\\Data.ipynb"), ["Data.ipynb"]);
        assert!(Nearest::of("nothing.ipynb", PATHS).is_empty());
    }
}
