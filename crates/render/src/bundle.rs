//! Chooses among the MIME types of one content and renders the most informative one.

mod blank;
mod rich;

use std::borrow::Cow;

use notebook::{IMAGE_TYPES, Json, MimeBundle};

use crate::data_uri::{self, without_data_uris};
use crate::image::{self, ImageSource};
use crate::{Chart, html, size, svg, terminal};
use blank::{is_blank, is_blank_latex, is_blank_markdown};

#[derive(Debug)]
pub(crate) enum Rendered {
    /// The content itself.
    Text(String),
    /// Text with the images that are embedded in it, and described there.
    Illustrated(String, Vec<ImageSource>),
    /// A description of content that is not text, in brackets.
    Description(String),
    Image(ImageSource),
}

/// The type of images that are not decoded here.
const AVIF: &str = "image/avif";

/// Renders the MIME type from which a model learns most.
pub(crate) fn render(bundle: &MimeBundle) -> Rendered {
    let forms = Forms(bundle.data.members().collect());
    // A formula that is also an image is exact, and shorter, as LaTeX.
    let decodable = IMAGE_TYPES.into_iter().filter(|mime| *mime != AVIF);
    let picture = decodable.into_iter().find_map(|mime| Some((mime, forms.get(mime)?)));
    if let Some((mime, content)) = picture.filter(|_| forms.filled("text/latex").is_none()) {
        let about = bundle.metadata.member(mime);
        let label = about.and_then(|about| Some(about.member("alt")?.text()?.into_owned()));
        let plain = forms.informative_plain();
        return Rendered::Image(ImageSource {
            mime: mime.to_owned(),
            content: content.clone(),
            label,
            plain,
        });
    }
    let in_terminal = |text: String| {
        if text.contains(['\x1b', '\r', '\x08']) { terminal::render(&text) } else { text }
    };
    match text(&forms) {
        // Markdown and HTML can contain terminal output, too.
        Rendered::Text(text) => Rendered::Text(in_terminal(text)),
        Rendered::Illustrated(text, images) => Rendered::Illustrated(in_terminal(text), images),
        rendered => rendered,
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

    /// The same if it shows something: some libraries send all forms, and fill one.
    fn filled(&self, mime: &str) -> Option<String> {
        let is_empty = match mime {
            "text/latex" => is_blank_latex,
            "text/markdown" => is_blank_markdown,
            _ => is_blank,
        };
        self.text(mime).filter(|text| !is_empty(text))
    }

    /// `text/plain`, as a terminal would show it.
    fn plain(&self) -> Option<String> {
        Some(without_data_uris(&terminal::render(&self.text("text/plain")?)).into_owned())
    }

    /// `text/plain`, if it is more than the name of an object.
    fn informative_plain(&self) -> Option<String> {
        self.plain().filter(|plain| !is_object_name(plain))
    }
}

fn text(forms: &Forms<'_>) -> Rendered {
    if let Some(text) = rich::described(forms) {
        return Rendered::Description(text);
    }
    // Before LaTeX, in which R writes its tables and lists as well.
    if let Some(html) = forms.filled("text/html") {
        match html_or_plain(&html, forms) {
            Rendered::Text(text) if is_blank(&text) => {}
            rendered => return rendered,
        }
    }
    if let Some(latex) = forms.filled("text/latex") {
        return Rendered::Text(without_data_uris(latex.trim()).into_owned());
    }
    if let Some(markdown) = forms.filled("text/markdown") {
        let markdown = markdown.trim_end();
        let images = data_uri::images(markdown, html::MAX_IMAGES);
        return illustrated(without_data_uris(markdown).into_owned(), &images);
    }
    if let Some(drawing) = forms.get(image::SVG) {
        let (mime, content) = (image::SVG.to_owned(), drawing.clone());
        return Rendered::Image(ImageSource { mime, content, label: None, plain: None });
    }
    if let Some(json) = forms.get("application/json") {
        return Rendered::Text(compact(json));
    }
    if let Some(plain) = forms.informative_plain() {
        return Rendered::Text(plain);
    }
    others(forms)
}

/// Chooses between HTML and plain text.
///
/// For the tables of pandas and polars in the tests, tab-separated cells from HTML take a third to three quarters of the
/// characters of plain text, which is padded with blanks or drawn with lines, and wide tables are not split. If plain text
/// is much shorter, the HTML contains decoration (buttons of xarray, the folded parameters of scikit-learn). HTML without a
/// table is decorated plain text, unless the plain text is only the name of an object.
fn html_or_plain(html: &str, forms: &Forms<'_>) -> Rendered {
    let plain = forms.informative_plain();
    let html::Readable { text, has_table, only_image, images } = html::readable(html);
    if let Some(source) = only_image.and_then(|address| embedded_image(&address)) {
        return Rendered::Image(source);
    }
    let is_drawn = html.contains("<script") && !has_table;
    if let Some(chart) = is_drawn.then(|| Chart::in_html(html)).flatten() {
        return Rendered::Description(chart.described());
    }
    let text = match without_data_uris(&text) {
        Cow::Owned(replaced) => replaced,
        Cow::Borrowed(_) => text,
    };
    let is_long = |plain: &str| text.len() > plain.len() * 3 / 2 + 40;
    let is_table = has_table && !text.is_empty() && !plain.as_deref().is_some_and(is_long);
    match plain {
        Some(plain) if !is_table => illustrated(plain, &images),
        None if text.is_empty() && html.contains("<script") => {
            let size = size(html.len());
            Rendered::Description(format!("[text/html, {size}: scripts, which only a browser can run]"))
        }
        _ => illustrated(text, &images),
    }
}

/// Text with the images at these addresses that can be decoded.
fn illustrated(text: String, addresses: &[String]) -> Rendered {
    let images: Vec<ImageSource> = addresses.iter().filter_map(|address| embedded_image(address)).collect();
    if images.is_empty() { Rendered::Text(text) } else { Rendered::Illustrated(text, images) }
}

/// The image in a `data:` address.
fn embedded_image(address: &str) -> Option<ImageSource> {
    let source = |mime: &str, content: &str| ImageSource {
        mime: mime.to_owned(),
        content: Json::from_value(&serde_json::Value::from(content)),
        label: None,
        plain: None,
    };
    if let Some(drawing) = data_uri::drawing(address) {
        return svg::is_drawable(&drawing).then(|| source(image::SVG, &drawing));
    }
    let (mime, content) = address.strip_prefix("data:")?.split_once(";base64,")?;
    (IMAGE_TYPES.contains(&mime) && mime != AVIF).then(|| source(mime, content))
}

/// Whether it is only the name of an object, such as `<Figure size 640x480 with 1 Axes>`.
pub(crate) fn is_object_name(plain: &str) -> bool {
    let plain = plain.trim();
    plain.is_empty() || plain.starts_with('<') && plain.ends_with('>') && !plain.contains('\n')
}

/// Unknown MIME types, and plain text that says little: all that is left.
fn others(forms: &Forms<'_>) -> Rendered {
    // What is shown with nothing in it is meant to show nothing.
    let is_nothing = |plain: &str| plain.is_empty() || plain.starts_with("<IPython.core.display.");
    let plain = forms.plain().filter(|plain| !is_nothing(plain));
    let is_read = |mime: &str| matches!(mime, "text/plain" | "text/html" | "text/latex" | "text/markdown");
    let unknown = forms.0.iter().filter(|(mime, _)| !is_read(mime));
    let lines: Vec<String> =
        unknown.map(|(mime, content)| rich::other(mime, content)).chain(plain.clone()).collect();
    if lines.len() == plain.iter().len() {
        Rendered::Text(lines.concat())
    } else {
        Rendered::Description(lines.join(" "))
    }
}

/// JSON without whitespace between its parts and without base64.
fn compact(json: &Json) -> String {
    without_data_uris(&json.compact()).into_owned()
}

#[cfg(test)]
mod tests;
