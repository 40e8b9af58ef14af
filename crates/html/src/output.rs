//! One output, in the form from which a person learns most.

use notebook::{IMAGE_TYPES, Json, MimeBundle, MimeKind, Output, WIDGET_VIEW};
use render::full_text;

use crate::fragment::Fragment;
use crate::{Context, frame, markdown, maths, picture, sanitize, terminal, traceback};

/// Longer JSON is folded, in lines.
const MAX_OPEN_JSON: usize = 40;

/// An output of a cell.
pub fn output(output: &Output, context: &Context<'_>) -> Fragment {
    let mut html = Fragment::default();
    match output {
        Output::Stream { name, text } => {
            if text.is_empty() {
                return html;
            }
            if name == "stderr" {
                html.raw("<div class=\"cb-output cb-stderr\" role=\"group\" aria-label=\"Standard error\">");
            } else {
                html.raw("<div class=\"cb-output\">");
            }
            if text.len() > context.longest_text {
                let whole = text.as_str();
                let end = end_of(&whole, context.longest_text);
                let before = whole[..whole.len() - end.len()].chars().count();
                let left_out = format!("{before} characters before this are not shown.");
                html.raw("<p class=\"cb-note\">").text(&left_out).raw("</p><pre tabindex=\"0\">");
                terminal::write(std::iter::once(end), &mut html);
            } else {
                html.raw("<pre tabindex=\"0\">");
                terminal::write(text.pieces(), &mut html);
            }
            html.raw("</pre></div>");
        }
        Output::Error { name, value, traceback: entries } => {
            html.raw("<div class=\"cb-output\">");
            traceback::write(name, value, entries, &mut html);
            html.raw("</div>");
        }
        Output::Display(bundle) | Output::Result { bundle, .. } => {
            let mut shown = Fragment::default();
            write_bundle(bundle, output, context, &mut shown);
            if shown.is_empty() {
                // Its scripts may show something.
                return shown;
            }
            html.raw("<div class=\"cb-output\">").append(shown).raw("</div>");
        }
        Output::Other(_) => {
            html.raw("<div class=\"cb-output\">");
            note(&full_text(output), &mut html);
            html.raw("</div>");
        }
    }
    html
}

fn write_bundle(bundle: &MimeBundle, output: &Output, context: &Context<'_>, html: &mut Fragment) {
    if let Some(view) = bundle.get(WIDGET_VIEW) {
        return write_widget(&view, bundle, context, html);
    }
    let is_of_itables =
        || bundle.text("text/html").is_some_and(|html| html.contains("</code> cell from ITables"));
    if bundle.data.members().any(|(mime, _)| MimeKind::of(&mime) == MimeKind::Library) || is_of_itables() {
        // It loads a library, and shows nothing.
        return;
    }
    let Some(interactive) = frame::Interactive::of(bundle) else {
        return write_static(bundle, output, context, html);
    };
    let mut live = Fragment::default();
    let written = context.libraries.map(|libraries| frame::write(&interactive, libraries, &mut live));
    match written {
        None => html.interactive += 1,
        Some(Err(missing)) => drop(html.missing.insert(missing)),
        Some(Ok(())) => {
            html.raw("<div class=\"cb-live\">").append(live).raw("<div class=\"cb-fallback\">");
            write_inert(&interactive, bundle, output, html);
            html.raw("</div></div>");
            return;
        }
    }
    write_inert(&interactive, bundle, output, html);
}

/// The form of an interactive output whose scripts do not run: its author's image, else its HTML, else a description.
fn write_inert(interactive: &frame::Interactive, bundle: &MimeBundle, output: &Output, html: &mut Fragment) {
    // Not the name of a Python object.
    let has_plain = bundle.text("text/plain").is_some_and(|plain| !plain.starts_with('<'));
    let has_other_form = has_plain || !interactive.shows_nothing();
    if write_image(bundle, html) || write_html(bundle, html) || !has_other_form {
        return;
    }
    html.raw("<figure class=\"cb-static\">");
    if interactive.needs_network() {
        html.raw("<figcaption>An interactive output: its scripts need the network, which outputs do not have here.");
    } else {
        html.raw("<pre tabindex=\"0\">").text(&full_text(output)).raw("</pre>");
        html.raw("<figcaption>An interactive output, described because its scripts do not run here.");
    }
    html.raw("</figcaption></figure>");
}

/// The forms without scripts, in Jupyter's order.
fn write_static(bundle: &MimeBundle, output: &Output, context: &Context<'_>, html: &mut Fragment) {
    let text = |mime: &str| bundle.text(mime).filter(|text| !text.trim().is_empty());
    if write_html(bundle, html) {
    } else if let Some(source) = text("text/markdown") {
        html.raw("<div class=\"cb-markdown\">");
        markdown::write(&source, None, &context.ids, html);
        html.raw("</div>");
    } else if let Some(latex) = text("text/latex") {
        write_latex(&latex, context, html);
    } else if write_image(bundle, html) {
    } else if let Some(json) = bundle.get("application/json") {
        write_json(&json, html);
    } else if let Some(plain) = text("text/plain").filter(|_| bundle.get("application/javascript").is_none())
    {
        html.raw("<pre tabindex=\"0\">");
        terminal::write([&*plain], html);
        html.raw("</pre>");
    } else if !bundle.text("text/html").is_some_and(|html| sanitize::output(&html).is_announcement()) {
        let described = full_text(output);
        if !described.is_empty() {
            note(&described, html);
        }
    }
}

