//! Chooses a kernelspec for a notebook.

use notebook::one_line;
use place::{Error, ErrorKind, KernelRequest, NextStep};
use rest::{Kernelspec, Kernelspecs};

/// Which kernelspec is wanted.
pub(crate) struct KernelspecQuery<'a> {
    /// Its name, asked for by the caller.
    pub(crate) name: Option<&'a str>,
    /// The one in the notebook's metadata.
    pub(crate) preferred: Option<&'a notebook::Kernelspec>,
}

/// A kernelspec, as part of a sentence. Its names are the server's.
pub(crate) fn shown(spec: &Kernelspec) -> String {
    format!("{} ({})", one_line(&spec.name), one_line(&spec.display_name))
}

impl<'a> KernelspecQuery<'a> {
    pub(crate) fn of(request: &'a KernelRequest) -> Self {
        Self { name: request.kernel.kernelspec(), preferred: request.preferred.as_ref() }
    }

    /// Whether this is exactly the wanted one, so that newly installed ones cannot fit better.
    pub(crate) fn is_exactly(&self, spec: &Kernelspec) -> bool {
        self.name.is_some() || self.preferred.is_none_or(|preferred| preferred.name == spec.name)
    }

    /// What an agent must know if the notebook names a kernelspec that the server lacks. `python3` stands for any Python.
    pub(crate) fn replacement(&self, chosen: &Kernelspec) -> Option<String> {
        let preferred = self.preferred.filter(|_| self.name.is_none())?;
        let wanted = &*preferred.name;
        let is_it = chosen.name.eq_ignore_ascii_case(wanted)
            || preferred.display_name.as_ref() == Some(&chosen.display_name);
        if matches!(wanted, "" | "python3") || is_it {
            return None;
        }
        Some(format!(
            "The notebook names the kernelspec {wanted:?}, which the server does not have: its code runs in {} \
             instead. Its packages may be missing there or have other versions.",
            shown(chosen)
        ))
    }

    /// The kernelspec that the first run starts and, if it replaces the one of the notebook, a notice of that, without the last full stop.
    pub(crate) fn on_first_run(&self, chosen: &Kernelspec) -> String {
        let what = shown(chosen);
        match self.replacement(chosen) {
            Some(notice) => format!("{what}. {}", notice.trim_end_matches('.')),
            None => what,
        }
    }
}

