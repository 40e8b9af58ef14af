//! Compares the contents of one output, each MIME type by its kind.

use std::borrow::Cow;
use std::collections::BTreeSet;

use notebook::{Json, MimeBundle, MimeKind};

use super::findings::Findings;
use super::ids::Ids;
use super::rerun::Rerun;
use super::{json, markup, picture, raw, texts};

pub(crate) fn compare(before: &MimeBundle, after: &MimeBundle, rerun: &Rerun, findings: &mut Findings) {
    let (had, has) = (types(before), types(after));
    let are_widgets = is_widget(before) && is_widget(after);
    for mime in had.intersection(&has) {
        if are_widgets && mime == "text/plain" && are_of_one_class(before, after) {
            continue;
        }
        if let (Some(before), Some(after)) = (before.get(mime), after.get(mime)) {
            let mut found = Findings::default();
            content(mime, &before, &after, rerun, &mut found);
            findings.add(found, mime);
        }
    }
    let common: Vec<_> = had.intersection(&has).filter(|mime| is_content(mime, before)).collect();
    let one_sided = had.symmetric_difference(&has).filter(|mime| match MimeKind::of(mime) {
        // Which renderings of a chart there are depends on the front end; text does not replace them.
        MimeKind::Html => common.iter().all(|mime| MimeKind::of(mime) == MimeKind::Text),
        MimeKind::Script => common.is_empty(),
        MimeKind::Drawing | MimeKind::Image | MimeKind::Text => true,
        // JSON.
        _ => common.is_empty() || had.contains(*mime),
    });
    for mime in one_sided {
        let sign = if had.contains(mime) { '-' } else { '+' };
        findings.difference(format!("{sign}{mime}"));
    }
}

fn types(bundle: &MimeBundle) -> BTreeSet<String> {
    let types = bundle.data.members().map(|(mime, _)| mime.into_owned());
    types.filter(|mime| MimeKind::of(mime) != MimeKind::Widget).collect()
}

fn is_widget(bundle: &MimeBundle) -> bool {
    bundle.data.members().any(|(mime, _)| MimeKind::of(&mime) == MimeKind::Widget)
}

/// Whether both texts are calls that would make a widget of one class, such as `IntSlider(value=3)`. Their arguments depend on the front
/// end, which writes into the state of a widget: `Output(outputs=…)`. Those of `FigureWidget({…})` are the chart.
fn are_of_one_class(before: &MimeBundle, after: &MimeBundle) -> bool {
    let class = |bundle: &MimeBundle| {
        let text = bundle.text("text/plain")?;
        let (class, arguments) = text.split_once('(')?;
        let is_name = class.starts_with(char::is_alphabetic)
            && class.chars().all(|character| character.is_alphanumeric() || character == '_');
        (is_name && arguments.ends_with([')', '…']) && !arguments.starts_with('{')).then(|| class.to_owned())
    };
    class(before).is_some_and(|class_before| class(after) == Some(class_before))
}

/// Whether that type says what the output shows: text may only name the class and address of an object, such as
/// `<IPython.core.display.HTML object>`.
fn is_content(mime: &str, bundle: &MimeBundle) -> bool {
    let is_name = |text: String| text.starts_with('<') && text.contains(" object");
    mime != "text/plain" || !bundle.text(mime).is_some_and(is_name)
}

fn content(mime: &str, before: &Json, after: &Json, rerun: &Rerun, findings: &mut Findings) {
    if before == after {
        return;
    }
    let text = |json: &Json| json.multiline_text().map(Cow::into_owned);
    let texts = text(before).zip(text(after));
    match (MimeKind::of(mime), texts) {
        (MimeKind::Image, Some((before, after))) => picture::compare_base64("", &before, &after, findings),
        (MimeKind::Html | MimeKind::Drawing, Some((before, after))) => {
            markup::compare(&before, &after, rerun, findings);
        }
        (MimeKind::Script, Some((before, after))) => {
            let mut ids = Ids::of(Ids::in_script(&before), Ids::in_script(&after), rerun);
            raw::compare("", &before, &after, &mut ids, findings);
        }
        (MimeKind::Text, Some((before, after))) => {
            if !texts::are_same(&before, &after, rerun) {
                findings.change("", &before, &after);
            }
        }
        // JSON.
        _ => match (before.decode(), after.decode()) {
            (Ok(before), Ok(after)) => json::compare(&before, &after, rerun, findings),
            // It is nested too deep.
            _ if before.is_equivalent(after) => {}
            _ => findings.change("", before.as_str(), after.as_str()),
        },
    }
}
