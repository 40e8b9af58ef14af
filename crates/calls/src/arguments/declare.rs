//! The arguments of a tool: one declaration gives the type that the tool reads and the schema that models see.
//!
//! ```ignore
//! arguments! {
//!     struct Arguments {
//!         // Required, for it has no default and is no `Option`.
//!         code: String,
//!         /// The description that models read
//!         limit: usize = 50,
//!         // A group of arguments that several tools share.
//!         notebook: NotebookArgument,
//!     }
//! }
//! ```

use std::sync::OnceLock;
use std::time::Duration;

use place::Error;
use serde_json::{Map, Value, json};

use crate::arguments::given::{Given, refused, whole_number};

/// The JSON schema of a tool's arguments.
pub struct Schema {
    properties: Map<String, Value>,
    required: Vec<&'static str>,
}

impl Schema {
    /// The schema of `A`.
    pub fn of<A: Argument>() -> Value {
        let mut schema = Self { properties: Map::new(), required: Vec::new() };
        A::describe(&mut schema, "", "");
        let mut object = json!({ "type": "object", "properties": schema.properties });
        if !schema.required.is_empty() {
            object["required"] = schema.required.into();
        }
        object
    }

    pub fn add(&mut self, name: &'static str, mut schema: Value, description: &str) {
        // A doc comment begins with a space.
        let description = description.trim_start();
        if !description.is_empty() {
            schema["description"] = description.into();
        }
        self.properties.insert(name.to_owned(), schema);
    }

    pub fn add_required(&mut self, name: &'static str, schema: Value, description: &str) {
        self.add(name, schema, description);
        self.required.push(name);
    }
}

/// The schema of a tool's arguments, made when it is needed.
pub struct InputSchema {
    build: fn() -> Value,
    parameters: OnceLock<Vec<Parameter>>,
}

/// What is kept of a parameter: each call needs it.
pub struct Parameter {
    pub name: String,
    /// `type` of its schema, if it has one.
    pub kind: Option<String>,
    pub default: Option<Value>,
}

impl Parameter {
    /// Those of a schema.
    pub(crate) fn of(schema: &Value) -> Vec<Self> {
        let properties = schema["properties"].as_object().into_iter().flatten();
        let parameter = |(name, property): (&String, &Value)| {
            let kind = property["type"].as_str().map(str::to_owned);
            Self { name: name.clone(), kind, default: property.get("default").cloned() }
        };
        properties.map(parameter).collect()
    }
}

impl AsRef<str> for Parameter {
    fn as_ref(&self) -> &str {
        &self.name
    }
}

impl InputSchema {
    /// The schema of `A`.
    pub const fn of<A: Argument>() -> Self {
        Self { build: Schema::of::<A>, parameters: OnceLock::new() }
    }

    pub fn value(&self) -> Value {
        (self.build)()
    }

    pub fn parameters(&self) -> &[Parameter] {
        self.parameters.get_or_init(|| Parameter::of(&self.value()))
    }

    /// Whether there is this parameter.
    pub fn takes(&self, parameter: &str) -> bool {
        self.parameters().iter().any(|known| known.name == parameter)
    }
}

