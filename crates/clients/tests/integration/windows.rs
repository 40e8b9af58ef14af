//! Clients on Windows: where their files are, and what is written there. Seen on every system.

use clients::{CLIENTS, Client, Scope, ServerEntry, Start, Starts, System, install};

use crate::home::{Home, read};

const PROGRAM: &str = r"C:\Users\Ada Lovelace\tools\cellbridge.exe";
const ROOT: &str = r"C:\Users\Ada Lovelace\new notebooks";

fn entry() -> ServerEntry {
    let folder = Some(("--root".to_owned(), ROOT.to_owned()));
    let start =
        Start::Command { program: PROGRAM.to_owned(), arguments: vec!["--read-only".to_owned()], folder };
    ServerEntry { start, secret_variables: Vec::new() }
}

#[test]
fn paths_of_windows_are_written_and_read_back() {
    for client in CLIENTS {
        let home = Home::on(System::Windows);
        let mut change = install(client, &home.machine, Scope::User, &entry(), &home.ledger()).unwrap();
        change.apply(&mut home.ledger()).unwrap();
        let configured = client.configured(&home.machine, Scope::User).unwrap().unwrap();
        let Starts::Command { program, arguments } = configured.starts else { panic!("{}", client.id) };
        assert_eq!((program.as_str(), arguments[0].as_str()), (PROGRAM, "--read-only"), "{}", client.id);
        // Some clients know a variable for the folder.
        let folder = arguments.get(2);
        assert!(folder.is_none_or(|it| it == ROOT || it.starts_with("${")), "{}: {folder:?}", client.id);
        home.uninstall(client);
        assert_eq!(read(&client.file(&home.machine, Scope::User).unwrap()), None, "{}", client.id);
    }
}

#[test]
fn a_client_is_found_by_its_folder_and_its_program() {
    let home = Home::on(System::Windows);
    let client = Client::named("claude-desktop").unwrap();
    assert_eq!(client.detected(&home.machine), None);
    std::fs::create_dir_all(home.machine.home.join("AppData/Roaming/Claude")).unwrap();
    assert!(client.detected(&home.machine).is_some());
    let programs = home.path().join("programs");
    std::fs::create_dir(&programs).unwrap();
    std::fs::write(programs.join("codex.cmd"), "").unwrap();
    let mut home = home;
    // As Windows spells it.
    home.machine.variables.insert("Path".to_owned(), programs.clone().into());
    assert_eq!(home.machine.find_program("codex").as_deref(), Some(&*programs.join("codex.cmd")));
    assert!(Client::named("codex").unwrap().detected(&home.machine).is_some());
    assert_eq!(home.machine.find_program("claude"), None);
}
