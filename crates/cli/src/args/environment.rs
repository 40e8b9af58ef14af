//! Values in existing configurations: which ones count as not set, and how booleans are spelled.

use clap::builder::Resettable;
use clap::{Arg, Command};

/// The value, unless it is one of the ways in which a client's configuration leaves a setting out.
pub(crate) fn given(value: Option<&str>) -> Option<&str> {
    value.map(str::trim).filter(|value| !matches!(value.to_ascii_lowercase().as_str(), "" | "none" | "null"))
}

/// A variable's value, if it is set to one.
pub(crate) fn variable(name: &str) -> Option<String> {
    let value = std::env::var(name).ok();
    given(value.as_deref()).map(str::to_owned)
}

/// An option's value, or that of a variable to which the option is not tied.
pub(crate) fn either(option: Option<&str>, name: &str) -> Option<String> {
    given(option).map(str::to_owned).or_else(|| variable(name))
}

/// A boolean in any of the spellings that existing configurations use.
pub(crate) fn truth(text: &str) -> Result<bool, String> {
    match text.trim().to_ascii_lowercase().as_str() {
        "1" | "true" | "t" | "yes" | "y" | "on" | "enable" | "enabled" => Ok(true),
        "" | "0" | "false" | "f" | "no" | "n" | "off" | "disable" | "disabled" => Ok(false),
        _ => Err("expected true or false".to_owned()),
    }
}

/// The name of an environment variable.
pub(crate) fn variable_name(text: &str) -> Result<String, String> {
    let name = text.trim();
    if name.is_empty() || name.contains(['=', ' ']) {
        return Err("expected the name of a variable".to_owned());
    }
    Ok(name.to_owned())
}

/// Makes clap ignore variables that are set to nothing, in a command and all of its subcommands.
pub(crate) fn skip_empty_variables(command: Command) -> Command {
    command.mut_args(skip_empty_variable).mut_subcommands(skip_empty_variables)
}

fn skip_empty_variable(argument: Arg) -> Arg {
    let value = argument.get_env().and_then(|name| std::env::var(name).ok());
    match value {
        // "none" must not mean that all tools are offered, or that nobody is asked.
        Some(value) if ["tools", "ask"].contains(&argument.get_id().as_str()) && !value.trim().is_empty() => {
            argument
        }
        Some(value) if given(Some(&value)).is_none() => argument.env(Resettable::Reset),
        // The help names the variable; its value may be a secret.
        _ => argument.hide_env_values(true),
    }
}
