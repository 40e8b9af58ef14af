//! What a page consists of, and what of it a browser lacks.
//!
//! A section is a list of parts, each with an id and a digest of all that it shows. A browser tells which digests it has; what it lacks
//! is rendered and sent. So a page that was disconnected gets only what has changed, and the server keeps no queue for it.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hasher as _};

use html::Fragment;
use serde::Serialize;

/// How many bytes of parts are sent at once. At least one part is.
const MAX_BYTES: usize = 512 * 1024;

/// A part of a page, which is rendered only for a browser that lacks it.
pub(crate) struct Part<'a> {
    id: String,
    digest: String,
    content: Content<'a>,
}

enum Content<'a> {
    Rendered(Fragment),
    Later(Box<dyn Fn() -> Fragment + Send + 'a>),
}

impl<'a> Part<'a> {
    /// A small part.
    pub(crate) fn new(id: String, content: Fragment) -> Self {
        let digest = digest(&content.as_str());
        Self { id, digest, content: Content::Rendered(content) }
    }

    /// An item of a list.
    pub(crate) fn item(id: String, class: &'static str, write: impl FnOnce(&mut Fragment)) -> Self {
        let mut html = Fragment::default();
        html.raw("<li").attribute("id", &id);
        if !class.is_empty() {
            html.attribute("class", class);
        }
        write(html.raw(">"));
        html.raw("</li>");
        Self::new(id, html)
    }

    /// An item in place of others, or about them.
    pub(crate) fn none(id: &str, text: &str) -> Self {
        Self::item(id.to_owned(), "v-none", |html| _ = html.text(text))
    }

    /// A part that differs whenever what is hashed for `digest` does.
    pub(crate) fn later(id: String, digest: String, render: impl Fn() -> Fragment + Send + 'a) -> Self {
        Self { id, digest, content: Content::Later(Box::new(render)) }
    }

    fn html(&self) -> String {
        match &self.content {
            Content::Rendered(fragment) => fragment.as_str().to_owned(),
            Content::Later(render) => render().as_str().to_owned(),
        }
    }
}

/// Tells contents apart, in every process.
pub(crate) fn digest(content: &impl std::hash::Hash) -> String {
    let mut hasher = DefaultHasher::new();
    content.hash(&mut hasher);
    format!("{:016x}", hasher.finish())
}

/// The parts in one element of the page, in order.
pub(crate) struct Section<'a> {
    /// The id of that element.
    pub(crate) name: &'static str,
    pub(crate) parts: Vec<Part<'a>>,
}

/// What a browser has: for each section its parts in order, as id and digest.
pub(crate) type Known = HashMap<String, Vec<(String, String)>>;

/// What changes in a section.
#[derive(Debug, Serialize, PartialEq, Eq)]
pub(crate) struct Update {
    pub(crate) section: &'static str,
    /// The ids of all its parts in order, if that has changed. Other parts are removed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) order: Option<Vec<String>>,
    /// The parts that are new or have changed: id, digest and HTML.
    pub(crate) parts: Vec<(String, String, String)>,
}

