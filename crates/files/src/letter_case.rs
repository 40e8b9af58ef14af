//! Upper case as file systems compare names.

/// Letter by letter, as Windows does: `ß` stays one letter.
pub fn uppercase(name: &str) -> String {
    let upper = |letter: char| {
        let mut upper = letter.to_uppercase();
        if upper.len() == 1 { upper.next().unwrap_or(letter) } else { letter }
    };
    name.chars().map(upper).collect()
}