/// An argument, or a group of them.
pub trait Argument: Sized {
    fn describe(schema: &mut Schema, name: &'static str, description: &str);

    fn read(given: &Given, name: &'static str) -> Result<Self, Error>;
}

/// An argument with a default, which the schema shows.
pub trait WithDefault: Sized {
    /// The default as it is declared.
    type Default;

    fn describe(schema: &mut Schema, name: &'static str, default: Self::Default, description: &str);

    fn read_or(given: &Given, name: &'static str, default: Self::Default) -> Result<Self, Error>;
}

/// Declares a struct of arguments. A field's doc comment is its description in the schema.
#[macro_export]
macro_rules! arguments {
    (
        $(#[$attribute:meta])*
        $visibility:vis struct $type:ident {
            $($(#[doc = $description:literal])? $field:ident: $kind:ty $(= $default:expr)?),* $(,)?
        }
    ) => {
        $(#[$attribute])*
        $visibility struct $type {
            $(pub $field: $kind),*
        }

        impl $crate::arguments::declare::Argument for $type {
            fn describe(schema: &mut $crate::arguments::declare::Schema, _: &'static str, _: &str) {
                $(
                    let description = concat!($($description)?);
                    $crate::arguments!(
                        @describe schema, stringify!($field), description, $kind $(, $default)?
                    );
                )*
            }

            fn read(
                given: &$crate::arguments::given::Given,
                _: &'static str,
            ) -> Result<Self, place::Error> {
                Ok(Self {
                    $($field: $crate::arguments!(
                        @read given, stringify!($field), $kind $(, $default)?
                    )?),*
                })
            }
        }
    };
    (@describe $schema:ident, $name:expr, $description:ident, $kind:ty) => {
        <$kind as $crate::arguments::declare::Argument>::describe($schema, $name, $description)
    };
    (@describe $schema:ident, $name:expr, $description:ident, $kind:ty, $default:expr) => {
        <$kind as $crate::arguments::declare::WithDefault>::describe(
            $schema, $name, $default, $description,
        )
    };
    (@read $given:ident, $name:expr, $kind:ty) => {
        <$kind as $crate::arguments::declare::Argument>::read($given, $name)
    };
    (@read $given:ident, $name:expr, $kind:ty, $default:expr) => {
        <$kind as $crate::arguments::declare::WithDefault>::read_or($given, $name, $default)
    };
}
pub use crate::arguments;

/// A tool without arguments.
pub struct NoArguments;

impl Argument for NoArguments {
    fn describe(_: &mut Schema, _: &'static str, _: &str) {}

    fn read(_: &Given, _: &'static str) -> Result<Self, Error> {
        Ok(Self)
    }
}

impl Argument for String {
    fn describe(schema: &mut Schema, name: &'static str, description: &str) {
        schema.add_required(name, json!({ "type": "string" }), description);
    }

    fn read(given: &Given, name: &'static str) -> Result<Self, Error> {
        given.text(name)
    }
}

impl WithDefault for String {
    type Default = &'static str;

    fn describe(schema: &mut Schema, name: &'static str, default: &'static str, description: &str) {
        schema.add(name, json!({ "type": "string", "default": default }), description);
    }

    fn read_or(given: &Given, name: &'static str, default: &'static str) -> Result<Self, Error> {
        Ok(given.optional_text(name)?.unwrap_or_else(|| default.to_owned()))
    }
}

/// A text that may be any word, such as one to search for. For other texts `null` and `none` count as not given.
pub struct FreeText(pub String);

/// Arguments that may be left out, each with its type in the schema and its reader.
macro_rules! optional {
    ($($type:ty, $kind:literal, $read:expr;)*) => {
        $(impl $crate::arguments::declare::Argument for Option<$type> {
            fn describe(
                schema: &mut $crate::arguments::declare::Schema,
                name: &'static str,
                description: &str,
            ) {
                schema.add(name, serde_json::json!({ "type": $kind }), description);
            }

            fn read(
                given: &$crate::arguments::given::Given,
                name: &'static str,
            ) -> Result<Self, place::Error> {
                $read(given, name)
            }
        })*
    };
}
pub(crate) use optional;

optional! {
    String, "string", Given::optional_text;
    FreeText, "string", |given: &Given, name| Ok(given.free_text(name)?.map(FreeText));
    i64, "integer", Given::integer;
    usize, "integer", Given::count;
    Map<String, Value>, "object", Given::object;
}

impl WithDefault for usize {
    type Default = usize;

    fn describe(schema: &mut Schema, name: &'static str, default: usize, description: &str) {
        schema.add(name, json!({ "type": "integer", "default": default }), description);
    }

    fn read_or(given: &Given, name: &'static str, default: usize) -> Result<Self, Error> {
        Ok(given.count(name)?.unwrap_or(default))
    }
}

impl WithDefault for bool {
    type Default = bool;

    fn describe(schema: &mut Schema, name: &'static str, default: bool, description: &str) {
        let mut flag = json!({ "type": "boolean" });
        // A flag that is not given is false; to say so of each would cost models hundreds of tokens.
        if default {
            flag["default"] = default.into();
        }
        schema.add(name, flag, description);
    }

    fn read_or(given: &Given, name: &'static str, default: bool) -> Result<Self, Error> {
        Ok(given.flag(name)?.unwrap_or(default))
    }
}

/// Seconds. 0 counts as not given, and a default of 0 is none.
impl WithDefault for Option<Duration> {
    type Default = u32;

    fn describe(schema: &mut Schema, name: &'static str, default: u32, description: &str) {
        schema.add(name, json!({ "type": "number", "default": default }), description);
    }

    fn read_or(given: &Given, name: &'static str, default: u32) -> Result<Self, Error> {
        let default = (default > 0).then(|| Duration::from_secs(default.into()));
        Ok(given.seconds(name)?.or(default))
    }
}

/// Indices of cells.
impl Argument for Vec<usize> {
    fn describe(schema: &mut Schema, name: &'static str, description: &str) {
        schema.add(name, json!({ "type": "array", "items": { "type": "integer" } }), description);
    }

    fn read(given: &Given, name: &'static str) -> Result<Self, Error> {
        let index = |value: Value| {
            whole_number(&value)
                .and_then(|number| usize::try_from(number).ok())
                .ok_or_else(|| refused(format!("{name} must hold indices from 0 on, not {value}.")))
        };
        given.list(name).into_iter().map(index).collect()
    }
}

impl Argument for Vec<String> {
    fn describe(schema: &mut Schema, name: &'static str, description: &str) {
        schema.add(name, json!({ "type": "array", "items": { "type": "string" } }), description);
    }

    fn read(given: &Given, name: &'static str) -> Result<Self, Error> {
        let text = |value: Value| match value {
            Value::String(text) => Ok(text),
            // An index where an id may stand.
            Value::Number(_) if whole_number(&value).is_some() => {
                Ok(whole_number(&value).unwrap_or_default().to_string())
            }
            other => Err(refused(format!("{name} must hold strings, not {other}."))),
        };
        given.list(name).into_iter().map(text).collect()
    }
}

impl Argument for Option<Vec<String>> {
    fn describe(schema: &mut Schema, name: &'static str, description: &str) {
        Vec::<String>::describe(schema, name, description);
    }

    fn read(given: &Given, name: &'static str) -> Result<Self, Error> {
        if given.has(name) { Vec::read(given, name).map(Some) } else { Ok(None) }
    }
}