/// Its HTML without scripts, if that shows anything.
fn write_html(bundle: &MimeBundle, html: &mut Fragment) -> bool {
    let Some(source) = bundle.text("text/html").filter(|source| !source.trim().is_empty()) else {
        return false;
    };
    let written = sanitize::output(&source);
    if !written.is_visible || written.is_announcement() {
        return false;
    }
    html.raw(if written.has_table {
        "<div class=\"cb-html cb-table\" tabindex=\"0\" role=\"group\" aria-label=\"Table\">"
    } else {
        "<div class=\"cb-html\">"
    });
    html.append(written.html).raw("</div>");
    true
}

/// Its image or drawing, if there is one.
fn write_image(bundle: &MimeBundle, html: &mut Fragment) -> bool {
    if let Some(svg) = bundle.text("image/svg+xml") {
        picture::svg(&svg, &alt(bundle, "image/svg+xml"), html);
        return true;
    }
    IMAGE_TYPES.iter().any(|mime| {
        let Some(address) = bundle.text(mime).and_then(|content| picture::data_address(mime, &content))
        else {
            return false;
        };
        picture::embedded(&address, &alt(bundle, mime), &size(bundle, mime), html);
        true
    })
}

/// What a screen reader says of the image: its author's words, else the name of the object.
fn alt(bundle: &MimeBundle, mime: &str) -> String {
    let own = bundle.metadata.member(mime).and_then(|about| about.member("alt")?.text().map(String::from));
    let plain = || bundle.text("text/plain").filter(|plain| plain.len() <= 200 && !plain.contains('\n'));
    let alt = own.or_else(plain).unwrap_or_default();
    let alt = alt.trim_matches(['<', '>']).trim();
    if alt.is_empty() { "Output image".to_owned() } else { alt.to_owned() }
}

/// The size that the notebook gives the image.
fn size(bundle: &MimeBundle, mime: &str) -> String {
    let Some(about) = bundle.metadata.member(mime) else { return String::new() };
    let side = |name: &str| {
        let number: f64 = about.member(name)?.as_str().trim_matches('"').parse().ok()?;
        (1.0..=20_000.0).contains(&number).then(|| format!("{name}:{number}px;"))
    };
    // The height follows, where the page is narrower.
    side("width").or_else(|| side("height")).unwrap_or_default()
}

fn write_widget(view: &Json, bundle: &MimeBundle, context: &Context<'_>, html: &mut Fragment) {
    let model = view.member("model_id").and_then(|model| model.text().map(String::from)).unwrap_or_default();
    let (text, is_last) = match (context.widget_text)(&model) {
        Some(text) => (text, true),
        None => (bundle.text("text/plain").unwrap_or_default(), false),
    };
    if text.trim().is_empty() {
        return;
    }
    html.raw("<div class=\"cb-widget\"><pre tabindex=\"0\">");
    terminal::write([&*text], html);
    html.raw("</pre>");
    if !is_last {
        note("A widget in its initial state: the notebook does not hold its current state.", html);
    }
    html.raw("</div>");
}

/// A formula, or text with formulas.
fn write_latex(latex: &str, context: &Context<'_>, html: &mut Fragment) {
    let latex = latex.trim();
    let inside =
        [("$$", "$$"), ("$", "$"), ("\\[", "\\]"), ("\\(", "\\)")].iter().find_map(|(start, end)| {
            let inside = latex.strip_prefix(start)?.strip_suffix(end)?;
            (!inside.contains(start)).then_some(inside)
        });
    match inside {
        Some(formula) => maths::formula(formula, true, html),
        None if latex.starts_with("\\begin{") => maths::formula(latex, true, html),
        None => markdown::write(latex, None, &context.ids, html),
    }
}

fn write_json(json: &Json, html: &mut Fragment) {
    let pretty = serde_json::to_string_pretty(&json.to_value()).unwrap_or_else(|_| json.as_str().to_owned());
    html.raw("<details class=\"cb-json\"");
    if pretty.lines().count() <= MAX_OPEN_JSON {
        html.raw(" open");
    }
    html.raw("><summary>JSON</summary><pre tabindex=\"0\">").text(&pretty).raw("</pre></details>");
}

pub(crate) fn note(text: &str, html: &mut Fragment) {
    html.raw("<p class=\"cb-note\">").text(text).raw("</p>");
}

/// At most so many bytes at the end of a text, from the beginning of a line if there is one.
fn end_of(text: &str, length: usize) -> &str {
    let start = text.ceil_char_boundary(text.len().saturating_sub(length));
    let end = &text[start..];
    end.split_once('\n').map(|(_, lines)| lines).filter(|lines| !lines.is_empty()).unwrap_or(end)
}

#[cfg(test)]
mod tests;
