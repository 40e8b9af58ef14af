//! Files that are missing, linked, protected, broken, or changed by somebody else.

use clients::{
    CLIENTS, ChangeError, Client, Format, Ledger, Scope, ServerEntry, Start, Starts, install, uninstall,
};

use crate::home::{Home, read};

fn broken(format: Format) -> &'static str {
    match format {
        Format::Json => "{\"a\": 1",
        Format::Toml => "a = ",
        Format::Yaml => "a: [1",
    }
}

fn valid(format: Format) -> &'static str {
    match format {
        Format::Json => "{\n  \"a\": 1\n}\n",
        Format::Toml => "a = 1\n",
        Format::Yaml => "a: 1\n",
    }
}

fn named(id: &str) -> &'static Client {
    Client::named(id).unwrap()
}

#[test]
fn a_file_that_did_not_exist_is_gone_again_with_its_folders() {
    for client in CLIENTS {
        let home = Home::new();
        let file = client.file(&home.machine, Scope::User).unwrap();
        home.install(client);
        assert!(file.exists(), "{}", client.id);
        home.uninstall(client);
        assert_eq!(home.path().read_dir().unwrap().count(), 0, "{}: the ledger stays", client.id);
    }
}

#[test]
fn what_is_configured_is_read_back() {
    for client in CLIENTS {
        let home = Home::new();
        assert_eq!(client.configured(&home.machine, Scope::User).unwrap(), None);
        home.install(client);
        let configured = client.configured(&home.machine, Scope::User).unwrap().unwrap();
        let Starts::Command { program, arguments } = configured.starts else { panic!("{}", client.id) };
        assert_eq!((program.as_str(), arguments[0].as_str()), ("/opt/bin/cellbridge", "--read-only"));
        assert!(!configured.is_disabled, "{}", client.id);
    }
}

#[test]
fn a_broken_file_is_left_alone_and_the_block_to_paste_is_known() {
    for client in CLIENTS {
        let home = Home::new();
        let file = home.file(client);
        std::fs::write(&file, broken(client.format)).unwrap();
        let error = home.change(client, Scope::User).unwrap_err();
        let ChangeError::Refused { block: Some(block), .. } = &error else {
            panic!("{}: {error}", client.id)
        };
        assert!(block.contains("/opt/bin/cellbridge"), "{block}");
        assert!(error.to_string().contains(&file.display().to_string()), "{error}");
        assert!(client.configured(&home.machine, Scope::User).is_err());
        assert_eq!(read(&file).unwrap(), broken(client.format));
        assert!(uninstall(client, &home.machine, Scope::User, &home.ledger()).is_err());
    }
}

#[test]
fn bytes_that_are_not_utf_8_are_left_alone() {
    let (home, client) = (Home::new(), named("cursor"));
    std::fs::write(home.file(client), b"{\"a\": \"\xff\"}").unwrap();
    let error = home.change(client, Scope::User).unwrap_err().to_string();
    assert!(error.contains("UTF-8"), "{error}");
}

#[test]
fn a_read_only_file_is_left_alone() {
    for client in CLIENTS {
        let home = Home::new();
        let file = home.file(client);
        std::fs::write(&file, valid(client.format)).unwrap();
        let mut permissions = file.metadata().unwrap().permissions();
        permissions.set_readonly(true);
        std::fs::set_permissions(&file, permissions).unwrap();
        let mut change = home.change(client, Scope::User).unwrap();
        let error = change.apply(&mut home.ledger()).unwrap_err().to_string();
        assert!(error.ends_with("it is read-only"), "{error}");
        assert_eq!(read(&file).unwrap(), valid(client.format));
        assert_eq!(file.parent().unwrap().read_dir().unwrap().count(), 1, "something was left beside it");
    }
}

#[test]
#[cfg(unix)]
fn links_stay_links_and_modes_stay_modes() {
    use std::os::unix::fs::PermissionsExt;
    for client in CLIENTS {
        let home = Home::new();
        let (file, target) = (home.file(client), home.path().join("dotfiles"));
        std::fs::write(&target, valid(client.format)).unwrap();
        std::fs::set_permissions(&target, PermissionsExt::from_mode(0o640)).unwrap();
        let link = home.path().join("link");
        std::os::unix::fs::symlink(&target, &link).unwrap();
        std::os::unix::fs::symlink(&link, &file).unwrap();
        home.install(client);
        assert_eq!(std::fs::read_link(&file).unwrap(), link);
        assert_eq!(std::fs::read_link(&link).unwrap(), target);
        assert_eq!(target.metadata().unwrap().permissions().mode() & 0o777, 0o640);
        assert!(read(&target).unwrap().contains("/opt/bin/cellbridge"));
        home.uninstall(client);
        assert_eq!(read(&target).unwrap(), valid(client.format));
        assert_eq!(std::fs::read_link(&file).unwrap(), link);
    }
}

