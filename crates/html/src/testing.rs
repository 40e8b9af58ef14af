//! Reads HTML as a browser does, and checks that nothing in it can run, load or escape. Independent of what writes it.

use html5ever::driver::ParseOpts;
use html5ever::serialize::SerializeOpts;
use html5ever::tendril::TendrilSink as _;
use html5ever::tree_builder::TreeBuilderOpts;
use html5ever::{parse_document, serialize};
use markup5ever_rcdom::{Handle, NodeData, RcDom, SerializableHandle};
use notebook::markup::{Token, Tokens};

/// Attacks, by kind; each tries to run `alert`, to load something, to leave its element, or to look like the page.
pub(crate) const CORPUS: &str = include_str!("testing/corpus.txt");

pub(crate) fn attacks() -> impl Iterator<Item = String> {
    CORPUS.lines().filter(|line| !line.is_empty() && !line.starts_with("# ")).map(|line| {
        line.replace("\\n", "\n").replace("\\0", "\0").replace("\\t", "\t").replace("\\u0001", "\u{1}")
    })
}

/// An element as a browser has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Node {
    pub(crate) name: String,
    pub(crate) attributes: Vec<(String, String)>,
    pub(crate) text: String,
    pub(crate) children: Vec<Node>,
}

impl Node {
    pub(crate) fn attribute(&self, name: &str) -> Option<&str> {
        self.attributes.iter().find(|(it, _)| it == name).map(|(_, value)| &**value)
    }

    pub(crate) fn walk<'a>(&'a self, visit: &mut impl FnMut(&'a Node)) {
        visit(self);
        self.children.iter().for_each(|child| child.walk(visit));
    }

    pub(crate) fn all(&self, name: &str) -> Vec<&Node> {
        let mut found = Vec::new();
        self.walk(&mut |node| found.extend((node.name == name).then_some(node)));
        found
    }
}

fn dom(html: &str, is_scripting: bool) -> RcDom {
    let tree_builder = TreeBuilderOpts { scripting_enabled: is_scripting, ..TreeBuilderOpts::default() };
    let options = ParseOpts { tree_builder, ..ParseOpts::default() };
    parse_document(RcDom::default(), options).one(html)
}

fn node(handle: &Handle) -> Node {
    let (mut name, mut attributes) = (String::new(), Vec::new());
    if let NodeData::Element { name: own, attrs, .. } = &handle.data {
        name = own.local.to_string();
        attributes =
            attrs.borrow().iter().map(|it| (it.name.local.to_string(), it.value.to_string())).collect();
    }
    let (mut text, mut children) = (String::new(), Vec::new());
    for child in handle.children.borrow().iter() {
        match &child.data {
            NodeData::Text { contents } => text.push_str(&contents.borrow()),
            NodeData::Element { .. } => children.push(node(child)),
            NodeData::Comment { .. } => panic!("a comment"),
            _ => {}
        }
    }
    Node { name, attributes, text, children }
}

/// The tree of a whole document.
pub(crate) fn parsed(html: &str) -> Node {
    node(&dom(html, true).document)
}

/// Checks a fragment: with and without scripting, it stays in its element, has the tree that was written, and keeps it when a browser
/// writes and reads it again.
pub(crate) fn assert_safe(fragment: &str, source: &str) {
    let page =
        format!("<!doctype html><body><div id=\"cell-0\">{fragment}</div><p id=\"cell-1\"></p></body>");
    for is_scripting in [true, false] {
        let dom = dom(&page, is_scripting);
        let document = node(&dom.document);
        let body = document.all("body")[0];
        let ids: Vec<_> = body.children.iter().map(|child| child.attribute("id")).collect();
        assert_eq!(ids, [Some("cell-0"), Some("cell-1")], "left its element: {source:?}\n{fragment}");
        assert!(body.text.is_empty() && body.children[1].text.is_empty(), "{source:?}\n{fragment}");
        let container = &body.children[0];
        container.walk(&mut |node| check(node, source));
        let mut names = Vec::new();
        container.children.iter().for_each(|child| child.walk(&mut |node| names.push(node.name.clone())));
        assert_eq!(names, written_elements(fragment), "another tree: {source:?}\n{fragment}");
        let mut again = Vec::new();
        serialize(&mut again, &SerializableHandle::from(dom.document.clone()), SerializeOpts::default())
            .unwrap();
        assert_eq!(
            parsed(&String::from_utf8(again).unwrap()).all("div").len(),
            document.all("div").len(),
            "{source:?}"
        );
    }
}

