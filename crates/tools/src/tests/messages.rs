//! Every tool and parameter that a message names exists. Messages are the string literals of all crates.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::str::FromStr as _;

use proc_macro2::{Delimiter, TokenStream, TokenTree};
use serde_json::Value;

use crate::list::list;
use calls::arguments::older_names;
use calls::tool::Capabilities;

/// Members of JSON bodies and files, a word of HTML, and names of `IPython`.
const OTHERS: [&str; 12] = [
    "_blank",
    "_meta",
    "ast_node_interactivity",
    "client_id",
    "client_secret",
    "code_sandbox_url",
    "document_url",
    "get_ipython",
    "kernel_info_reply",
    "nbformat_minor",
    "run_line_magic",
    "tool_name",
];

#[test]
fn messages_name_existing_tools_and_parameters() {
    let tools = parameters_by_tool();
    let mut known: BTreeSet<String> = tools.keys().chain(tools.values().flatten()).cloned().collect();
    known.extend(older_names::all().chain(OTHERS).map(str::to_owned));
    let mut wrong = Vec::new();
    for (file, message) in messages() {
        let is_number = |name: &str| name.starts_with(|c: char| c.is_ascii_digit());
        let unknown = names(&message).filter(|name| !known.contains(*name) && !is_number(name));
        let unknown = unknown.map(str::to_owned);
        let unknown = unknown.chain(unknown_parameters(&message, &tools));
        wrong.extend(unknown.map(|name| format!("{}: {name} in {message:?}", file.display())));
    }
    assert!(wrong.is_empty(), "no such tool or parameter:\n{}", wrong.join("\n"));
}

/// People search this page for the message that they got. `…` stands for what is filled in at run time; at the end of a
/// line, also for the rest of a message.
#[test]
fn the_page_about_troubleshooting_quotes_messages_in_full() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/troubleshooting.md");
    let page = std::fs::read_to_string(page).unwrap();
    let messages: Vec<String> = messages().into_iter().map(|(_, message)| words(&message)).collect();
    let blocks: Vec<&str> =
        page.split("```text\n").skip(1).map(|rest| rest.split_once("\n```").unwrap().0).collect();
    let lines: Vec<&str> = blocks.iter().flat_map(|block| block.lines()).collect();
    assert!(lines.len() > 50, "only {} messages are quoted", lines.len());
    let is_real = |line: &&str| messages.iter().any(|message| quotes(&words(line), message));
    let unknown: Vec<&str> = lines.into_iter().filter(|line| !is_real(line)).collect();
    assert!(unknown.is_empty(), "no such message:\n{}", unknown.join("\n"));
}

/// Except for names of tools and parameters.
#[test]
fn causes_begin_with_a_capital_letter() {
    let tools = parameters_by_tool();
    let is_name = |word: &str| tools.contains_key(word) || tools.values().any(|of| of.contains(word));
    let mut files = Vec::new();
    for folder in std::fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap()).unwrap() {
        collect_files(&folder.unwrap().path().join("src"), &mut files);
    }
    let (mut count, mut wrong) = (0, Vec::new());
    for file in files {
        let code = std::fs::read_to_string(&file).unwrap();
        for (at, _) in code.match_indices("ErrorKind::").filter(|(at, _)| !code[..*at].ends_with("io::")) {
            let Some((_, argument)) = code[at..].split_once(',') else { continue };
            let argument = argument.trim_start().trim_start_matches('&').trim_start_matches("format!(");
            let Some(cause) = argument.trim_start().strip_prefix('"') else { continue };
            count += 1;
            let word = cause.split([' ', ':', '"']).next().unwrap_or_default();
            if word.starts_with(|first: char| first.is_ascii_lowercase()) && !is_name(word) {
                wrong.push(format!("{}: {word} …", file.display()));
            }
        }
    }
    assert!(count > 150, "only {count} causes were found");
    assert!(wrong.is_empty(), "lower case:\n{}", wrong.join("\n"));
}

#[test]
fn a_quote_has_all_of_a_message_but_what_is_filled_in() {
    let message = words(&plain("There is \\n  no {name:?} in {}."));
    for quote in ["There is no … in ….", "There is no …"] {
        assert!(quotes(quote, &message), "{quote}");
    }
    for other in ["There is no", "is no … in ….", "There is no … in", "There was no … in ….", "… in …."]
    {
        assert!(!quotes(other, &message), "{other}");
    }
}

/// Whether `…` in a quote, and nothing else, stands for other text of a message.
fn quotes(quote: &str, message: &str) -> bool {
    let parts: Vec<&str> = quote.split('…').map(str::trim).collect();
    let (Some(first), Some(last)) = (parts.first(), parts.last()) else { return false };
    let mut rest = message;
    for part in &parts {
        let Some(at) = rest.find(part) else { return false };
        rest = &rest[at + part.len()..];
    }
    // A quote of next to nothing would be in every message.
    parts.iter().map(|part| part.len()).sum::<usize>() >= 10
        && message.starts_with(first)
        && message.ends_with(last)
}

