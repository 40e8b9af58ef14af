//! Methods that only read, by name.

/// Methods of the types that cells use most (of Python, pandas, polars, numpy, plots) that leave their object as it is.
/// A type with another method of the same name is rare enough.
const READING: &str = include_str!("methods.txt");

pub(crate) fn only_reads(method: &str) -> bool {
    // What Python itself calls to show or compare, and what gives a value by its name.
    const PREFIXES: [&str; 7] = ["__", "get_", "is_", "has_", "to_", "predict", "summary"];
    PREFIXES.iter().any(|prefix| method.starts_with(prefix))
        || READING.split_ascii_whitespace().any(|known| known == method)
}
