use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use clap::{CommandFactory as _, Parser as _};

use super::{Cli, Command, visible_error};

/// Options of other programs and CSS variables.
const OTHERS: [&str; 30] = [
    // gcloud
    "--client-id-file",
    "--scopes",
    // `cargo xtask bench calls`
    "--beside",
    "--days",
    // `cargo xtask bench judgement`
    "--edits",
    "--parts",
    "--allow-dirty",
    "--bin",
    "--cache",
    "--check",
    "--compatibility",
    "--config-setting",
    "--existing",
    "--fast",
    "--git",
    "--hash",
    "--header",
    "--inexact",
    "--jp-collaborator-color",
    "--locked",
    "--path",
    "--profile",
    "--release",
    "--run",
    "--runtime-dir",
    "--target",
    "--to",
    "--wheel",
    "--workspace",
    "--zig",
];

/// Every option of the program and of its subcommands.
fn options(command: &clap::Command) -> BTreeSet<String> {
    let own = command.get_arguments().flat_map(|argument| {
        let aliases = argument.get_all_aliases().unwrap_or_default();
        argument.get_long().into_iter().chain(aliases).map(|name| format!("--{name}")).collect::<Vec<_>>()
    });
    own.chain(command.get_subcommands().flat_map(options)).collect()
}

/// The options that a line names. A literal that begins with an option is an argument for another program, and
/// `--runtime-…` is an abbreviation.
fn named(line: &str) -> Vec<&str> {
    let starts = line.match_indices("--").map(|(start, _)| start);
    let options = starts.filter_map(|start| {
        let is_inside_a_word = line[..start].ends_with(|it: char| it == '-' || it.is_alphanumeric());
        let rest = &line[start + 2..];
        let length = rest.find(|it: char| it != '-' && !it.is_ascii_alphanumeric()).unwrap_or(rest.len());
        let name = &rest[..length];
        let end = start + 2 + length;
        let is_argument = line[..start].ends_with('"') && line[end..].starts_with(['"', '=']);
        let is_option = name.starts_with(|it: char| it.is_ascii_lowercase()) && !name.ends_with('-');
        (is_option && !is_inside_a_word && !is_argument).then(|| &line[start..end])
    });
    options.collect()
}

/// The lines that people and models may read: documents, and the code of all crates without comments and tests.
fn readable_lines(file: &Path) -> Vec<(usize, String)> {
    let text = std::fs::read_to_string(file).unwrap();
    let text = text.split("#[cfg(test)]").next().unwrap_or_default();
    let lines = text.lines().zip(1..).map(|(line, number)| (number, line.to_owned()));
    lines.filter(|(_, line)| !line.trim_start().starts_with("//")).collect()
}

fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let is_source = path.extension().is_some_and(|extension| extension == "rs" || extension == "md");
        if path.is_dir() && !matches!(name.as_str(), "tests" | "snapshots") {
            files(&path, found);
        } else if is_source && name != "tests" {
            found.push(path);
        }
    }
}

#[test]
fn every_option_that_is_named_anywhere_exists() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut found: Vec<_> = ["README.md", "ARCHITECTURE.md"].map(|name| root.join(name)).into();
    files(&root.join("docs"), &mut found);
    for member in std::fs::read_dir(root.join("crates")).unwrap() {
        files(&member.unwrap().path().join("src"), &mut found);
    }
    let known = options(&Cli::command());
    let unknown: Vec<String> = found
        .iter()
        .flat_map(|file| readable_lines(file).into_iter().map(move |line| (file, line)))
        .flat_map(|(file, (number, line))| {
            let names: Vec<_> = named(&line).into_iter().map(str::to_owned).collect();
            names.into_iter().map(move |name| (format!("{}:{number}", file.display()), name))
        })
        .filter(|(_, name)| !known.contains(name) && !OTHERS.contains(&name.as_str()))
        .map(|(place, name)| format!("{place}: {name}"))
        .collect();
    assert!(unknown.is_empty(), "options that do not exist:\n{}", unknown.join("\n"));
}

#[test]
fn errors_about_the_command_line_show_what_file_names_hide() {
    let shown = |name: &str| {
        let arguments = ["cellbridge", "run", "a.ipynb", name];
        let error = Cli::try_parse_from(arguments).unwrap_err();
        visible_error(&error, arguments.map(Into::into))
    };
    assert_eq!(shown("b.ipynb"), None);
    let text = shown("b\u{1b}]0;T\u{7}\u{1b}[2J\u{202e}.ipynb").unwrap();
    assert!(text.contains("'b") && text.contains(".ipynb'") && !text.contains('\u{1b}'), "{text}");
}

#[test]
fn options_are_recognized_in_sentences() {
    assert_eq!(named("give it with --jupyter-url, or --token=x"), ["--jupyter-url", "--token"]);
    assert_eq!(named(r#"["pip", "--no-input", "--timeout=20"] a--b ---- x -- y --runtime-…"#), [""; 0]);
}

#[test]
fn the_network_timeout_is_30_seconds_unless_given_and_positive() {
    for command in [vec!["cellbridge"], vec!["cellbridge", "jupyter"]] {
        let read = |given: &str| {
            let given = (!given.is_empty()).then(|| format!("--network-timeout={given}"));
            let cli = Cli::try_parse_from(command.iter().map(|it| (*it).to_owned()).chain(given)).ok()?;
            let timeout = match cli.command {
                Some(Command::Jupyter(options)) => options.start.network.network_timeout,
                _ => cli.every.network.network_timeout,
            };
            Some(timeout.duration().as_millis())
        };
        assert_eq!(read(""), Some(30_000));
        assert_eq!(read("1.5"), Some(1500));
        for wrong in ["0", "-1", "1e9", "nan", "soon"] {
            assert_eq!(read(wrong), None, "{wrong}");
        }
    }
}
