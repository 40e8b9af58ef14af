//! Links of the documents: the files and headings that they name must exist. Links to the outside are not followed.

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

/// Folders with documents, the root left out.
const FOLDERS: [&str; 2] = ["docs", "e2e"];
/// What becomes the site, which has nothing else.
const SITE: &str = "docs";

/// A document: where its links lead, and where links can lead in it.
struct Document {
    links: Vec<(usize, String)>,
    anchors: Vec<String>,
}

pub(super) fn check(root: &Path) -> Result<()> {
    let mut files = Vec::new();
    collect(root, false, &mut files)?;
    for folder in FOLDERS {
        collect(&root.join(folder), true, &mut files)?;
    }
    let mut documents = BTreeMap::new();
    for file in files {
        let text =
            std::fs::read_to_string(&file).with_context(|| format!("{} can't be read", file.display()))?;
        documents.insert(file.strip_prefix(root)?.to_owned(), parse(&text));
    }
    let broken = broken(&documents, &|file| root.join(file).exists());
    if !broken.is_empty() {
        bail!("broken links:\n{}", broken.join("\n"));
    }
    Ok(())
}

fn collect(folder: &Path, is_deep: bool, files: &mut Vec<PathBuf>) -> Result<()> {
    for entry in std::fs::read_dir(folder).with_context(|| format!("{} can't be read", folder.display()))? {
        let path = entry?.path();
        if path.is_dir() && is_deep {
            collect(&path, true, files)?;
        } else if path.extension().is_some_and(|extension| extension == "md") {
            files.push(path);
        }
    }
    Ok(())
}

fn parse(text: &str) -> Document {
    let mut document = Document { links: Vec::new(), anchors: Vec::new() };
    let mut heading: Option<String> = None;
    for (event, range) in Parser::new_ext(text, Options::ENABLE_TABLES).into_offset_iter() {
        match event {
            Event::Start(Tag::Heading { .. }) => heading = Some(String::new()),
            Event::End(TagEnd::Heading(_)) => {
                let anchor = anchor(&heading.take().unwrap_or_default());
                document.anchors.push(unique(anchor, &document.anchors));
            }
            Event::Text(part) | Event::Code(part) => {
                if let Some(heading) = &mut heading {
                    heading.push_str(&part);
                }
            }
            Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => {
                let line = text[..range.start].matches('\n').count() + 1;
                document.links.push((line, dest_url.into_string()));
            }
            _ => {}
        }
    }
    document
}

/// A heading's anchor as GitHub makes it.
fn anchor(heading: &str) -> String {
    let kept = heading.trim().to_lowercase();
    kept.chars()
        .filter(|it| it.is_alphanumeric() || " -_".contains(*it))
        .map(|it| if it == ' ' { '-' } else { it })
        .collect()
}

/// Equal headings are numbered after the first.
fn unique(anchor: String, earlier: &[String]) -> String {
    let numbered = (1..).map(|number| format!("{anchor}-{number}"));
    std::iter::once(anchor.clone()).chain(numbered).find(|it| !earlier.contains(it)).unwrap_or(anchor)
}

fn broken(documents: &BTreeMap<PathBuf, Document>, exists: &dyn Fn(&Path) -> bool) -> Vec<String> {
    let mut broken = Vec::new();
    for (file, document) in documents {
        for (line, link) in document.links.iter().filter(|(_, link)| !is_outside(link)) {
            if let Some(reason) = reason(documents, exists, file, link) {
                broken.push(format!("{}:{line}: {link}: {reason}", file.display()));
            }
        }
    }
    broken
}

/// Whether a link has a scheme, such as `https:`.
fn is_outside(link: &str) -> bool {
    link.split_once(':').is_some_and(|(scheme, _)| scheme.bytes().all(|it| it.is_ascii_alphabetic()))
}

/// What is wrong with a link from `file`.
fn reason(
    documents: &BTreeMap<PathBuf, Document>,
    exists: &dyn Fn(&Path) -> bool,
    file: &Path,
    link: &str,
) -> Option<&'static str> {
    let (path, anchor) = link.split_once('#').map_or((link, None), |(path, anchor)| (path, Some(anchor)));
    let target = if path.is_empty() { file.to_owned() } else { joined(file.parent().unwrap_or(file), path) };
    if !exists(&target) {
        return Some("no such file");
    }
    if file.starts_with(SITE) && !target.starts_with(SITE) {
        return Some("leads out of the site");
    }
    let anchors = &documents.get(&target)?.anchors;
    let is_missing = anchor.is_some_and(|anchor| !anchors.iter().any(|other| other == anchor));
    is_missing.then_some("no such heading")
}

/// `folder/path` without `.` and `..`.
fn joined(folder: &Path, path: &str) -> PathBuf {
    let mut joined = folder.to_owned();
    for part in Path::new(path).components() {
        match part {
            Component::ParentDir => {
                joined.pop();
            }
            Component::CurDir => {}
            other => joined.push(other),
        }
    }
    joined
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn anchors_are_those_of_github() {
        let document = parse("# `read_cell`: what, (why)?\n## Same\n## Same\nText\n====\n");
        assert_eq!(document.anchors, ["read_cell-what-why", "same", "same-1", "text"]);
    }

    #[test]
    fn links_in_code_do_not_count_and_images_do() {
        let links: Vec<_> = parse("`[a](b)` [c](d)\n\n```\n[e](f)\n```\n![g](h)\n").links;
        assert_eq!(links, [(1, "d".to_owned()), (6, "h".to_owned())]);
    }

    #[test]
    fn broken_links_are_named_with_their_line() {
        let page =
            "[ok](b.md#two) [ok](https://x.y/z#no)\n[a](gone.md)\n[b](b.md#no) [c](#no)\n[d](../README.md)\n";
        let documents = [("docs/a.md", page), ("docs/b.md", "# Two\n"), ("README.md", "[a](docs/a.md)")];
        let documents =
            documents.into_iter().map(|(file, text)| (PathBuf::from(file), parse(text))).collect();
        let exists = |file: &Path| !file.ends_with("gone.md");
        assert_eq!(
            broken(&documents, &exists),
            [
                "docs/a.md:2: gone.md: no such file",
                "docs/a.md:3: b.md#no: no such heading",
                "docs/a.md:3: #no: no such heading",
                "docs/a.md:4: ../README.md: leads out of the site",
            ]
        );
    }
}
