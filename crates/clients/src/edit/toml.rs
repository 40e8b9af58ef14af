//! TOML. The entry is a table with a header of its own.

use serde::Serialize as _;
use serde_json::Value;
use toml_edit::ser::ValueSerializer;
use toml_edit::{DocumentMut, Item, Table};

use super::{EditObstacle, Target, at_path};
use crate::entry::Block;

pub(super) fn put(text: &str, target: Target, block: &Block) -> Result<String, EditObstacle> {
    let path = target.path();
    let form = || EditObstacle::Form(path.join("."));
    let Some(current) = at_path(whole(text)?, &path)? else {
        let fields = block.fields.iter().chain(&block.defaults);
        let lines = fields.map(|(key, value)| Some(format!("{key} = {}\n", toml(value)?)));
        let lines = lines.collect::<Option<String>>().ok_or_else(form)?;
        let gap = match text {
            "" => "",
            text if text.ends_with("\n\n") => "",
            text if text.ends_with('\n') => "\n",
            _ => "\n\n",
        };
        return Ok(format!("{text}{gap}[{}]\n{lines}", path.join(".")));
    };
    if !current.is_object() {
        return Err(EditObstacle::OtherType(path.join(".")));
    }
    let mut document = parse(text)?;
    let table = table(&mut document, &path).filter(|it| !it.is_dotted()).ok_or_else(form)?;
    block.obsolete.iter().for_each(|key| drop(table.remove(key)));
    let missing = block.defaults.iter().filter(|(key, _)| current.get(key.as_str()).is_none());
    for (key, value) in block.fields.iter().chain(missing) {
        if current.get(key) != Some(value) {
            let mut value = toml(value).ok_or_else(form)?;
            if let Some(Item::Value(old)) = table.get(key) {
                *value.decor_mut() = old.decor().clone();
            }
            table.insert(key, value.into());
        }
    }
    Ok(document.to_string())
}

pub(super) fn remove(text: &str, target: Target) -> Result<String, EditObstacle> {
    let (path, mut text) = (target.path(), text.to_owned());
    while at_path(whole(&text)?, &path)?.is_some() {
        let mut document = parse(&text)?;
        let (mut parent, mut key) = (&path[..path.len() - 1], target.name.to_owned());
        // One table at a time, so that what is removed is in one place.
        if let Some(entry) = table(&mut document, &path)
            && let Some((inner, _)) = entry.iter().find(|(_, item)| item.is_table() && !entry.is_dotted())
        {
            (parent, key) = (&path, inner.to_owned());
        }
        let mut item = Some(document.as_item_mut());
        for key in parent {
            item = item.and_then(|it| it.get_mut(key));
        }
        let parent = item.and_then(Item::as_table_like_mut);
        parent.and_then(|it| it.remove(&key)).ok_or_else(|| EditObstacle::Form(path.join(".")))?;
        text = with_comments(&text, &document.to_string());
    }
    Ok(text)
}

/// `after`, which is `before` without some lines, with those of these lines that are comments.
fn with_comments(before: &str, after: &str) -> String {
    let [before, after] = [before, after].map(|text| text.lines().collect::<Vec<_>>());
    let start = before.iter().zip(&after).take_while(|(one, other)| one == other).count();
    let (removed, rest) = (&before[start..], &after[start..]);
    let end = removed.iter().rev().zip(rest.iter().rev()).take_while(|(one, other)| one == other).count();
    let removed = removed[..removed.len() - end].iter().filter(|line| line.trim_start().starts_with('#'));
    after[..start].iter().chain(removed).chain(rest).flat_map(|line| [*line, "\n"]).collect()
}

pub(super) fn whole(text: &str) -> Result<Value, EditObstacle> {
    toml_edit::de::from_str(text).map_err(|error| EditObstacle::Unparsable(error.message().to_owned()))
}

/// The document of a text that can be read, and as which it prints: what is not edited stays.
fn parse(text: &str) -> Result<DocumentMut, EditObstacle> {
    let document = text.parse::<DocumentMut>().ok();
    let is_exact = |it: &DocumentMut| it.to_string().trim_end_matches('\n') == text.trim_end_matches('\n');
    document.filter(is_exact).ok_or_else(|| EditObstacle::Form("a file with mixed line ends".to_owned()))
}

fn table<'a>(document: &'a mut DocumentMut, path: &[&str]) -> Option<&'a mut Table> {
    path.iter().try_fold(document.as_table_mut(), |table, key| table.get_mut(key)?.as_table_mut())
}

fn toml(value: &Value) -> Option<toml_edit::Value> {
    value.serialize(ValueSerializer::new()).ok()
}