#[test]
#[cfg(unix)]
fn a_link_to_nothing_gets_its_file() {
    let (home, client) = (Home::new(), named("claude-code"));
    let (file, target) = (home.file(client), home.path().join("dotfiles/claude.json"));
    std::os::unix::fs::symlink("../dotfiles/claude.json", &file).unwrap();
    home.install(client);
    assert!(target.exists());
    home.uninstall(client);
    assert!(!target.exists());
}

#[test]
#[cfg(unix)]
fn no_link_in_a_project_is_followed() {
    use std::os::unix::fs::symlink;
    for client in CLIENTS.iter().filter(|client| client.project_file.is_some()) {
        let home = Home::new();
        let (project, outside) = (home.path().join("project"), home.path().join("outside"));
        let scope = Scope::Project(&project);
        let file = client.file(&home.machine, scope).unwrap();
        let name = file.file_name().unwrap();
        for (link, target) in
            [(file.as_path(), outside.join(name)), (file.parent().unwrap(), outside.clone())]
        {
            if link == project {
                continue;
            }
            std::fs::create_dir_all(link.parent().unwrap()).unwrap();
            std::fs::create_dir_all(&outside).unwrap();
            for text in [None, Some(valid(client.format))] {
                if let Some(text) = text {
                    std::fs::write(outside.join(name), text).unwrap();
                }
                symlink(&target, link).unwrap();
                for refused in [
                    home.change(client, scope).map(drop),
                    uninstall(client, &home.machine, scope, &home.ledger()).map(drop),
                    client.configured(&home.machine, scope).map(drop),
                ] {
                    let error = refused.unwrap_err().to_string();
                    assert!(error.ends_with("is a link, and in a project no link is followed"), "{error}");
                }
                assert_eq!(read(&outside.join(name)).as_deref(), text, "{}", client.id);
                std::fs::remove_file(link).unwrap();
            }
            std::fs::remove_dir_all(&project).unwrap();
            std::fs::remove_dir_all(&outside).unwrap();
        }
    }
}

#[test]
fn only_the_entry_of_cellbridge_is_shown_without_literal_secrets() {
    for client in CLIENTS {
        let home = Home::new();
        let key = client.keys[0];
        let secrets = match client.format {
            Format::Json => format!(
                "{{\"{key}\": {{\"other\": {{\"env\": {{\"A\": \"hush\"}}}}, \"cellbridge\": {{\"env\": {{\"A\": \"hush\"}}}}}}}}"
            ),
            Format::Toml => {
                format!("[{key}.other.env]\nA = \"hush\"\n[{key}.cellbridge]\nenv = {{ A = \"hush\" }}\n")
            }
            Format::Yaml => {
                format!("{key}:\n  other:\n    env:\n      A: hush\n  cellbridge:\n    env:\n      A: hush\n")
            }
        };
        std::fs::write(home.file(client), secrets).unwrap();
        let installed = home.change(client, Scope::User).unwrap();
        let removed = uninstall(client, &home.machine, Scope::User, &home.ledger()).unwrap();
        for [before, after] in [installed.shown(), removed.shown()] {
            assert!(before.contains('…') && !(before + &after).contains("hush"), "{}", client.id);
        }
        assert!(installed.shown()[1].contains("/opt/bin/cellbridge"), "{}", client.id);
    }
}

#[test]
#[cfg(unix)]
fn new_files_are_private() {
    use std::os::unix::fs::PermissionsExt;
    let (home, client) = (Home::new(), named("cursor"));
    home.install(client);
    for file in [home.file(client), home.path().join("data/installed.json")] {
        assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    }
}

#[test]
fn the_state_before_the_first_change_is_kept_beside_the_file() {
    let (home, client) = (Home::new(), named("codex"));
    let file = home.file(client);
    let backup = file.with_file_name("config.toml.cellbridge.bak");
    std::fs::write(&file, "a = 1\n").unwrap();
    home.install(client);
    assert_eq!(read(&backup).unwrap(), "a = 1\n");
    let changed = read(&file).unwrap().replace("/opt/bin", "/old");
    std::fs::write(&file, format!("b = 1\n{changed}")).unwrap();
    home.install(client);
    assert_eq!(read(&backup).unwrap(), "a = 1\n", "replaced by a later state");
    home.uninstall(client);
    assert!(backup.exists(), "it holds what the file no longer is");
}

#[test]
fn without_changes_by_others_no_backup_stays() {
    let (home, client) = (Home::new(), named("codex"));
    let file = home.file(client);
    std::fs::write(&file, "a = 1").unwrap();
    home.install(client);
    home.uninstall(client);
    assert_eq!(read(&file).unwrap(), "a = 1");
    assert_eq!(file.parent().unwrap().read_dir().unwrap().count(), 1);
}

#[test]
fn without_the_backup_only_the_entry_goes() {
    let (home, client) = (Home::new(), named("cursor"));
    let file = home.file(client);
    let backup = file.with_file_name("mcp.json.cellbridge.bak");
    for other in [None, Some("{\"other\": 1}")] {
        std::fs::write(&file, "{ \"a\": 1 }").unwrap();
        home.install(client);
        match other {
            None => std::fs::remove_file(&backup).unwrap(),
            Some(text) => std::fs::write(&backup, text).unwrap(),
        }
        home.uninstall(client);
        assert_eq!(read(&file).unwrap(), "{\n  \"a\": 1\n}");
    }
}

