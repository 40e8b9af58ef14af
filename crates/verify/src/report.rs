//! A verification in words.

use std::time::Duration;

use render::shortened;
use syntax::Cause;

use crate::imports::MissingModule;
use crate::verdict::{CellVerdict, Conclusion, Verdict, Verification};

/// The most characters of one difference or traceback.
const MAX_SHOWN: usize = 4000;

impl Verification {
    pub fn conclusion(&self) -> Conclusion {
        let of = |cell: &CellVerdict| match cell.verdict {
            Verdict::Failed { .. } | Verdict::NotRun => Conclusion::Fails,
            Verdict::Close { .. } => Conclusion::Close,
            ref verdict if verdict.differs() => Conclusion::Differs,
            _ => Conclusion::Identical,
        };
        self.cells.iter().map(of).max().unwrap_or(Conclusion::Identical)
    }

    /// One sentence, for a pull request.
    pub fn sentence(&self) -> String {
        let count = |is: fn(&Verdict) -> bool| self.cells.iter().filter(|cell| is(&cell.verdict)).count();
        let identical = count(|verdict| *verdict == Verdict::Identical);
        let none_saved = count(|verdict| *verdict == Verdict::NoneSaved);
        let ignored = count(|verdict| *verdict == Verdict::NotCompared);
        let not_run = count(|verdict| *verdict == Verdict::NotRun);
        let failed = self.cells.iter().find_map(|cell| match &cell.verdict {
            Verdict::Failed { cause, .. } => Some((cell.index, cause)),
            _ => None,
        });
        let compared = self.cells.len() - none_saved - ignored - not_run - usize::from(failed.is_some());
        let mut parts = Vec::new();
        let opening = match failed {
            Some((index, cause)) => {
                parts.push(format!("cell #{index} fails ({cause})"));
                "Does not rerun from a fresh kernel"
            }
            None => "Reruns from a fresh kernel",
        };
        if compared > 0 {
            let before = if failed.is_some() { " before it" } else { "" };
            parts.push(format!("{identical} of {compared} cells{before} identical"));
        }
        parts.extend(self.close());
        parts.extend(self.differences());
        parts.extend((none_saved > 0).then(|| format!("{none_saved} without saved outputs")));
        parts.extend((ignored > 0).then(|| format!("{ignored} not compared")));
        parts.extend((self.skipped > 0).then(|| format!("{} skipped", self.skipped)));
        parts.extend((not_run > 0).then(|| format!("{not_run} not run")));
        if failed.is_none() {
            parts.push(match self.errors {
                0 => "0 errors".to_owned(),
                1 => "1 error, expected".to_owned(),
                count => format!("{count} errors, expected"),
            });
        }
        parts.push(seconds(self.elapsed));
        parts.extend((!self.runtime.is_empty()).then(|| self.runtime.clone()));
        format!("{opening}: {}", parts.join("; "))
    }

    /// How many pictures differ slightly, and where.
    fn close(&self) -> Option<String> {
        let close = self.cells.iter().filter_map(|cell| match cell.verdict {
            Verdict::Close { pictures } => Some((format!("#{}", cell.index), pictures)),
            _ => None,
        });
        let (labels, counts): (Vec<String>, Vec<usize>) = close.unzip();
        let (cells, labels) = (labels.len(), labels.join(", "));
        let differ = match counts.iter().sum() {
            0 => return None,
            1 => "1 picture differs".to_owned(),
            pictures => format!("{pictures} pictures differ"),
        };
        Some(format!("{cells} close ({labels}: {differ} slightly)"))
    }

    /// The differences by their kind, and how many follow from them.
    fn differences(&self) -> Option<String> {
        let labels = |is: fn(&Verdict) -> Option<String>| -> Vec<String> {
            let found = self.cells.iter().filter_map(|cell| Some((cell.index, is(&cell.verdict)?)));
            found.map(|(index, note)| format!("#{index}{note}")).collect()
        };
        let random = labels(|it| matches!(it, Verdict::NotDeterministic { .. }).then(|| because(it)));
        let stale = labels(|it| matches!(it, Verdict::Stale { .. }).then(|| because(it)));
        let fails = labels(|it| matches!(it, Verdict::FailsAgain { .. }).then(String::new));
        let unexplained = labels(|it| matches!(it, Verdict::Unexplained { .. }).then(String::new));
        let follow = self.cells.iter().filter(|cell| cell.verdict == Verdict::Follows).count();
        let mut parts = Vec::new();
        if !random.is_empty() {
            parts.push(format!("{} not deterministic ({})", random.len(), random.join("; ")));
        }
        if !stale.is_empty() {
            parts.push(format!(
                "{} stale or from another environment ({})",
                stale.len(),
                stale.join(if stale.iter().any(|it| it.contains(", ")) { "; " } else { ", " })
            ));
        }
        if let [fails] = &fails[..] {
            parts.push(format!("1 fails in the second run ({fails})"));
        }
        if !unexplained.is_empty() {
            let (count, labels) = (unexplained.len(), unexplained.join(", "));
            let differ = if count == 1 { "differs" } else { "differ" };
            parts.push(format!("{count} {differ}, for unknown reasons ({labels})"));
        }
        if follow > 0 {
            let from = if random.len() + stale.len() + fails.len() + unexplained.len() == 1 {
                "it or its"
            } else {
                "them or their"
            };
            parts.push(format!("{follow} follow{} from {from} inputs", if follow == 1 { "s" } else { "" }));
        }
        (!parts.is_empty()).then(|| parts.join(", "))
    }

