//! Compares JSON by value: neither the order of members nor the way in which a number is written counts, and ids are made equal.

use serde_json::{Map, Value};

use super::findings::Findings;
use super::ids::Ids;
use super::raw;
use super::rerun::Rerun;

/// The members that plotly changes with each run.
const UID: &str = "uid";

pub(crate) fn compare(before: &Value, after: &Value, rerun: &Rerun, findings: &mut Findings) {
    let ids = Ids::of(ids(before), ids(after), rerun);
    Comparing { ids, findings }.values("", before, after);
}

/// The ids of the objects of a document of bokeh, and of others that look like its ids.
fn ids(value: &Value) -> Vec<String> {
    Ids::in_script(&value.to_string()).collect()
}

struct Comparing<'c> {
    ids: Ids<'c>,
    findings: &'c mut Findings,
}

impl Comparing<'_> {
    fn values(&mut self, path: &str, before: &Value, after: &Value) {
        match (before, after) {
            (Value::Object(before), Value::Object(after)) => self.objects(path, before, after),
            (Value::Array(before), Value::Array(after)) => {
                for (index, (one, other)) in before.iter().zip(after).enumerate() {
                    self.values(&format!("{path}[{index}]"), one, other);
                }
                if before.len() != after.len() {
                    let (before, after) = (before.len(), after.len());
                    self.findings.change(path, &format!("{before} elements"), &format!("{after} elements"));
                }
            }
            (Value::String(before), Value::String(after)) => {
                raw::compare(path, before, after, &mut self.ids, self.findings);
            }
            (Value::Number(one), Value::Number(other)) if one == other || one.as_f64() == other.as_f64() => {}
            _ if before == after => {}
            _ => self.findings.change(path, &before.to_string(), &after.to_string()),
        }
    }

    fn objects(&mut self, path: &str, before: &Map<String, Value>, after: &Map<String, Value>) {
        let inner = |name: &str| if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") };
        for (name, value) in before {
            if let Some(other) = after.get(name).filter(|_| name != UID) {
                self.values(&inner(name), value, other);
            }
        }
        let mut only: Vec<_> =
            before.keys().filter(|name| !after.contains_key(*name) && *name != UID).collect();
        let mut new: Vec<_> =
            after.keys().filter(|name| !before.contains_key(*name) && *name != UID).collect();
        // Those whose names are ids, such as altair's data sets.
        if only.len() == new.len() && only.iter().zip(&new).all(|(one, other)| self.ids.are_same(one, other))
        {
            for (name, other) in only.drain(..).zip(new.drain(..)) {
                self.values(&inner(name), &before[name], &after[other]);
            }
        }
        for name in only {
            self.findings.difference(format!("-{}", inner(name)));
        }
        for name in new {
            self.findings.difference(format!("+{}", inner(name)));
        }
    }
}
