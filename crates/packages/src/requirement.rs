//! What an agent may ask to be installed.

use std::fmt;
use std::str::FromStr;

use crate::modules::package_meant;

/// Comparisons of versions, the longer ones first.
const COMPARISONS: [&str; 8] = ["===", "==", "!=", "<=", ">=", "~=", "<", ">"];
const MAX_LENGTH: usize = 200;

/// A package, and which versions will do, such as `pandas[excel]>=2,<3`. It is never an option, a path or an address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Requirement {
    name: String,
    extras: Vec<String>,
    /// Comparisons without spaces, between commas.
    versions: String,
}

/// Why a text is no requirement.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} is not the name of a package with versions, as in \"pandas[excel]>=2,<3\"")]
pub struct NoRequirement {
    text: String,
}

impl Requirement {
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The package on the index, and the name of the module that stood for it: `opencv-python` for `cv2`. With versions or extras, the
    /// package of that very name is meant.
    pub fn of_module(self) -> (Self, Option<String>) {
        let meant = package_meant(&self.name);
        if !self.is_bare() || meant == self.name {
            return (self, None);
        }
        (Self { name: meant.to_owned(), ..self.clone() }, Some(self.name))
    }

    pub fn has_extras(&self) -> bool {
        !self.extras.is_empty()
    }

    /// Whether it is a name alone.
    pub(crate) fn is_bare(&self) -> bool {
        !self.has_extras() && self.versions.is_empty()
    }
}

/// The name at the beginning of a requirement of any kind.
pub(crate) fn name_of(text: &str) -> &str {
    let text = text.trim_start();
    text.split(|c| !is_of_name(c)).next().unwrap_or_default()
}

/// Names are compared so (<https://packaging.python.org/en/latest/specifications/name-normalization/>).
pub(crate) fn normalized(name: &str) -> String {
    let mut normalized = String::with_capacity(name.len());
    for c in name.chars() {
        match c {
            '-' | '_' | '.' if normalized.ends_with('-') => {}
            '-' | '_' | '.' => normalized.push('-'),
            c => normalized.push(c.to_ascii_lowercase()),
        }
    }
    normalized
}

impl FromStr for Requirement {
    type Err = NoRequirement;

    fn from_str(text: &str) -> Result<Self, NoRequirement> {
        read(text.trim()).ok_or_else(|| NoRequirement { text: text.chars().take(MAX_LENGTH).collect() })
    }
}

fn read(text: &str) -> Option<Requirement> {
    if text.len() > MAX_LENGTH {
        return None;
    }
    let end = text.find(|c: char| !is_of_name(c)).unwrap_or(text.len());
    let (name, rest) = text.split_at(end);
    let (extras, rest) = match rest.trim_start().strip_prefix('[') {
        Some(rest) => rest.split_once(']')?,
        None => ("", rest),
    };
    let extras: Vec<String> =
        extras.split(',').map(|extra| extra.trim().to_owned()).filter(|it| !it.is_empty()).collect();
    if !is_name(name) || !extras.iter().all(|extra| is_name(extra)) {
        return None;
    }
    let rest = rest.trim();
    let versions: Vec<String> = match rest {
        "" => Vec::new(),
        rest => rest.split(',').map(|part| version(part.trim())).collect::<Option<_>>()?,
    };
    Some(Requirement { name: name.to_owned(), extras, versions: versions.join(",") })
}

fn version(text: &str) -> Option<String> {
    let comparison = COMPARISONS.iter().find(|comparison| text.starts_with(**comparison))?;
    let version = text[comparison.len()..].trim();
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '*' | '+' | '!' | '_' | '-');
    (version.starts_with(|c: char| c.is_ascii_alphanumeric()) && version.chars().all(is_plain))
        .then(|| format!("{comparison}{version}"))
}

fn is_of_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-')
}

fn is_name(text: &str) -> bool {
    let is_end = |c: Option<char>| c.is_some_and(|c| c.is_ascii_alphanumeric());
    text.chars().all(is_of_name) && is_end(text.chars().next()) && is_end(text.chars().next_back())
}

impl fmt::Display for Requirement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)?;
        if self.has_extras() {
            write!(f, "[{}]", self.extras.join(","))?;
        }
        f.write_str(&self.versions)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_with_extras_and_versions_are_requirements() {
        for (text, expected) in [
            ("six", "six"),
            (" scikit-learn ", "scikit-learn"),
            ("zope.interface", "zope.interface"),
            ("pandas[excel, html] >= 2, < 3", "pandas[excel,html]>=2,<3"),
            ("numpy==1.26.*", "numpy==1.26.*"),
            ("torch===2.4.0+cpu", "torch===2.4.0+cpu"),
            ("x~=1.0", "x~=1.0"),
        ] {
            assert_eq!(text.parse::<Requirement>().unwrap().to_string(), expected);
        }
    }

    #[test]
    fn a_bare_name_of_a_module_means_its_package() {
        let meant = |text: &str| {
            let (requirement, module) = text.parse::<Requirement>().unwrap().of_module();
            (requirement.to_string(), module)
        };
        assert_eq!(meant("cv2"), ("opencv-python".to_owned(), Some("cv2".to_owned())));
        assert_eq!(meant("pandas"), ("pandas".to_owned(), None));
        assert_eq!(meant("docx==0.2.4"), ("docx==0.2.4".to_owned(), None));
    }

    #[test]
    fn options_paths_addresses_and_commands_are_none() {
        for text in [
            "",
            " ",
            "-r x.txt",
            "--index-url=http://x",
            "-e .",
            ".",
            "./x",
            "/x",
            "x @ https://x/x.whl",
            "git+https://x",
            "https://x/x.whl",
            "x; python_version<'4'",
            "x; rm -rf /",
            "x y",
            "x=1",
            "x==",
            "x==-1",
            "x[",
            "x[-a]",
            "x[a",
            "x>1 2",
            "x>=1,",
            "x\n--pre",
            "x\0",
            "é",
            "x`y`",
            "$(x)",
        ] {
            assert!(text.parse::<Requirement>().is_err(), "{text:?}");
        }
        assert!("x".repeat(MAX_LENGTH + 1).parse::<Requirement>().is_err());
    }

    #[test]
    fn names_are_compared_as_the_package_index_does() {
        assert_eq!(normalized("Zope.Interface"), "zope-interface");
        assert_eq!(normalized("a__B-_.c"), "a-b-c");
    }

    proptest::proptest! {
        #[test]
        fn what_is_accepted_reads_the_same_again_and_begins_with_a_letter_or_digit(text in "[-a-zA-Z0-9._ \\[\\],<>=!~*+/@:;$'\"]{0,30}") {
            if let Ok(requirement) = text.parse::<Requirement>() {
                let shown = requirement.to_string();
                proptest::prop_assert!(shown.starts_with(|c: char| c.is_ascii_alphanumeric()) && !shown.contains([' ', '/', '@', ':', ';', '$', '\'', '"']));
                proptest::prop_assert_eq!(shown.parse::<Requirement>().unwrap(), requirement);
            }
        }
    }
}
