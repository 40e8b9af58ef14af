//! Which of the forms of one content is shown, and how.

mod rich;

use std::borrow::Cow;

use notebook::{Json, MimeBundle};

use crate::{chart, data_uri, html, json_text, size, svg, terminal};

/// What is shown of a bundle.
#[derive(Debug)]
pub(crate) enum Shown {
    /// The content itself.
    Text(String),
    /// Words about a content that is no text; they say so themselves.
    Told(String),
    /// An image, and what is known of it.
    Picture(Picture),
}

#[derive(Debug)]
pub(crate) struct Picture {
    pub(crate) mime: String,
    pub(crate) content: Json,
    /// What the notebook's author says it is.
    pub(crate) label: Option<String>,
    /// The same in plain text, as of a typeset number; mostly the image is all there is.
    pub(crate) plain: Option<String>,
}

impl Picture {
    /// `note` on the image, with the plain text.
    pub(crate) fn with_plain(&self, note: String) -> String {
        match &self.plain {
            Some(plain) => format!("{note}\n{plain}"),
            None => note,
        }
    }
}

/// Raster images that can be decoded, in order of preference.
const PICTURES: [&str; 5] = ["image/png", "image/jpeg", "image/webp", "image/gif", "image/bmp"];

/// What to show: the form from which a model learns most.
pub(crate) fn shown(bundle: &MimeBundle) -> Shown {
    let forms = Forms(bundle.data.members().collect());
    // A formula that is also typeset as an image is exact, and shorter, as LaTeX.
    let picture = PICTURES.iter().find_map(|mime| Some((*mime, forms.get(mime)?)));
    if let Some((mime, content)) = picture.filter(|_| forms.get("text/latex").is_none()) {
        let about = bundle.metadata.member(mime);
        let label = about.and_then(|about| Some(about.member("alt")?.text()?.into_owned()));
        let plain = forms.telling_plain();
        return Shown::Picture(Picture { mime: mime.to_owned(), content: content.clone(), label, plain });
    }
    match text(&forms) {
        // Markdown and HTML may hold what was meant for a terminal, too.
        Shown::Text(text) if text.contains(['\x1b', '\r', '\x08']) => Shown::Text(terminal::shown(&text)),
        shown => shown,
    }
}

/// The contents by MIME type.
struct Forms<'a>(Vec<(Cow<'a, str>, Json)>);

impl Forms<'_> {
    fn get(&self, mime: &str) -> Option<&Json> {
        self.0.iter().find(|(name, _)| name == mime).map(|(_, content)| content)
    }

    fn text(&self, mime: &str) -> Option<String> {
        Some(self.get(mime)?.multiline_text()?.into_owned())
    }

    /// `text/plain`, as a terminal would show it.
    fn plain(&self) -> Option<String> {
        Some(data_uri::replaced(&terminal::shown(&self.text("text/plain")?)).into_owned())
    }

    /// The same, if it is more than the name of an object.
    fn telling_plain(&self) -> Option<String> {
        self.plain().filter(|plain| !is_stub(plain))
    }
}

fn text(forms: &Forms<'_>) -> Shown {
    if let Some(text) = rich::described(forms) {
        return Shown::Told(text);
    }
    // Before LaTeX, in which R writes its tables and lists as well.
    if let Some(html) = forms.text("text/html") {
        return html_or_plain(&html, forms.telling_plain());
    }
    if let Some(latex) = forms.text("text/latex") {
        return Shown::Text(latex.trim().to_owned());
    }
    if let Some(markdown) = forms.text("text/markdown") {
        return Shown::Text(data_uri::replaced(markdown.trim_end()).into_owned());
    }
    if let Some(drawing) = forms.text("image/svg+xml") {
        return Shown::Told(svg::described(&drawing));
    }
    if let Some(json) = forms.get("application/json") {
        return Shown::Text(json_text::compact(json));
    }
    if let Some(plain) = forms.telling_plain() {
        return Shown::Text(plain);
    }
    others(forms)
}

/// The form that says more.
///
/// The tables of pandas and polars under test take a third to three quarters of the characters as tab-separated
/// cells of their HTML, where plain text is padded with blanks or drawn with lines, and a wide one stays in one
/// piece. Where plain text is much shorter, the HTML holds what is for the eye (buttons of xarray, the folded
/// parameters of scikit-learn). Without a table HTML is plain text with decoration, unless plain text is but the
/// name of an object.
fn html_or_plain(html: &str, plain: Option<String>) -> Shown {
    let html::Readable { text, has_table, only_image } = html::readable(html);
    if let Some(picture) = only_image.and_then(|address| framed(&address)) {
        return Shown::Picture(picture);
    }
    let is_drawn = html.contains("<script") && !has_table;
    if let Some(chart) = is_drawn.then(|| chart::in_html(html)).flatten() {
        return Shown::Told(chart);
    }
    let text = match data_uri::replaced(&text) {
        Cow::Owned(replaced) => replaced,
        Cow::Borrowed(_) => text,
    };
    match plain {
        Some(plain) if !has_table || text.is_empty() || text.len() > plain.len() * 3 / 2 + 40 => {
            Shown::Text(plain)
        }
        None if text.is_empty() && html.contains("<script") => {
            let size = size(html.len());
            Shown::Told(format!("[text/html, {size}: scripts, which only a browser runs]"))
        }
        _ => Shown::Text(text),
    }
}

/// The image that HTML is nothing but a frame for.
fn framed(address: &str) -> Option<Picture> {
    let (mime, content) = address.strip_prefix("data:")?.split_once(";base64,")?;
    let content = Json::from_value(&serde_json::Value::from(content));
    let picture = Picture { mime: mime.to_owned(), content, label: None, plain: None };
    PICTURES.contains(&mime).then_some(picture)
}

/// `<Figure size 640x480 with 1 Axes>` and the like: the name of an object, which tells nothing of its content.
fn is_stub(plain: &str) -> bool {
    let plain = plain.trim();
    plain.is_empty() || plain.starts_with('<') && plain.ends_with('>') && !plain.contains('\n')
}

/// Types that nobody knows here, and plain text that says little: the best there is.
fn others(forms: &Forms<'_>) -> Shown {
    let plain = forms.plain().filter(|plain| !plain.is_empty());
    let unknown = forms.0.iter().filter(|(mime, _)| mime != "text/plain");
    let lines: Vec<String> =
        unknown.map(|(mime, content)| rich::other(mime, content)).chain(plain.clone()).collect();
    if lines.len() == plain.iter().len() { Shown::Text(lines.concat()) } else { Shown::Told(lines.join(" ")) }
}

#[cfg(test)]
mod tests;
