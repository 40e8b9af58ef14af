//! The command of a kernelspec, as `jupyter_client.manager.format_kernel_cmd` builds it.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::installed::InstalledKernelspec;
use super::paths::prefix_of;
use crate::venv::{Environment, interpreter_in};
use crate::{ProcessEnv, Variables};

/// The arguments of a kernelspec's `program`, with `{connection_file}`, `{resource_dir}` and `{prefix}` replaced.
pub fn arguments(spec: &InstalledKernelspec, program: &Path, connection_file: &Path) -> Vec<OsString> {
    // Jupyter uses the prefix of the Python it runs in. Here it is the prefix of the kernel.
    let environment = Environment::of(program).map(|environment| environment.prefix);
    let prefix = prefix_of(&spec.resources).or(environment.as_deref()).or_else(|| program.parent()?.parent());
    let arguments = spec.argv.iter().skip(1).map(|argument| {
        let argument = argument.replace("{connection_file}", &connection_file.to_string_lossy());
        substitute(&argument, spec, prefix).into()
    });
    arguments.collect()
}

/// The program that a kernelspec runs. `None` if it does not exist.
///
/// A bare `python` is the one of the environment that contains the kernelspec, else the one on `PATH`.
pub(crate) fn program(spec: &InstalledKernelspec, process_env: &ProcessEnv) -> Option<PathBuf> {
    let name = substitute(spec.argv.first()?, spec, prefix_of(&spec.resources));
    let named = Path::new(&name);
    if named.is_absolute() {
        return named.is_file().then(|| named.to_path_buf());
    }
    let name = named.to_str().filter(|_| named.components().count() == 1)?;
    if is_bare_python(name) {
        let own = prefix_of(&spec.resources).and_then(interpreter_in);
        return own
            .or_else(|| process_env.find_program(name))
            .or_else(|| process_env.find_program("python3"));
    }
    process_env.find_program(name)
}

/// Whether a kernelspec does not say which Python it means: `python`, `python3`, `python3.12`.
pub(crate) fn is_bare_python(name: &str) -> bool {
    name.strip_prefix("python").is_some_and(|rest| rest.bytes().all(|b| b.is_ascii_digit() || b == b'.'))
}

/// Replaces `{resource_dir}`, and `{prefix}` if it is known.
fn substitute(argument: &str, spec: &InstalledKernelspec, prefix: Option<&Path>) -> String {
    let argument = argument.replace("{resource_dir}", &spec.resources.to_string_lossy());
    prefix.map_or(argument.clone(), |prefix| argument.replace("{prefix}", &prefix.to_string_lossy()))
}

/// The variables of a kernelspec, with `$NAME`, `${NAME}` and `$$` replaced as by Python's
/// `string.Template.safe_substitute`.
pub fn variables(
    spec: &InstalledKernelspec,
    process_env: &ProcessEnv,
) -> impl Iterator<Item = (OsString, OsString)> {
    spec.env.iter().map(|(key, value)| (OsString::from(key), expand(value, &process_env.variables)))
}

fn expand(text: &str, variables: &Variables) -> OsString {
    let mut result = OsString::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('$') {
        result.push(before);
        let braced = after.strip_prefix('{');
        let name = identifier(braced.unwrap_or(after));
        let behind = &braced.unwrap_or(after)[name.len()..];
        let behind = if braced.is_some() { behind.strip_prefix('}') } else { Some(behind) };
        let value = variables.get(name).filter(|_| !name.is_empty());
        if let Some((value, behind)) = value.zip(behind) {
            result.push(value);
            rest = behind;
        } else {
            result.push("$");
            rest = after.strip_prefix('$').unwrap_or(after);
        }
    }
    result.push(rest);
    result
}

fn identifier(text: &str) -> &str {
    let end = text.find(|c: char| c != '_' && !c.is_ascii_alphanumeric()).unwrap_or(text.len());
    if text.starts_with(|c: char| c.is_ascii_digit()) { "" } else { &text[..end] }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::kernelspec::InterruptMode;
    use crate::test_program::program as make;

    fn spec(argv: &[&str], resources: &Path) -> InstalledKernelspec {
        InstalledKernelspec {
            name: "k".into(),
            resources: resources.into(),
            argv: argv.iter().map(ToString::to_string).collect(),
            display_name: "K".into(),
            language: "k".into(),
            env: std::collections::BTreeMap::new(),
            interrupt_mode: InterruptMode::Signal,
        }
    }

    #[test]
    fn only_known_names_in_braces_are_replaced() {
        let resources = Path::new("/v/share/jupyter/kernels/k");
        let argv = [
            "k",
            "{resource_dir}/k.jar",
            "-f={connection_file}",
            "{prefix}{other}",
            "{",
            "{}",
            "a}{",
            "ä{ö}",
        ];
        let arguments = arguments(&spec(&argv, resources), Path::new("/bin/k"), Path::new("/run/c.json"));
        let expected =
            ["/v/share/jupyter/kernels/k/k.jar", "-f=/run/c.json", "/v{other}", "{", "{}", "a}{", "ä{ö}"];
        assert_eq!(arguments, expected);
    }

    #[test]
    fn a_bare_python_is_searched_in_the_prefix_then_on_path() {
        let folder = tempfile::tempdir().unwrap();
        let (prefix, path) = (folder.path().join("v"), folder.path().join("path"));
        let resources = prefix.join("share/jupyter/kernels/k");
        let mut process_env = ProcessEnv::default();
        process_env.variables.insert("PATH".into(), path.clone().into());
        let spec = spec(&["python"], &resources);
        assert_eq!(program(&spec, &process_env), None);
        let on_path = make(&path.join("python3"), &[]);
        assert_eq!(program(&spec, &process_env), Some(on_path));
        let folder = if cfg!(windows) { "Scripts" } else { "bin" };
        let own = make(&prefix.join(folder).join("python"), &[]);
        assert_eq!(program(&spec, &process_env), Some(own));
        assert!(is_bare_python("python3.12"));
        assert!(!is_bare_python("pythonw"));
        assert!(!is_bare_python("ipython"));
    }

    #[test]
    fn a_missing_program_is_none() {
        let folder = tempfile::tempdir().unwrap();
        let run = make(&folder.path().join("run"), &[]);
        let resources = folder.path();
        let found = |name: &str| program(&spec(&[name], resources), &ProcessEnv::default());
        let name = run.file_name().unwrap().to_str().unwrap();
        assert_eq!(found(&format!("{{resource_dir}}/{name}")), Some(run));
        for name in ["/nowhere/run", "./run", "run", "{resource_dir}", ""] {
            assert_eq!(found(name), None, "{name}");
        }
    }

    #[test]
    fn variables_are_expanded_as_python_does() {
        let variables: Variables = [("A".into(), "1".into()), ("B_2".into(), "two".into())].into();
        for (text, expected) in [
            ("$A-${B_2}", "1-two"),
            ("$$A", "$A"),
            ("$A$", "1$"),
            ("${A", "${A"),
            ("${A }", "${A }"),
            ("$none ${none}", "$none ${none}"),
            ("$1 $ä ${}", "$1 $ä ${}"),
        ] {
            assert_eq!(expand(text, &variables), OsString::from(expected), "{text}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_accepted(text in "[${}A_1ä ]{0,12}") {
            expand(&text, &[("A".into(), "x".into())].into());
        }
    }
}
