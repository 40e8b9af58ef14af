//! Functions by what they make.

/// What is said to have made a figure with its axes.
pub const FIGURE: &str = "subplots";
/// Stands for the maker of a regular expression, which no method changes.
pub const PATTERN: &str = "re.compile";

/// Whether objects of a class add what `update` gets to what they have, each time.
pub fn is_counting(class: &str) -> bool {
    matches!(class, "Counter" | "md5" | "sha1" | "sha224" | "sha256" | "sha384" | "sha512" | "blake2b")
}

/// Whether a function gives a class, another one each time.
pub(crate) fn is_class_maker(function: &str) -> bool {
    matches!(
        function,
        "namedtuple" | "NamedTuple" | "make_dataclass" | "Enum" | "IntEnum" | "NewType" | "type"
    )
}
