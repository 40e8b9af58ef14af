//! Settings that choose where packages come from, in which versions, and what is built.

use toml_edit::{DocumentMut, Item, Table, TableLike, Value};

use crate::environment::Environment;
use crate::installer::Installer;

/// Parts of the names of such settings, whose words are separated by hyphens.
const DECISIVE: &str = include_str!("settings.txt");

/// The settings in force for an installer, where the environment knows them, as a person reads them.
pub(crate) fn of(installer: &Installer, environment: &Environment) -> Vec<String> {
    match installer {
        Installer::Uv { .. } | Installer::UvProject { .. } => {
            let variables = environment.uv_variables.iter();
            let variables =
                variables.map(|(name, value)| format!("{name}={value}")).filter(|it| is_decisive(it));
            let config = environment.uv_config.iter().map(|path| format!("those in {path}"));
            config.chain(variables).chain(of_project(environment)).map(|it| masked(&it)).collect()
        }
        Installer::Conda { channels, .. } => {
            channels.iter().map(|it| masked(&format!("channel {it}"))).collect()
        }
        Installer::Pixi { folder, .. } => vec![format!("those of the pixi project {folder}")],
        Installer::Pip { .. } => Vec::new(),
    }
}

/// Those in the output of `pip config list`, with lines such as `global.index-url='https://x'`.
pub(crate) fn of_pip(output: &str) -> Vec<String> {
    output.lines().map(str::trim).filter(|it| is_decisive(it)).map(masked).collect()
}

fn of_project(environment: &Environment) -> Vec<String> {
    let Some(settings) = uv_table(environment) else { return Vec::new() };
    let values = settings.iter().map(|(name, value)| format!("{name} = {}", one_line(value)));
    values.filter(|it| is_decisive(it)).map(|it| format!("{it} (of the project)")).collect()
}

