//! What each client's configuration becomes. A client that is added to the table is tested here without a line.

use std::path::Path;

use clients::{CLIENTS, Client, Format, Scope, ServerEntry, Start, install};

use crate::home::{Home, read, started};

/// Configurations as they are found, by what is special about them. `KEY` is the client's key.
fn found(format: Format) -> &'static [(&'static str, &'static str)] {
    match format {
        Format::Json => &[
            ("an empty file", ""),
            ("an empty object", "{}\n"),
            ("an empty map", "{\n  \"KEY\": {}\n}\n"),
            (
                "comments",
                "// mine\n{\n    \"a\": 1, // first\n    \"KEY\": {\n        // others\n        \"b\": { \"command\": \"x\" } // last\n    } /* end */\n}\n",
            ),
            ("CRLF", "{\r\n\t\"KEY\": {\r\n\t\t\"b\": {}\r\n\t}\r\n}\r\n"),
            ("a byte order mark", "\u{feff}{\"a\": 1}"),
            ("trailing commas", "{\n  \"KEY\": {\n    \"b\": {\"command\": \"x\",},\n  },\n}"),
            ("one line", "{\"a\":1,\"KEY\":{\"b\":{}}}"),
        ],
        Format::Toml => &[
            ("an empty file", ""),
            ("comments", "# mine\na = 1 # first\n\n[KEY.b] # other\ncommand = \"x\"\n# end\n"),
            ("CRLF", "a = 1\r\n[KEY.b]\r\ncommand = \"x\"\r\n"),
            ("a byte order mark", "\u{feff}a = 1"),
            ("a header for the map", "[KEY]\n\n[b]\nc = 1\n"),
        ],
        Format::Yaml => &[
            ("an empty file", ""),
            (
                "comments",
                "# mine\na: 1 # first\nKEY:\n    # others\n    b:\n        cmd: x # last\n# end\nc: 2\n",
            ),
            ("CRLF", "a: 1\r\nKEY:\r\n  b:\r\n    args:\r\n    - x\r\n"),
            ("a byte order mark", "\u{feff}a: 1"),
            ("an empty map", "KEY: {} # c\na: 1\n"),
        ],
    }
}

/// Text in which nothing is invisible.
fn shown(text: &str) -> String {
    text.replace('\r', "␍").replace('\u{feff}', "⟨BOM⟩").replace('\t', "→")
}

fn section(title: &str, text: &str) -> String {
    format!("── {title}\n{}\n", shown(text))
}

fn new_text(client: &'static Client, scope: Scope, entry: &ServerEntry) -> String {
    let home = Home::new();
    let change = install(client, &home.machine, scope, entry, &home.ledger());
    change.map_or_else(|error| format!("{error}\n"), |change| change.after.unwrap_or_default())
}

fn sections(client: &'static Client) -> String {
    let folder = Path::new("/no/such/project");
    let over_http = |variables: &[&str]| ServerEntry {
        start: Start::Url("http://127.0.0.1:4040/mcp".to_owned()),
        secret_variables: variables.iter().map(|it| (*it).to_owned()).collect(),
    };
    let with_token = ServerEntry { secret_variables: vec!["JUPYTER_TOKEN".to_owned()], ..started() };
    // A page for each client shows these, and is compared: `cargo xtask docs`.
    for entry in [started(), with_token, over_http(&["CELLBRIDGE_TOKEN"])] {
        let alone = client.alone(&entry, Scope::User).unwrap_or_else(|error| format!("{error}\n"));
        assert_eq!(new_text(client, Scope::User, &entry), alone, "{}", client.id);
    }
    let mut sections = vec![
        section("in a project", &new_text(client, Scope::Project(folder), &started())),
        section("over HTTP", &new_text(client, Scope::User, &over_http(&[]))),
    ];
    // What is around the entry depends on the format alone.
    let shows_surroundings =
        CLIENTS.iter().find(|it| it.format == client.format).is_some_and(|it| it.id == client.id);
    for (title, text) in found(client.format) {
        let home = Home::new();
        let file = home.file(client);
        let text = text.replace("KEY", client.keys[0]);
        std::fs::write(&file, &text).unwrap();
        home.install(client);
        let installed = read(&file).unwrap();
        let configured = client.configured(&home.machine, Scope::User).unwrap();
        assert!(configured.is_some(), "{}: {title}: {installed}", client.id);
        home.install(client);
        assert_eq!(read(&file).unwrap(), installed, "{}: {title}: installed twice", client.id);
        home.uninstall(client);
        assert_eq!(read(&file).unwrap(), text, "{}: {title}: uninstalled", client.id);
        if shows_surroundings {
            sections.push(section(title, &installed));
        }
    }
    sections.concat()
}

#[test]
fn every_client_gets_its_entry_and_loses_it_again() {
    for client in CLIENTS {
        insta::with_settings!({ snapshot_suffix => client.id, omit_expression => true }, {
            insta::assert_snapshot!("client", sections(client));
        });
    }
}