/// Chooses the named kernelspec; else the notebook's, by name, by display name or by language; else the default.
pub(crate) fn choose<'a>(
    specs: &'a Kernelspecs,
    query: &KernelspecQuery<'_>,
    server: &str,
) -> Result<&'a Kernelspec, Error> {
    let list = &specs.specs;
    let available = || list.iter().map(|spec| one_line(&spec.name).into_owned()).collect();
    let by_name = |name: &str| list.iter().find(|spec| spec.name == name);
    if let Some(name) = query.name {
        let named = by_name(name).or_else(|| list.iter().find(|spec| spec.name.eq_ignore_ascii_case(name)));
        return named.or_else(|| list.iter().find(|spec| spec.display_name == name)).ok_or_else(|| {
            Error::new(
                ErrorKind::NotFound,
                format!("There is no kernelspec {name:?} on {server}."),
                NextStep::ChooseKernelspec { available: available() },
            )
        });
    }
    let default = by_name(&specs.default).or_else(|| list.first()).ok_or_else(|| {
        Error::new(
            ErrorKind::Unavailable,
            format!("There are no kernelspecs on {server}."),
            "Install one there, for example with `pip install ipykernel`.",
        )
    })?;
    let Some(preferred) = query.preferred else { return Ok(default) };
    let by_display = || {
        let wanted = preferred.display_name.as_deref()?;
        list.iter().find(|spec| spec.display_name == wanted)
    };
    if let Some(spec) = by_name(&preferred.name).or_else(by_display) {
        return Ok(spec);
    }
    let Some(language) = preferred.language.as_deref() else { return Ok(default) };
    let speaks = |spec: &&Kernelspec| spec.language.eq_ignore_ascii_case(language);
    if speaks(&default) {
        return Ok(default);
    }
    list.iter().find(speaks).ok_or_else(|| {
        let wanted = match &*preferred.name {
            "" => format!("is written in {language}"),
            name => format!("requires the kernel {name:?} ({language})"),
        };
        Error::new(
            ErrorKind::Unavailable,
            format!("The notebook {wanted}, and {server} has no kernel of that language."),
            NextStep::ChooseKernelspec { available: available() },
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn specs() -> Kernelspecs {
        let spec = |name: &str, display: &str, language: &str| Kernelspec {
            name: name.to_owned(),
            display_name: display.to_owned(),
            language: language.to_owned(),
        };
        let specs = vec![
            spec("ir", "R", "R"),
            spec("py312", "Python 3.12", "python"),
            spec("python3", "Python 3", "python"),
        ];
        Kernelspecs { default: "python3".to_owned(), specs }
    }

    fn chosen(name: Option<&str>, preferred: Option<(&str, &str, &str)>) -> String {
        let preferred = preferred.map(|(name, display, language)| notebook::Kernelspec {
            name: name.to_owned(),
            display_name: Some(display.to_owned()),
            language: Some(language.to_owned()),
        });
        let query = KernelspecQuery { name, preferred: preferred.as_ref() };
        match choose(&specs(), &query, "the server") {
            Ok(spec) => spec.name.clone(),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn the_best_kernelspec_is_chosen() {
        assert_eq!(chosen(None, None), "python3");
        assert_eq!(chosen(Some("ir"), None), "ir");
        assert_eq!(chosen(Some("PY312"), None), "py312");
        assert_eq!(chosen(None, Some(("ir", "?", "R"))), "ir");
        assert_eq!(chosen(None, Some(("conda-x", "Python 3.12", "python"))), "py312");
        assert_eq!(chosen(None, Some(("conda-x", "x", "python"))), "python3");
        assert_eq!(chosen(None, Some(("irkernel", "x", "r"))), "ir");
        // Only the language is known.
        assert_eq!(chosen(None, Some(("", "", "r"))), "ir");
        assert_eq!(chosen(None, Some(("", "", "python"))), "python3");
    }

    #[test]
    fn a_kernelspec_in_place_of_a_missing_one_is_said() {
        let specs = specs();
        let replaced = |name: Option<&str>, preferred: &str| {
            let (preferred, language) = (preferred.to_owned(), Some("python".to_owned()));
            let preferred = notebook::Kernelspec { name: preferred, display_name: None, language };
            let query = KernelspecQuery { name, preferred: Some(&preferred) };
            query.replacement(choose(&specs, &query, "the server").unwrap())
        };
        let notice = replaced(None, "conda-x").unwrap();
        assert!(notice.contains("\"conda-x\"") && notice.contains("runs in python3"), "{notice}");
        for (name, preferred) in [(Some("ir"), "conda-x"), (None, "py312"), (None, "python3"), (None, "")] {
            assert_eq!(replaced(name, preferred), None, "{name:?} {preferred:?}");
        }
    }

    #[test]
    fn names_of_a_server_are_one_line() {
        let named = |text: &str| text.to_owned();
        let spec =
            Kernelspec { name: named("a\u{202e}"), display_name: named("x\n[NOTICE]"), language: named("") };
        assert_eq!(shown(&spec), "a\\u{202e} (x\\n[NOTICE])");
    }

    #[test]
    fn an_unknown_kernelspec_is_refused_with_the_available_ones() {
        assert_eq!(
            chosen(Some("julia"), None),
            "There is no kernelspec \"julia\" on the server. Install that kernel, or choose one of these: ir, py312, python3."
        );
        assert!(chosen(None, Some(("julia", "Julia", "julia"))).contains("has no kernel of that language"));
        let error = chosen(None, Some(("", "", "julia")));
        assert!(
            error.starts_with("The notebook is written in julia, and the server has no kernel"),
            "{error}"
        );
    }
}