/// The names of the start tags.
fn written_elements(html: &str) -> Vec<String> {
    let tokens = Tokens::of(html);
    tokens
        .filter_map(|token| match token {
            Token::StartTag(tag) => Some(String::from_utf8_lossy(&tag.name).into_owned()),
            _ => None,
        })
        .collect()
}

const ELEMENTS: &str = "a abbr annotation article audio b bdi bdo blockquote body br caption cite code col colgroup dd del \
    details dfn div dl dt em figcaption figure h1 h2 h3 h4 h5 h6 head header hr html i img ins kbd li main mark math merror \
    meta meter mfrac mi mmultiscripts mn mo mover mpadded mphantom mprescripts mroot mrow ms mspace msqrt mstyle msub msubsup \
    msup mtable mtd mtext mtr munder munderover nav ol p pre progress q s samp small source span strong style sub summary sup \
    table tbody td tfoot th thead time title tr u ul var video wbr";

/// Checks one element.
pub(crate) fn check(node: &Node, source: &str) {
    let name = &*node.name;
    let is_known = name.is_empty() || ELEMENTS.split_whitespace().any(|known| known == name);
    assert!(is_known, "the element {name}: {source:?}");
    for (attribute, value) in &node.attributes {
        let value_is_ok = match &**attribute {
            "href" => is_address(value) && name == "a",
            "src" => match name {
                "img" => value.starts_with("data:image/"),
                "audio" | "video" | "source" => {
                    value.starts_with("data:audio/") || value.starts_with("data:video/")
                }
                _ => false,
            },
            "style" => {
                let value = value.to_ascii_lowercase();
                ![
                    "url",
                    "expression",
                    "position",
                    "\\",
                    "@",
                    "}",
                    "/*",
                    "var(",
                    "behavior",
                    "-moz",
                    "transform",
                    "z-index",
                    "margin",
                ]
                .iter()
                .any(|bad| value.contains(bad))
            }
            "class" => value.split(' ').all(|class| class.starts_with("cb-") || class.starts_with("menv-")),
            "id" => value.starts_with("content-") || value.starts_with("cell-"),
            "alt" | "aria-label" | "colspan" | "controls" | "dir" | "hidden" | "max" | "min" | "low"
            | "high" | "optimum" | "open" | "reversed" | "rowspan" | "scope" | "span" | "start" | "title"
            | "type" | "value" => true,
            "role" => value == "group",
            "tabindex" => value == "0",
            "rel" => value == "noopener noreferrer",
            "target" => value == "_blank",
            "lang" | "charset" | "name" | "content" | "http-equiv" => matches!(name, "html" | "meta"),
            _ => name.starts_with('m') && !attribute.starts_with("on") && attribute != "href",
        };
        assert!(value_is_ok, "{name} has {attribute}={value:?}: {source:?}");
    }
}

/// Whether following it cannot run a script.
fn is_address(value: &str) -> bool {
    let plain: String = value.chars().filter(|c| *c > ' ').collect::<String>().to_ascii_lowercase();
    let scheme_ends = plain.find(':').filter(|end| !plain[..*end].contains(['/', '?', '#']));
    match scheme_ends {
        Some(end) => {
            let is_scheme =
                plain[..end].bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte));
            !is_scheme || matches!(&plain[..end], "http" | "https" | "mailto")
        }
        None => true,
    }
}
