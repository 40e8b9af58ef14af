//! Functions by what they make.

/// The maker of a figure with its axes.
pub const FIGURE: &str = "subplots";
/// Stands for an object without a name that gives each of its items once, and is in another one.
pub const STREAM: &str = "a stream";
/// Stands for the maker of a regular expression, which no method changes.
pub const PATTERN: &str = "re.compile";

/// Whether a function or a class gives a handle of a display.
pub fn is_handle(maker: &str) -> bool {
    matches!(maker, "display" | "DisplayHandle")
}

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

/// Whether the objects of a class of a library, or what a function of one gives, are told from others.
pub(crate) fn is_followed(maker: &str) -> bool {
    maker == PATTERN || is_handle(maker) || is_counting(maker) || is_class_maker(maker)
}
