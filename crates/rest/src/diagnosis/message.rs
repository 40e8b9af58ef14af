//! What a server writes about a failure, as part of our message.

use notebook::one_line;
use serde::Deserialize;

/// Longer messages of a server are cut, in characters.
pub(super) const MAX_MESSAGE: usize = 300;

/// Words of messages that say no more than that something is missing.
pub(super) const IS_MISSING: [&str; 3] = ["not found", "does not exist", "no such"];
/// The same for a refusal.
pub(super) const IS_REFUSED: [&str; 2] = ["forbidden", "unauthorized"];

/// The message in the body of a failed response: Jupyter's JSON error, or plain text.
pub(crate) fn message(body: &[u8]) -> Option<String> {
    #[derive(Deserialize)]
    struct JupyterError {
        message: Option<String>,
        reason: Option<serde_json::Value>,
    }
    let text = match serde_json::from_slice::<JupyterError>(body) {
        Ok(JupyterError { message, reason }) => {
            let reason = reason.and_then(|reason| reason.as_str().map(str::to_owned));
            let parts: Vec<String> =
                [message, reason].into_iter().flatten().filter(|part| !part.is_empty()).collect();
            parts.join(" ")
        }
        Err(_) if is_page(body) || body.first() == Some(&b'{') => return None,
        Err(_) => String::from_utf8_lossy(body).into_owned(),
    };
    let message = safe(&text);
    let message = message.trim_end_matches('.');
    (!message.is_empty()).then(|| message.to_owned())
}

/// One short line of what a server has written, with hidden characters as escapes and without secrets in URLs.
pub fn safe(text: &str) -> String {
    let words = text.split_whitespace().map(|word| {
        let secret = ["token=", "password=", "Authorization:"]
            .iter()
            .find_map(|name| Some(word.find(name)? + name.len()));
        word[..secret.unwrap_or(word.len())].to_owned() + if secret.is_some() { "…" } else { "" }
    });
    let line = words.collect::<Vec<_>>().join(" ");
    one_line(&line).chars().take(MAX_MESSAGE).collect()
}

/// What a message adds to the status: nothing if it only repeats it.
pub(super) fn detail(message: Option<&str>, repeats: &[&str]) -> String {
    let says_more = |message: &&str| {
        let lower = message.to_lowercase();
        !message.is_empty() && !repeats.iter().any(|repeat| lower.contains(repeat))
    };
    message.filter(says_more).map(|message| format!(": {message}")).unwrap_or_default()
}

pub(crate) fn is_json(body: &[u8]) -> bool {
    body.trim_ascii_start().first() == Some(&b'{')
}

/// Whether a body is an HTML page.
pub(crate) fn is_page(body: &[u8]) -> bool {
    body.trim_ascii_start().first() == Some(&b'<')
}
