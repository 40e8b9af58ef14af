//! Kinds of MIME types, for all that shows, compares or searches outputs.

/// The type of a widget's view.
pub const WIDGET_VIEW: &str = "application/vnd.jupyter.widget-view+json";

/// Images of pixels that browsers draw, in order of preference.
pub const IMAGE_TYPES: [&str; 6] =
    ["image/png", "image/jpeg", "image/webp", "image/gif", "image/avif", "image/bmp"];

/// The kind of content that a MIME type names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MimeKind {
    Html,
    /// SVG.
    Drawing,
    /// An image of pixels.
    Image,
    Script,
    /// A widget, known by an id: its state is not in the output.
    Widget,
    Plotly,
    /// Vega or Vega-Lite: `vnd.vegalite.v5+json`, and since Altair 6 `vnd.vegalite.v6.json`.
    Vega,
    Bokeh,
    /// Loads a library for other outputs, and shows nothing.
    Library,
    GeoJson,
    /// A table in Frictionless Data's format.
    Table,
    /// Any other JSON.
    Json,
    /// Text in any format but HTML, and unknown content.
    Text,
}

impl MimeKind {
    pub fn of(mime: &str) -> Self {
        let vendor = mime.strip_prefix("application/vnd.").unwrap_or_default();
        let is_of = |name: &str| vendor.starts_with(name);
        match mime {
            "text/html" => Self::Html,
            "image/svg+xml" => Self::Drawing,
            _ if mime.starts_with("image/") => Self::Image,
            "application/javascript" | "text/javascript" => Self::Script,
            _ if mime.ends_with(".widget-view+json") => Self::Widget,
            "application/geo+json" => Self::GeoJson,
            _ if is_of("plotly.") => Self::Plotly,
            _ if is_of("vega") => Self::Vega,
            _ if is_of("bokehjs_exec") => Self::Bokeh,
            _ if is_of("bokehjs_load") || is_of("holoviews_load") => Self::Library,
            _ if is_of("dataresource") => Self::Table,
            _ if mime.ends_with("json") => Self::Json,
            _ => Self::Text,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_those_of_all_versions_of_a_type() {
        for (mime, kind) in [
            ("image/svg+xml", MimeKind::Drawing),
            ("image/avif", MimeKind::Image),
            (WIDGET_VIEW, MimeKind::Widget),
            ("application/vnd.plotly.v1+json", MimeKind::Plotly),
            ("application/vnd.vega.v5+json", MimeKind::Vega),
            ("application/vnd.vegalite.v6.json", MimeKind::Vega),
            ("application/vnd.bokehjs_exec.v0+json", MimeKind::Bokeh),
            ("application/vnd.holoviews_load.v0+json", MimeKind::Library),
            ("application/vnd.dataresource+json", MimeKind::Table),
            ("application/vnd.other+json", MimeKind::Json),
            ("application/json", MimeKind::Json),
            ("text/markdown", MimeKind::Text),
            ("application/octet-stream", MimeKind::Text),
            ("", MimeKind::Text),
        ] {
            assert_eq!(MimeKind::of(mime), kind, "{mime}");
        }
    }
}