#[test]
fn changes_by_others_stay_and_only_the_entry_goes() {
    let (home, client) = (Home::new(), named("vscode"));
    let file = home.file(client);
    std::fs::write(&file, "{\n  // mine\n}\n").unwrap();
    home.install(client);
    let changed =
        read(&file).unwrap().replace("\"servers\": {", "\"servers\": {\n    \"other\": {}, // new\n");
    std::fs::write(&file, changed).unwrap();
    home.uninstall(client);
    let text = read(&file).unwrap();
    assert!(text.contains("// mine") && text.contains("\"other\": {} // new"), "{text}");
    assert!(!text.contains("cellbridge"), "{text}");
}

#[test]
fn what_others_rewrote_without_the_entry_loses_what_we_created() {
    for client in CLIENTS.iter().filter(|client| client.format == Format::Json) {
        let home = Home::new();
        let file = home.file(client);
        std::fs::write(&file, "{ \"a\": 1 }").unwrap();
        home.install(client);
        // As a client that rewrites its whole configuration.
        let value: serde_json::Value = serde_json::from_str(&read(&file).unwrap()).unwrap();
        std::fs::write(&file, format!("{value:#}")).unwrap();
        home.uninstall(client);
        assert_eq!(read(&file).unwrap(), "{\n  \"a\": 1\n}", "{}", client.id);
    }
}

#[test]
fn without_a_ledger_only_the_entry_goes() {
    let (home, client) = (Home::new(), named("cursor"));
    let file = home.file(client);
    std::fs::write(&file, "{}").unwrap();
    home.install(client);
    let empty = Ledger::default();
    let change = uninstall(client, &home.machine, Scope::User, &empty).unwrap();
    assert_eq!(change.after.unwrap(), "{}");
}

#[test]
fn a_file_that_changed_after_it_was_read_is_not_overwritten() {
    let (home, client) = (Home::new(), named("cursor"));
    let file = home.file(client);
    std::fs::write(&file, "{}").unwrap();
    let mut change = home.change(client, Scope::User).unwrap();
    std::fs::write(&file, "{\"new\": 1}").unwrap();
    let error = change.apply(&mut home.ledger()).unwrap_err().to_string();
    assert!(error.contains("another program has changed it"), "{error}");
    assert_eq!(read(&file).unwrap(), "{\"new\": 1}");
}

#[test]
fn a_variable_that_moves_a_client_moves_its_file() {
    let (mut home, client) = (Home::new(), named("codex"));
    let folder = home.path().join("codex");
    home.machine.variables.insert("CODEX_HOME".to_owned(), folder.clone().into());
    home.install(client);
    assert!(folder.join("config.toml").exists());
    assert_eq!(client.detected(&home.machine), Some(folder));
}

#[test]
fn the_first_of_several_files_that_exists_is_used() {
    let (home, client) = (Home::new(), named("opencode"));
    let second = home.machine.home.join(".config/opencode/opencode.jsonc");
    std::fs::create_dir_all(second.parent().unwrap()).unwrap();
    std::fs::write(&second, "{}").unwrap();
    assert_eq!(client.file(&home.machine, Scope::User), Some(second));
}

#[test]
fn what_was_installed_in_an_earlier_file_is_not_taken_from_a_later_one() {
    let (home, client) = (Home::new(), named("cursor"));
    home.install(client);
    // The person starts from an empty file.
    let file = home.file(client);
    std::fs::write(&file, "{}").unwrap();
    home.install(client);
    home.uninstall(client);
    assert_eq!(read(&file).unwrap(), "{}");
}

#[test]
fn nothing_of_the_other_way_to_reach_a_server_stays() {
    for client in CLIENTS.iter().filter(|client| client.http.is_some()) {
        let home = Home::new();
        let start = Start::Url("http://127.0.0.1:4040/mcp".to_owned());
        let running = ServerEntry { start, secret_variables: Vec::new() };
        let mut change = install(client, &home.machine, Scope::User, &running, &home.ledger()).unwrap();
        change.apply(&mut home.ledger()).unwrap();
        let file = home.file(client);
        let once = read(&file).unwrap();
        // A comment by the person: the entry is updated, not replaced.
        let comment = if client.format == Format::Json { "// mine\n" } else { "# mine\n" };
        std::fs::write(&file, format!("{comment}{once}")).unwrap();
        home.install(client);
        let started = read(&file).unwrap();
        assert!(started.starts_with(comment) && !started.contains("4040"), "{}: {started}", client.id);
        let mut change = install(client, &home.machine, Scope::User, &running, &home.ledger()).unwrap();
        change.apply(&mut home.ledger()).unwrap();
        let again = read(&file).unwrap();
        assert!(again.contains("4040") && !again.contains("/opt/bin"), "{}: {again}", client.id);
        assert!(!again.contains("args") && !again.contains("--read-only"), "{}: {again}", client.id);
    }
}
