//! Markdown as Jupyter shows it: with tables, formulas, attachments, and HTML as far as it is allowed.

mod environments;

use notebook::{IMAGE_TYPES, Json};
use pulldown_cmark::{CodeBlockKind, CowStr, Event, Options, Parser, Tag, TagEnd, html as writer};

use crate::fragment::Fragment;
use crate::sanitize::{self, SLOT, Slot};
use crate::{Ids, highlight, maths, picture};

const EXTENSIONS: Options = Options::ENABLE_TABLES
    .union(Options::ENABLE_STRIKETHROUGH)
    .union(Options::ENABLE_TASKLISTS)
    .union(Options::ENABLE_FOOTNOTES)
    .union(Options::ENABLE_MATH);

/// Writes Markdown. Its HTML goes through the sanitiser as a whole, because a tag may open in one line and close in another; formulas
/// and code are finished fragments, for which slots stand in it.
pub(crate) fn write(source: &str, attachments: Option<&Json>, ids: &Ids, html: &mut Fragment) {
    let source = environments::delimited(source);
    let mut events: Vec<Event<'_>> = Parser::new_ext(&source, EXTENSIONS).collect();
    let mut slots = Slots::default();
    let mut code: Option<(String, String)> = None;
    let (mut heading, mut title) = (None, String::new());
    for at in 0..events.len() {
        let event = std::mem::replace(&mut events[at], Event::Text(CowStr::Borrowed("")));
        if let (Event::Text(text) | Event::Code(text), Some(_)) = (&event, heading) {
            title.push_str(text);
        }
        events[at] = match event {
            Event::InlineMath(latex) => slots.slot(false, |html| maths::formula(&latex, false, html)),
            Event::DisplayMath(latex) => slots.slot(false, |html| maths::formula(&latex, true, html)),
            Event::Start(Tag::CodeBlock(kind)) => {
                code = Some((language(&kind), String::new()));
                continue;
            }
            Event::Text(text) if code.is_some() => {
                if let Some((_, code)) = &mut code {
                    code.push_str(&text);
                }
                continue;
            }
            Event::End(TagEnd::CodeBlock) => {
                let (language, text) = code.take().unwrap_or_default();
                slots.slot(true, |html| code_block(&text, &language, html))
            }
            Event::Start(Tag::Heading { level, id, classes, attrs }) => {
                heading = Some(at);
                Event::Start(Tag::Heading { level, id, classes, attrs })
            }
            Event::End(TagEnd::Heading(level)) => {
                let title = std::mem::take(&mut title);
                if let Some(Event::Start(Tag::Heading { id, .. })) =
                    heading.take().map(|at: usize| &mut events[at])
                {
                    *id = Some(title.trim().to_owned().into());
                }
                Event::End(TagEnd::Heading(level))
            }
            Event::Start(Tag::Image { link_type, dest_url, title, id }) => {
                let dest_url = attached(&dest_url, attachments).map_or(dest_url, CowStr::from);
                Event::Start(Tag::Image { link_type, dest_url, title, id })
            }
            Event::TaskListMarker(is_done) => Event::Text(if is_done { "☑ " } else { "☐ " }.into()),
            other => other,
        };
    }
    let mut unsafe_html = String::with_capacity(source.len() * 3 / 2);
    writer::push_html(&mut unsafe_html, events.into_iter());
    html.append(sanitize::markdown(&unsafe_html, ids, slots.0));
}

#[derive(Default)]
struct Slots(Vec<Slot>);

impl Slots {
    /// The tag that stands for what `write` writes.
    fn slot<'a>(&mut self, is_block: bool, write: impl FnOnce(&mut Fragment)) -> Event<'a> {
        let mut fragment = Fragment::default();
        write(&mut fragment);
        self.0.push(Slot { fragment: Some(fragment), is_block });
        let tag = format!("<{SLOT} n=\"{}\">", self.0.len() - 1).into();
        if is_block { Event::Html(tag) } else { Event::InlineHtml(tag) }
    }
}

fn language(kind: &CodeBlockKind<'_>) -> String {
    match kind {
        CodeBlockKind::Fenced(info) => info.split([' ', ',']).next().unwrap_or_default().to_owned(),
        CodeBlockKind::Indented => String::new(),
    }
}

fn code_block(text: &str, language: &str, html: &mut Fragment) {
    html.raw("<pre class=\"cb-code\" tabindex=\"0\"><code>");
    highlight::source(text, Some(language), html);
    html.raw("</code></pre>");
}

