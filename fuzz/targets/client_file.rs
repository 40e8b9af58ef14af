//! Adds the entry to arbitrary configurations of clients, and removes it.
#![no_main]
#![expect(clippy::expect_used, reason = "a fuzz target fails where it panics")]

use std::sync::LazyLock;

use clients::{
    CLIENTS, Client, Format, Ledger, Machine, Scope, ServerEntry, Start, System, install, uninstall,
};
use libfuzzer_sys::fuzz_target;

static HOME: LazyLock<tempfile::TempDir> =
    LazyLock::new(|| tempfile::tempdir().expect("a folder for the files"));

fuzz_target!(|data: &[u8]| {
    let machine = Machine {
        system: System::Linux,
        home: HOME.path().to_owned(),
        variables: std::collections::BTreeMap::default(),
    };
    for format in [Format::Json, Format::Toml, Format::Yaml] {
        let Some(client) = CLIENTS.iter().find(|it| it.format == format) else { continue };
        edit(client, &machine, data);
    }
});

fn edit(client: &'static Client, machine: &Machine, data: &[u8]) {
    let Some(file) = client.file(machine, Scope::User) else { return };
    let write = |text: &[u8]| {
        let folder = file.parent().expect("a file is in a folder");
        std::fs::create_dir_all(folder)
            .and_then(|()| std::fs::write(&file, text))
            .expect("the folder can be written");
    };
    write(data);
    let start = Start::Command {
        program: "/bin/cellbridge".to_owned(),
        arguments: vec!["x\"'".to_owned()],
        folder: None,
    };
    let entry = ServerEntry { start, secret_variables: Vec::new() };
    let ledger = Ledger::default();
    let Ok(installed) = install(client, machine, Scope::User, &entry, &ledger) else { return };
    let _ = installed.shown();
    write(installed.after.unwrap_or_default().as_bytes());
    assert!(client.configured(machine, Scope::User).is_ok_and(|it| it.is_some()));
    let again = install(client, machine, Scope::User, &entry, &ledger).expect("it was possible before");
    assert!(!again.is_needed());
    if let Ok(removed) = uninstall(client, machine, Scope::User, &ledger) {
        write(removed.after.unwrap_or_default().as_bytes());
        assert_eq!(client.configured(machine, Scope::User).expect("it can be read"), None);
    }
}