fn one_line(item: &Item) -> String {
    item.to_string().split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A project's indexes as options: `uv pip` would read its settings only in its folder, together with all others.
pub(crate) fn index_options(environment: &Environment) -> Vec<String> {
    let Some(settings) = uv_table(environment) else { return Vec::new() };
    let mut options = Vec::new();
    let mut add = |option: &str, value: &str| options.extend([option.to_owned(), value.to_owned()]);
    let listed = settings.get("index").and_then(Item::as_array_of_tables);
    for index in listed.into_iter().flatten() {
        let is = |name: &str| index.get(name).and_then(Item::as_bool).unwrap_or(false);
        let Some(url) = index.get("url").and_then(Item::as_str).filter(|_| !is("explicit")) else { continue };
        add(if is("default") { "--default-index" } else { "--index" }, url);
    }
    for (name, option) in
        [("index-url", "--default-index"), ("extra-index-url", "--index"), ("find-links", "--find-links")]
    {
        let values = settings.get(name).and_then(Item::as_value);
        let texts =
            values.map(|value| value.as_array().map_or_else(|| vec![value], |all| all.iter().collect()));
        texts.into_iter().flatten().filter_map(Value::as_str).for_each(|text| add(option, text));
    }
    options.extend(
        settings.get("no-index").and_then(Item::as_bool).unwrap_or(false).then(|| "--no-index".to_owned()),
    );
    options
}

/// The settings of the project, which `uv.toml` holds at its top and `pyproject.toml` in `tool.uv`.
fn uv_table(environment: &Environment) -> Option<Table> {
    let document: DocumentMut = environment.uv_settings.as_ref()?.parse().ok()?;
    if ["project", "tool", "build-system"].iter().any(|name| document.contains_key(name)) {
        return document.get("tool")?.get("uv")?.as_table().cloned();
    }
    Some(document.as_table().clone())
}

/// Whether uv builds the project, or what belongs to it, to know its metadata. It does so even with `--no-build`.
pub(crate) fn builds_project(environment: &Environment) -> bool {
    let may_build = |(index, text): (usize, &String)| {
        let Ok(document) = text.parse::<DocumentMut>() else { return true };
        let in_table = |table: &str, name: &str| document.get(table).and_then(|it| it.get(name));
        let of_uv = |name: &str| in_table("tool", "uv").and_then(|it| it.get(name));
        let is_static = ["name", "version"].iter().all(|name| in_table("project", name).is_some());
        let is_other = in_table("project", "dynamic").or_else(|| in_table("tool", "poetry")).is_some();
        let sources = of_uv("sources").is_some_and(|it| it.as_table_like().is_none_or(has_folder));
        of_uv("workspace").is_some() || index == 0 && (!is_static || is_other || sources)
    };
    environment.uv_projects.iter().enumerate().any(may_build)
}

/// Whether sources of a project lead to folders, which can be built.
fn has_folder(sources: &dyn TableLike) -> bool {
    let is_folder = |table: &dyn TableLike| table.contains_key("path") || table.contains_key("workspace");
    sources.iter().any(|(_, source)| match (source.as_table_like(), source.as_array()) {
        (Some(table), _) => is_folder(table),
        (_, Some(all)) => all.iter().filter_map(Value::as_inline_table).any(|table| is_folder(table)),
        _ => true,
    })
}

fn is_decisive(setting: &str) -> bool {
    let name = setting.split('=').next().unwrap_or_default().trim().to_lowercase();
    let name = format!("-{}-", name.replace(['_', '.', ':'], "-"));
    let has = |word: &str| name.contains(&format!("-{word}-"));
    !has("password") && !has("username") && DECISIVE.lines().any(has)
}

/// Without the user, the password and the query of an address.
fn masked(text: &str) -> String {
    let mut masked = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("://") {
        masked.push_str(before);
        masked.push_str("://");
        let end = after.find(|c: char| "'\",".contains(c) || c.is_whitespace()).unwrap_or(after.len());
        let (address, others) = after.split_at(end);
        let (address, query) = address.split_once('?').map_or((address, ""), |(it, _)| (it, "?***"));
        let host = address.split('/').next().and_then(|it| it.rfind('@'));
        masked.push_str(if host.is_some() { "***@" } else { "" });
        masked.push_str(&address[host.map_or(0, |at| at + 1)..]);
        masked.push_str(query);
        rest = others;
    }
    masked + rest
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn uv() -> Installer {
        Installer::Uv { uv: "uv".to_owned() }
    }

    #[test]
    fn what_chooses_the_index_is_shown_without_passwords() {
        let variables = [
            ("UV_INDEX_URL", "https://ada:secret@a/simple"),
            ("UV_NO_BUILD", "1"),
            ("UV_INDEX_A_PASSWORD", "secret"),
            ("UV_CACHE_DIR", "/c"),
        ];
        let variables: BTreeMap<String, String> =
            variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let config = Some("/home/ada/.config/uv/uv.toml".to_owned());
        let environment =
            Environment { uv_variables: variables, uv_config: config, ..Environment::default() };
        assert_eq!(
            of(&uv(), &environment),
            ["those in /home/ada/.config/uv/uv.toml", "UV_INDEX_URL=https://***@a/simple", "UV_NO_BUILD=1"]
        );
        let listed = "global.index-url='http://x@h/s'\n:env:.cert='/c.pem'\n:env:.no-index='1'\ninstall.target='/t'\nuser.name='x'";
        assert_eq!(
            of_pip(listed),
            [
                "global.index-url='http://***@h/s'",
                ":env:.no-index='1'",
                "install.target='/t'",
                "user.name='x'"
            ]
        );
    }

    #[test]
    fn a_query_is_hidden_and_the_next_address_is_shown() {
        let listed =
            "UV_INDEX=https://a:p/x?@h/s?t=Q3cret&u=1 https://b/s?c,https://d?t=Q3cret,'https://e@f'";
        let shown = masked(listed);
        assert!(!shown.contains("Q3cret"), "{shown}");
        assert!(shown.ends_with("https://b/s?***,https://d?***,'https://***@f'"), "{shown}");
    }

    #[test]
    fn a_project_is_built_unless_its_metadata_are_static() {
        let builds = |texts: &[&str]| {
            let uv_projects = texts.iter().map(|it| (*it).to_owned()).collect();
            builds_project(&Environment { uv_projects, ..Environment::default() })
        };
        let plain = "[project]\nname = \"x\"\nversion = \"1\"\n";
        let with = |more: &str| builds(&[&format!("{plain}{more}")]);
        assert!(!builds(&[plain, "[project]\nname = \"above\"\ndynamic = [\"version\"]\n"]));
        assert!(!with("[build-system]\nrequires = []\n[tool.uv.sources]\ntorch = { index = \"p\" }\n"));
        for more in [
            "dynamic = [\"dependencies\"]\n",
            "\"dyn\\u0061mic\" = []\n",
            "[tool.uv.workspace]\nmembers = [\"m\"]\n",
            "[tool.uv.sources]\na = { path = \"a\", editable = true }\n",
            "[tool.uv.sources]\na = [{ workspace = true }]\n",
            "[tool.poetry]\n",
            "[",
        ] {
            assert!(with(more), "{more}");
        }
        assert!(builds(&[plain, "[tool.uv.workspace]\nmembers = [\"*\"]\n"]));
        assert!(builds(&["[project]\nname = \"x\"\n"]));
    }

    #[test]
    fn the_indexes_of_a_project_are_passed_on_and_shown() {
        let of_project = |text: &str| {
            let environment = Environment { uv_settings: Some(text.to_owned()), ..Environment::default() };
            (index_options(&environment).join(" "), of(&uv(), &environment))
        };
        let (options, settings) = of_project(
            "[project]\nname = \"x\"\n[tool.uv]\nfind-links = [\"/f\"]\npackage = false\n[[tool.uv.index]]\nurl = \"https://u:p@a/s\"\n\
             default = true\n[[tool.uv.index]]\nurl = \"https://b\"\n[[tool.uv.index]]\nurl = \"https://c\"\nexplicit = true\n",
        );
        assert_eq!(options, "--default-index https://u:p@a/s --index https://b --find-links /f");
        assert_eq!(settings.len(), 2, "{settings:?}");
        assert!(settings.concat().contains("https://***@a/s") && settings.concat().contains("https://b"));
        let (options, settings) =
            of_project("index-url = \"https://a\"\nno-index = true\n[pip]\ntarget = \"/t\"\n");
        assert_eq!(options, "--default-index https://a --no-index");
        assert_eq!(settings[0], "index-url = \"https://a\" (of the project)");
        assert_eq!(
            of_project("[project]\nname = \"x\"\n[build-system]\nrequires = []\n"),
            Default::default()
        );
        assert_eq!(of_project("["), Default::default());
    }
}