    /// The sentence and the details.
    pub fn text(&self) -> String {
        let parts = [self.sentence(), self.details()];
        parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n\n")
    }

    /// A difference for each cell that explains others, and what else the person should know.
    pub(crate) fn details(&self) -> String {
        let mut parts = Vec::new();
        for CellVerdict { index, id, verdict } in &self.cells {
            match verdict {
                Verdict::Stale { diff, .. }
                | Verdict::NotDeterministic { diff, .. }
                | Verdict::Unexplained { diff } => {
                    parts.push(format!(
                        "cell #{index} (id {id}), - saved, + fresh:\n```diff\n{}\n```",
                        shortened(diff.trim_end(), MAX_SHOWN)
                    ));
                }
                Verdict::Failed { shown, .. } | Verdict::FailsAgain { shown, .. } => {
                    let again = matches!(verdict, Verdict::FailsAgain { .. });
                    let time = if again { ", the second time" } else { "" };
                    parts.push(format!("cell #{index} (id {id}){time}:\n{}", shortened(shown, MAX_SHOWN)));
                }
                _ => {}
            }
        }
        parts.extend(self.notes());
        parts.join("\n\n")
    }

    /// What else the person should know, beside the cells.
    pub fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        let module = |MissingModule { module, package }: &MissingModule| match package {
            Some(package) if package != module => format!("{module} (package {package})"),
            Some(_) => module.clone(),
            None => format!("{module} (no package of that name)"),
        };
        // All of them, so that nobody has to look for one after the other.
        let missing = self.missing.iter().map(module).collect::<Vec<_>>().join(", ");
        if !missing.is_empty() {
            notes
                .push(format!("The notebook imports these modules, which its environment lacks: {missing}."));
        }
        let cells = self.cells.iter().filter(|cell| self.not_applied.contains(&cell.id));
        let labels = cells.map(|cell| format!("#{}", cell.index)).collect::<Vec<_>>().join(", ");
        if !labels.is_empty() {
            notes.push(format!("Not applied to {labels}: changed during the verification."));
        }
        notes
    }
}

/// How many causes are named.
const MAX_CAUSES: usize = 2;

impl Verdict {
    /// Whether it differs in each run, and draws random numbers without a seed.
    pub fn is_unseeded(&self) -> bool {
        matches!(self, Self::NotDeterministic { causes, .. } if causes.iter().any(|(cause, _)| *cause == Cause::Random))
    }

    /// Why it differs in each run, as far as the source tells: `reads a clock: time.time()`.
    pub fn causes(&self) -> Vec<String> {
        match self {
            Self::NotDeterministic { causes, .. } | Self::Stale { causes, .. } => {
                causes.iter().map(words).collect()
            }
            _ => Vec::new(),
        }
    }
}

fn words((cause, code): &(Cause, String)) -> String {
    let what = match cause {
        Cause::Random => "unseeded: draws",
        Cause::Clock => "reads a clock:",
        Cause::File => "reads a file:",
        Cause::Network => "asks the network:",
        Cause::System => "asks the machine:",
        Cause::Counter => "depends on a counter or an address:",
        Cause::Parallel => "runs in parallel:",
    };
    format!("{what} {code}")
}

/// The first causes, behind the cell: `, unseeded: draws random()`.
fn because(verdict: &Verdict) -> String {
    let words: Vec<String> = verdict.causes().into_iter().take(MAX_CAUSES).collect();
    if words.is_empty() { String::new() } else { format!(", {}", words.join(" and ")) }
}

fn seconds(elapsed: Duration) -> String {
    let seconds = elapsed.as_secs_f64();
    if seconds < 10.0 { format!("{seconds:.1} s") } else { format!("{seconds:.0} s") }
}
