use std::fmt::Display;

/// Items in ascending order, with those that follow each other as a range: `0–97, 99`.
pub fn ranges<T: Display>(items: &[T], is_next: impl Fn(&T, &T) -> bool) -> String {
    let groups = items.chunk_by(|one, next| is_next(one, next));
    let named = groups.map(|group| match group {
        [only] => only.to_string(),
        [first, .., last] => format!("{first}–{last}"),
        [] => String::new(),
    });
    named.collect::<Vec<_>>().join(", ")
}
