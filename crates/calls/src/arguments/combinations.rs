//! Arguments without an effect beside others, or without others. They are refused by name: the agent meant something by them.

use place::Error;

use crate::arguments::declare::InputSchema;
use crate::arguments::given::{Given, refused};

/// Arguments of a tool, and others on which their effect depends.
pub enum Combination {
    /// One of these is needed.
    NeedsOne(&'static [&'static str]),
    /// The first have an effect only beside one of the second.
    Needs(&'static [&'static str], &'static [&'static str]),
    /// Beside the first, the second have none.
    Excludes(&'static str, &'static [&'static str]),
}

/// Fails if an argument has no effect beside the others. A default counts as not given: some clients send all of them.
pub fn check(
    tool: &str,
    combinations: &[Combination],
    schema: &InputSchema,
    given: &Given,
) -> Result<(), Error> {
    let is_set = |name: &&&str| {
        let default =
            schema.parameters().iter().find(|it| it.name == **name).and_then(|it| it.default.as_ref());
        given.has(name) && !given.is_neutral(name, default)
    };
    for combination in combinations {
        let (unused, word, others) = match combination {
            Combination::NeedsOne(names) if !names.iter().any(|name| is_set(&name)) => {
                return Err(refused(format!("{tool} needs {}.", names.join(" or "))));
            }
            Combination::Needs(dependent, needed) if !needed.iter().any(|name| is_set(&name)) => {
                (*dependent, "without", needed.join(" or "))
            }
            Combination::Excludes(name, others) if is_set(&name) => (*others, "beside", (*name).to_owned()),
            _ => continue,
        };
        let unused: Vec<&str> = unused.iter().filter(is_set).copied().collect();
        if !unused.is_empty() {
            return Err(refused(format!("{tool} does not use {} {word} {others}.", unused.join(" or "))));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::arguments::declare::arguments;
    use crate::arguments::given::tests::given;

    arguments! {
        #[expect(dead_code, reason = "only its schema is read")]
        struct Arguments {
            run_id: Option<String>,
            pattern: Option<String>,
            output: Option<usize>,
            limit: usize = 20,
            all: bool = false,
        }
    }

    #[test]
    fn an_argument_without_effect_is_refused_by_name() {
        let schema = InputSchema::of::<Arguments>();
        let combinations = [
            Combination::Needs(&["pattern"], &["run_id", "all"]),
            Combination::Excludes("all", &["run_id", "limit"]),
            Combination::Excludes("output", &["limit"]),
            Combination::NeedsOne(&["run_id", "limit", "all"]),
        ];
        let outcome =
            |values: Value| check("t", &combinations, &schema, &given(&values)).map_err(|it| it.cause);
        for fine in [
            json!({ "limit": 3 }),
            json!({ "run_id": "r1", "pattern": "x", "limit": 3 }),
            json!({ "pattern": "", "all": false, "run_id": "r1" }),
            json!({ "all": true, "limit": "20", "run_id": null }),
        ] {
            assert_eq!(outcome(fine.clone()), Ok(()), "{fine}");
        }
        for (unused, cause) in [
            (json!({ "all": false, "limit": 20 }), "t needs run_id or limit or all."),
            (json!({ "output": 0, "limit": 3 }), "t does not use limit beside output."),
            (json!({ "pattern": "x" }), "t does not use pattern without run_id or all."),
            (json!({ "pattern": "x", "all": "false" }), "t does not use pattern without run_id or all."),
            (
                json!({ "all": true, "limit": 3, "run_id": "r1" }),
                "t does not use run_id or limit beside all.",
            ),
        ] {
            assert_eq!(outcome(unused), Err(cause.to_owned()));
        }
    }
}
