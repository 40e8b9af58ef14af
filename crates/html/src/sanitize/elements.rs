//! Which elements of a notebook's HTML are written.

/// An element that is written.
#[derive(Debug, Clone, Copy)]
pub(super) struct Element {
    pub(super) name: &'static str,
    /// The element that is written in its place.
    pub(super) written: &'static str,
    pub(super) kind: Kind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// It ends an open paragraph or heading.
    Block,
    /// A paragraph or a heading: a block ends it.
    Paragraph,
    Inline,
    Item,
    Table,
    /// A caption, columns, or a group of rows: a child of its table.
    TablePart,
    Column,
    Row,
    Cell,
}

/// An element that is not written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Dropped {
    /// Without content.
    Void,
    WithContent,
    /// Its content is an image.
    Drawing,
}

/// The elements that are written, in alphabetic order for each kind.
const ELEMENTS: [(Kind, &str); 9] = [
    (Kind::Block, include_str!("elements/block.txt")),
    (Kind::Paragraph, "h1 h2 h3 h4 h5 h6 p"),
    (Kind::Inline, include_str!("elements/inline.txt")),
    (Kind::Item, "dd dt li"),
    (Kind::Table, "table"),
    (Kind::TablePart, "caption colgroup tbody tfoot thead"),
    (Kind::Column, "col"),
    (Kind::Row, "tr"),
    (Kind::Cell, "td th"),
];

/// The element of this name, if it is written. Of others, only the content is.
pub(super) fn element(name: &str) -> Option<Element> {
    let (kind, name) = ELEMENTS.into_iter().find_map(|(kind, names)| {
        names.split_whitespace().find(|known| *known == name).map(|name| (kind, name))
    })?;
    let written = match name {
        // Landmarks are those of our page.
        "address" | "article" | "aside" | "center" | "footer" | "header" | "main" | "nav" | "section" => {
            "div"
        }
        "big" | "font" => "span",
        "strike" => "s",
        "tt" => "code",
        other => other,
    };
    Some(Element { name, written, kind })
}

pub(super) fn dropped(name: &str) -> Option<Dropped> {
    match name {
        "base" | "basefont" | "bgsound" | "embed" | "frame" | "input" | "keygen" | "link" | "meta"
        | "param" | "track" | "area" => Some(Dropped::Void),
        "applet" | "button" | "canvas" | "datalist" | "dialog" | "frameset" | "iframe" | "map"
        | "noembed" | "noframes" | "noscript" | "object" | "plaintext" | "portal" | "script" | "select"
        | "style" | "template" | "textarea" | "title" | "xmp" => Some(Dropped::WithContent),
        "svg" => Some(Dropped::Drawing),
        _ => None,
    }
}
