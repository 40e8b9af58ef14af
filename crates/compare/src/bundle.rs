//! Compares the contents of one output, each MIME type by its kind.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::ops::Range;
use std::time::SystemTime;

use notebook::{Json, MimeBundle};

use crate::findings::Findings;
use crate::ids::Ids;
use crate::{json, markup, picture, raw, texts};

/// The end of the type of a widget's view.
const WIDGET: &str = ".widget-view+json";

/// How the content of a MIME type is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// A widget is known by an id; what it shows is not in the output.
    Widget,
    Picture,
    Markup,
    Script,
    Json,
    Text,
}

impl Kind {
    fn of(mime: &str) -> Self {
        match mime {
            _ if mime.ends_with(WIDGET) => Self::Widget,
            "image/svg+xml" | "text/html" => Self::Markup,
            "application/javascript" | "text/javascript" => Self::Script,
            _ if mime.starts_with("image/") => Self::Picture,
            _ if mime.ends_with("json") => Self::Json,
            _ => Self::Text,
        }
    }
}

pub(crate) fn compare(
    before: &MimeBundle,
    after: &MimeBundle,
    during: &Range<SystemTime>,
    findings: &mut Findings,
) {
    let (had, has) = (types(before), types(after));
    for mime in had.intersection(&has) {
        if let (Some(before), Some(after)) = (before.get(mime), after.get(mime)) {
            let mut found = Findings::default();
            content(mime, &before, &after, during, &mut found);
            findings.add(found, mime);
        }
    }
    let is_compared = had.intersection(&has).any(|mime| is_content(mime, before));
    let one_sided = had.symmetric_difference(&has).filter(|mime| {
        // Which types beside the content there are depends on the front end.
        let is_beside = matches!(Kind::of(mime), Kind::Markup | Kind::Script) && !mime.starts_with("image/");
        let is_new = has.contains(*mime) && Kind::of(mime) != Kind::Picture && !mime.starts_with("image/");
        !(is_compared && (is_beside || is_new))
    });
    for mime in one_sided {
        let sign = if had.contains(mime) { '-' } else { '+' };
        findings.difference(format!("{sign}{mime}"));
    }
}

fn types(bundle: &MimeBundle) -> BTreeSet<String> {
    let types = bundle.data.members().map(|(mime, _)| mime.into_owned());
    types.filter(|mime| Kind::of(mime) != Kind::Widget).collect()
}

/// Whether that type says what the output shows: text may only name the class and address of an object, such as
/// `<IPython.core.display.HTML object>`.
fn is_content(mime: &str, bundle: &MimeBundle) -> bool {
    let is_name = |text: String| text.starts_with('<') && text.contains(" object");
    mime != "text/plain" || !bundle.text(mime).is_some_and(is_name)
}

fn content(mime: &str, before: &Json, after: &Json, during: &Range<SystemTime>, findings: &mut Findings) {
    if before == after {
        return;
    }
    let text = |json: &Json| json.multiline_text().map(Cow::into_owned);
    let texts = text(before).zip(text(after));
    match (Kind::of(mime), texts) {
        (Kind::Json | Kind::Widget, _) | (_, None) => {
            match (before.decode(), after.decode()) {
                (Ok(before), Ok(after)) => json::compare(&before, &after, during, findings),
                // It is nested too deep.
                _ if before.is_equivalent(after) => {}
                _ => findings.change("", before.as_str(), after.as_str()),
            }
        }
        (Kind::Picture, Some((before, after))) => picture::compare_base64("", &before, &after, findings),
        (Kind::Markup, Some((before, after))) => markup::compare(&before, &after, during, findings),
        (Kind::Script, Some((before, after))) => {
            let mut ids = Ids::of(Ids::in_script(&before), Ids::in_script(&after));
            raw::compare("", &before, &after, &mut ids, during, findings);
        }
        (Kind::Text, Some((before, after))) => {
            if !texts::are_same(&before, &after, during) {
                findings.change("", &before, &after);
            }
        }
    }
}