/// The address of an attachment's content: `attachment:plot.png`.
fn attached(address: &str, attachments: Option<&Json>) -> Option<String> {
    let name = address.strip_prefix("attachment:")?;
    let files = attachments?;
    // Front ends escape blanks in the name.
    let file = files.member(name).or_else(|| files.member(&name.replace("%20", " ")))?;
    let mut shown = IMAGE_TYPES.into_iter().chain(["image/svg+xml"]);
    shown.find_map(|mime| picture::data_address(mime, &file.member(mime)?.multiline_text()?))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn written(source: &str) -> String {
        let attachments = Json::from_value(
            &json!({ "a b.png": { "image/png": "iVBO\nRw==" }, "x": { "text/html": "<b>" } }),
        );
        let mut html = Fragment::default();
        write(source, Some(&attachments), &Ids::default(), &mut html);
        html.as_str().to_owned().trim_end().to_owned()
    }

    #[test]
    fn markdown_becomes_html() {
        for (source, expected) in [
            ("a *b* `c`", "<p>a <em>b</em> <code>c</code></p>"),
            ("# My Title", "<h1 id=\"content-My-Title\">My Title</h1>"),
            ("[a](#My-Title)", "<p><a href=\"#content-My-Title\">a</a></p>"),
            (
                "[a](https://example.org)",
                "<p><a href=\"https://example.org\" target=\"_blank\" rel=\"noopener noreferrer\">a</a></p>",
            ),
            ("[a](javascript:x)", "<p><a>a</a></p>"),
            ("- [x] done", "<ul>\n<li>☑ done</li>\n</ul>"),
            ("~~a~~", "<p><del>a</del></p>"),
            ("![p](attachment:a%20b.png)", "<p><img alt=\"p\" src=\"data:image/png;base64,iVBORw==\"></p>"),
            (
                "|a|b|\n|-|:-:|\n|1|2|",
                "<table><thead><tr><th>a</th><th style=\"text-align:center;\">b</th></tr></thead>\
                 <tbody><tr><td>1</td><td style=\"text-align:center;\">2</td></tr></tbody></table>",
            ),
            (
                "```python\nx = 1\n```",
                "<pre class=\"cb-code\" tabindex=\"0\"><code>x = <span class=\"cb-number\">1</span>\n</code></pre>",
            ),
            (
                "<div align=\"center\">\n\n**b**\n\n</div>",
                "<div style=\"text-align:center;\">\n<p><strong>b</strong></p>\n</div>",
            ),
            ("a <font color='red'>b</font>", "<p>a <span style=\"color:red;\">b</span></p>"),
            ("costs $5 and $6", "<p>costs $5 and $6</p>"),
        ] {
            assert_eq!(written(source), expected, "{source}");
        }
    }

    #[test]
    fn formulas_are_drawn() {
        for source in ["$x^2$", "$$x^2$$", "\\begin{align}\nx^2\n\\end{align}", "| a |\n|-|\n| $x^2$ |"] {
            let html = written(source);
            assert!(html.contains("<msup><mi>x</mi><mn>2</mn></msup>"), "{source}: {html}");
        }
        assert!(written("```\n\\begin{align}\n```").contains("<code>\\begin{align}\n</code>"));
    }

    #[test]
    fn images_elsewhere_are_links() {
        for (source, expected) in [
            (
                "![plot](https://example.org/a.png)",
                "<p><a href=\"https://example.org/a.png\" target=\"_blank\" rel=\"noopener noreferrer\">plot</a> \
                 <span class=\"cb-note\">(image on another site, not loaded)</span></p>",
            ),
            (
                "![plot](a.png)",
                "<p>plot <span class=\"cb-note\">(image in the file a.png, not included)</span></p>",
            ),
            ("![](attachment:none.png)", "<p>Image <span class=\"cb-note\">(image, not shown)</span></p>"),
        ] {
            assert_eq!(written(source), expected, "{source}");
        }
    }

    #[test]
    fn an_id_occurs_once() {
        assert_eq!(
            written("# A\n# A\n<a id=\"A\"></a>"),
            "<h1 id=\"content-A\">A</h1>\n<h1>A</h1>\n<p><a></a></p>"
        );
    }

    #[test]
    fn a_slot_is_written_once() {
        let html = written("$x$ <cb-slot n=\"0\"> <cb-slot n=\"7\">");
        assert_eq!(html.matches("<math").count(), 1, "{html}");
    }
}