/// What `known` lacks of the sections, as far as it is sent at once; `known` is then what the browser has. The second value says
/// whether that was all.
pub(crate) fn updates(known: &mut Known, sections: &[Section<'_>]) -> (Vec<Update>, bool) {
    let (mut updates, mut room, mut is_all) = (Vec::new(), MAX_BYTES, true);
    for section in sections {
        let before: HashMap<&str, &str> = known
            .get(section.name)
            .into_iter()
            .flatten()
            .map(|(id, digest)| (id.as_str(), digest.as_str()))
            .collect();
        let (mut parts, mut after) = (Vec::new(), Vec::with_capacity(section.parts.len()));
        for part in &section.parts {
            let had = before.get(part.id.as_str()).copied();
            if had == Some(part.digest.as_str()) {
                after.push((part.id.clone(), part.digest.clone()));
            } else if room == 0 {
                is_all = false;
                after.extend(had.map(|had| (part.id.clone(), had.to_owned())));
            } else {
                let html = part.html();
                room = room.saturating_sub(html.len());
                after.push((part.id.clone(), part.digest.clone()));
                parts.push((part.id.clone(), part.digest.clone(), html));
            }
        }
        let ids = |parts: &[(String, String)]| parts.iter().map(|(id, _)| id.clone()).collect::<Vec<_>>();
        let order = Some(ids(&after));
        let order =
            order.filter(|order| known.get(section.name).map(|parts| ids(parts)).as_ref() != Some(order));
        if order.is_some() || !parts.is_empty() {
            updates.push(Update { section: section.name, order, parts });
        }
        known.insert(section.name.to_owned(), after);
    }
    (updates, is_all)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(id: &str, text: &str) -> Part<'static> {
        let mut html = Fragment::default();
        html.text(text);
        Part::new(id.to_owned(), html)
    }

    fn section(parts: &[(&str, &str)]) -> Vec<Section<'static>> {
        vec![Section { name: "now", parts: parts.iter().map(|(id, text)| part(id, text)).collect() }]
    }

    /// What is sent: the order, and the parts as `id=html`.
    fn sent(known: &mut Known, parts: &[(&str, &str)]) -> (Option<String>, String) {
        let (updates, is_all) = updates(known, &section(parts));
        assert!(is_all && updates.len() < 2);
        let Some(update) = updates.into_iter().next() else { return (None, String::new()) };
        let parts: Vec<_> = update.parts.iter().map(|(id, _, html)| format!("{id}={html}")).collect();
        (update.order.map(|order| order.join(" ")), parts.join(" "))
    }

    #[test]
    fn only_what_changed_is_sent() {
        let mut known = Known::new();
        let order = |text: &str| Some(text.to_owned());
        assert_eq!(sent(&mut known, &[("a", "1"), ("b", "2")]), (order("a b"), "a=1 b=2".to_owned()));
        assert_eq!(sent(&mut known, &[("a", "1"), ("b", "2")]), (None, String::new()));
        assert_eq!(sent(&mut known, &[("a", "1"), ("b", "3")]), (None, "b=3".to_owned()));
        assert_eq!(sent(&mut known, &[("b", "3"), ("a", "1")]), (order("b a"), String::new()));
        assert_eq!(sent(&mut known, &[("a", "1"), ("c", "4")]), (order("a c"), "c=4".to_owned()));
        assert_eq!(sent(&mut known, &[]), (order(""), String::new()));
        assert_eq!(sent(&mut known, &[]), (None, String::new()));
    }

    #[test]
    fn what_a_browser_has_is_not_sent_again_after_a_new_connection() {
        let mut first = Known::new();
        sent(&mut first, &[("a", "1"), ("b", "2")]);
        let mut again: Known = serde_json::from_str(&serde_json::to_string(&first).unwrap()).unwrap();
        assert_eq!(sent(&mut again, &[("a", "1"), ("b", "3")]), (None, "b=3".to_owned()));
    }

    #[test]
    fn much_is_sent_in_pieces_until_all_is_there() {
        let large = "x".repeat(MAX_BYTES / 2 + 1);
        let parts = [("a", &*large), ("b", &*large), ("c", &*large)];
        let mut known = Known::new();
        let (first, is_all) = updates(&mut known, &section(&parts));
        assert!(!is_all);
        assert_eq!(first[0].order.as_deref(), Some(&["a".to_owned(), "b".to_owned()][..]));
        let (second, is_all) = updates(&mut known, &section(&parts));
        assert!(is_all);
        assert_eq!((second[0].order.as_ref().unwrap().len(), second[0].parts.len()), (3, 1));
        assert_eq!(updates(&mut known, &section(&parts)), (Vec::new(), true));
    }

    #[test]
    fn a_part_that_changes_while_there_is_no_room_stays_as_the_browser_has_it() {
        let mut known = Known::new();
        sent(&mut known, &[("a", "1"), ("b", "2")]);
        let large = "x".repeat(MAX_BYTES);
        let (first, is_all) = updates(&mut known, &section(&[("a", &large), ("b", "3")]));
        assert!(!is_all && first[0].order.is_none() && first[0].parts.len() == 1);
        let (second, is_all) = updates(&mut known, &section(&[("a", &large), ("b", "3")]));
        assert!(is_all);
        assert_eq!(&*second[0].parts[0].2, "3");
    }
}
