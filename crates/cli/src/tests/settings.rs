//! `docs/settings.md`: every option of every command.

use std::fmt::Write as _;

use clap::{Arg, Command, CommandFactory as _};

use super::{cell, check};
use crate::args::Cli;
use environments::ProcessEnv;

#[test]
fn the_settings_are_up_to_date() {
    let mut program = Cli::command();
    program.build();
    let mut page = String::new();
    describe(&program, &[], &mut page);
    check("settings.md", &page);
}

/// Variables that configure other programs, too. They belong to the person, so kernels inherit them.
const SHARED: &[&str] = &[
    "ALL_PROXY",
    "BROWSER",
    "CONDA_PREFIX",
    "HOST",
    "HTTPS_PROXY",
    "HTTP_PROXY",
    "IPYTHONDIR",
    "JUPYTER_DATA_DIR",
    "JUPYTER_PATH",
    "JUPYTER_PREFER_ENV_PATH",
    "JUPYTER_RUNTIME_DIR",
    "NO_COLOR",
    "NO_PROXY",
    "PAGER",
    "PORT",
    "PYTHONUSERBASE",
    "REQUESTS_CA_BUNDLE",
    "VIRTUAL_ENV",
    "XDG_CONFIG_HOME",
    "XDG_DATA_HOME",
    "XDG_STATE_HOME",
];

#[test]
fn kernels_inherit_no_setting_of_this_program() {
    let mut program = Cli::command();
    program.build();
    let mut settings = variables_of(&program);
    let page = include_str!("../../../../docs/settings.md");
    let by_hand = page.split_once("## Variables without an option").unwrap().1.split_once("\n## ").unwrap().0;
    let is_name = |word: &&str| word.len() > 3 && word.chars().all(|c| c.is_ascii_uppercase() || c == '_');
    settings.extend(by_hand.split('`').skip(1).step_by(2).filter(is_name).map(str::to_owned));
    assert!(settings.len() > 40, "{settings:?}");
    settings.extend(["OTEL_EXPORTER_OTLP_HEADERS", "OTEL_SDK_DISABLED"].map(str::to_owned));
    for name in settings {
        let inherited = ProcessEnv::inherited([(name.clone().into(), "x".into())], None, &[]);
        let is_inherited = inherited.get(&name).is_some();
        assert_eq!(
            is_inherited,
            SHARED.contains(&&*name),
            "{name} is a setting: list it in kernel_env.rs, or here"
        );
    }
}

fn variables_of(command: &Command) -> Vec<String> {
    let own = command.get_arguments().filter_map(|it| Some(it.get_env()?.to_string_lossy().into_owned()));
    own.chain(command.get_subcommands().flat_map(variables_of)).collect()
}

/// A command and its subcommands, each with a heading.
fn describe(command: &Command, parents: &[&Command], page: &mut String) {
    let own = options(command);
    // `jupyter start` is `jupyter`.
    if parents.last().is_some_and(|parent| !own.is_empty() && options(parent) == own) {
        return;
    }
    let name: Vec<&str> = parents.iter().chain([&command]).map(|it| it.get_name()).collect();
    let about = command.get_about().map(ToString::to_string).unwrap_or_default();
    let _ = write!(page, "\n## `{}`\n\n{about}.\n", name.join(" "));
    if !own.is_empty() {
        let _ = write!(page, "\n| option | variable | default | |\n|---|---|---|---|\n{own}");
    }
    let parents: Vec<&Command> = parents.iter().copied().chain([command]).collect();
    for subcommand in command.get_subcommands().filter(|it| it.get_name() != "help" && !it.is_hide_set()) {
        describe(subcommand, &parents, page);
    }
}

/// A row for each argument.
fn options(command: &Command) -> String {
    command
        .get_arguments()
        .filter(|it| !it.is_hide_set() && !["help", "version"].contains(&it.get_id().as_str()))
        .map(row)
        .collect()
}

fn row(argument: &Arg) -> String {
    let variable = argument.get_env().map(|name| format!("`{}`", name.to_string_lossy()));
    let default = argument.get_default_values().first().filter(|_| argument.get_action().takes_values());
    let default = default.map(|value| format!("`{}`", value.to_string_lossy()));
    format!(
        "| {} | {} | {} | {} |\n",
        cell(&spelled(argument)),
        variable.unwrap_or_default(),
        default.unwrap_or_default(),
        cell(&meaning(argument)),
    )
}

/// How it is written on the command line.
fn spelled(argument: &Arg) -> String {
    let value = argument.get_value_names().and_then(|names| names.first()).map(ToString::to_string);
    let value = value.filter(|_| argument.get_action().takes_values()).unwrap_or_default();
    let Some(long) = argument.get_long() else { return format!("`{value}`") };
    let mut names = vec![long];
    names.extend(argument.get_visible_aliases().unwrap_or_default());
    let mut spelled: Vec<String> = names.iter().map(|name| format!("`--{name}`")).collect();
    spelled.extend(argument.get_short().map(|short| format!("`-{short}`")));
    if !value.is_empty() {
        spelled[0] = format!("`--{long} {value}`");
    }
    spelled.join(", ")
}

/// The help, in one line, with the values that can be chosen.
fn meaning(argument: &Arg) -> String {
    let help = argument.get_long_help().or(argument.get_help()).map(ToString::to_string).unwrap_or_default();
    let mut meaning =
        help.split("\n\n").map(|part| part.trim_end_matches('.')).collect::<Vec<_>>().join(". ");
    let values: Vec<String> = argument
        .get_possible_values()
        .iter()
        .filter(|_| argument.get_action().takes_values())
        .map(|value| format!("`{}`", value.get_name()))
        .collect();
    if !values.is_empty() {
        let _ = write!(meaning, ": {}", values.join(", "));
    }
    meaning
}