/// A text with single spaces.
fn words(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The parameters of each tool, those of the Colab tab included.
fn parameters_by_tool() -> BTreeMap<String, BTreeSet<String>> {
    let own =
        list(Capabilities::ALL).map(|(_, listed)| serde_json::from_str(listed.definition.get()).unwrap());
    let colab: Vec<Value> = serde_json::from_str(include_str!("../../../colab/src/tools.json")).unwrap();
    let mut parameters: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for tool in own.chain(colab) {
        let properties = tool["inputSchema"]["properties"].as_object().cloned().unwrap_or_default();
        // The tab has a `delete_cell` as well.
        let of_tool = parameters.entry(tool["name"].as_str().unwrap().to_owned()).or_default();
        of_tool.extend(properties.into_iter().map(|(name, _)| name));
    }
    parameters
}

/// Words with an underscore.
fn names(message: &str) -> impl Iterator<Item = &str> {
    let is_of_word = |c: char| c.is_ascii_alphanumeric() || "_@./-:".contains(c);
    message.split(move |c| !is_of_word(c)).map(|word| word.trim_matches(['.', ':', '-', '/'])).filter(
        |word| {
            word.contains('_')
                && word.len() > 1
                && word.bytes().all(|b| b.is_ascii_lowercase() || b"_0123456789".contains(&b))
        },
    )
}

/// The parameters in `tool(parameter=…, …)` that the tool does not have.
fn unknown_parameters(message: &str, tools: &BTreeMap<String, BTreeSet<String>>) -> Vec<String> {
    let mut unknown = Vec::new();
    for (tool, parameters) in tools {
        let open = format!("{tool}(");
        for (start, _) in message.match_indices(&open) {
            let call = &message[start + open.len()..];
            let call = call.split(')').next().unwrap_or_default();
            let given = call.split(',').filter_map(|argument| Some(argument.split_once('=')?.0.trim()));
            unknown.extend(
                given.filter(|name| !parameters.contains(*name)).map(|name| format!("{tool}({name}=)")),
            );
        }
    }
    unknown
}

/// The string literals with more than one word in the code of all crates, test code left out; a space stands for what is filled in.
fn messages() -> Vec<(PathBuf, String)> {
    literals().into_iter().map(|(file, literal)| (file, plain(&literal))).collect()
}

/// The same as they are in the code.
pub(super) fn literals() -> Vec<(PathBuf, String)> {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut files = Vec::new();
    for folder in std::fs::read_dir(crates).unwrap() {
        let folder = folder.unwrap().path();
        // The demo's cells are code of their own.
        if !folder.ends_with("demo") {
            collect_files(&folder.join("src"), &mut files);
        }
    }
    let mut messages = Vec::new();
    for file in files {
        let code = TokenStream::from_str(&std::fs::read_to_string(&file).unwrap()).unwrap();
        collect_literals(code, &mut |literal| messages.push((file.clone(), literal)));
    }
    assert!(messages.len() > 500, "only {} messages were found", messages.len());
    messages
}

fn collect_files(folder: &Path, files: &mut Vec<PathBuf>) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    for path in entries.map(|entry| entry.unwrap().path()) {
        // Magics have names like tools, and so have the functions that the walker knows.
        let is_left_out = ["tests", "testing", "magics", "walker"]
            .iter()
            .any(|name| path.file_stem() == Some(name.as_ref()));
        if path.is_dir() && !is_left_out {
            collect_files(&path, files);
        } else if path.extension().is_some_and(|extension| extension == "rs") && !is_left_out {
            files.push(path);
        }
    }
}

fn collect_literals(code: TokenStream, take: &mut impl FnMut(String)) {
    let mut is_attribute = false;
    let mut skips_item = false;
    for tree in code {
        match tree {
            TokenTree::Punct(mark) => {
                is_attribute = mark.as_char() == '#' || (is_attribute && mark.as_char() == '!');
                skips_item &= mark.as_char() != ';';
            }
            // Doc comments are attributes as well; those of errors are messages.
            TokenTree::Group(group) if is_attribute && group.delimiter() == Delimiter::Bracket => {
                let attribute = group.stream().to_string().replace(' ', "");
                skips_item |= attribute.starts_with("cfg(test)");
                if attribute.starts_with("error(") && !skips_item {
                    collect_literals(group.stream(), take);
                }
                is_attribute = false;
            }
            TokenTree::Group(group) => {
                if !skips_item {
                    collect_literals(group.stream(), take);
                }
                skips_item &= group.delimiter() != Delimiter::Brace;
            }
            TokenTree::Literal(literal) => {
                let text = literal.to_string();
                // A literal with imports is a program.
                let is_message = |text: &&str| text.contains(' ') && !text.contains("import ");
                let text = text.strip_prefix('"').and_then(|text| text.strip_suffix('"'));
                if let Some(text) = text.filter(is_message) {
                    take(text.to_owned());
                }
            }
            TokenTree::Ident(_) => {}
        }
    }
}

/// The text of a literal without escapes and without what is filled in at run time.
fn plain(literal: &str) -> String {
    filled(literal, ' ')
}

/// The text of a literal without escapes, with this in place of what is filled in at run time.
pub(super) fn filled(literal: &str, placeholder: char) -> String {
    let mut text = String::new();
    let mut characters = literal.chars().peekable();
    while let Some(character) = characters.next() {
        match character {
            '\\' => match characters.next() {
                Some('\n') => while characters.next_if(|next| next.is_whitespace()).is_some() {},
                Some('n') => text.push('\n'),
                other => text.extend(other),
            },
            '{' if characters.next_if_eq(&'{').is_some() => text.push('{'),
            '{' => {
                characters.find(|next| *next == '}');
                text.push(placeholder);
            }
            _ => text.push(character),
        }
    }
    text
}
