//! The types of machines, what they cost, and which one an agent means. Without I/O.

use place::{Error, ErrorKind, Fault, MachineKind, MachineOffer, NextStep, WantedMachine};

use crate::api::{Spec, Tier};
use crate::failure::SIGN_UP;

/// The order in which a GPU or TPU is chosen if its model is not named: the least costly first.
const ORDER: [&str; 7] = ["T4", "L4", "A100", "H100", "G4", "V5E1", "V6E1"];

/// What an account without a subscription may have at no cost. The TPU has one shape only.
const FREE: [(&str, bool); 3] = [("CPU", false), ("T4", false), ("V5E1", true)];

/// Words that people write before a model.
const MAKERS: [&str; 4] = ["NVIDIA", "TESLA", "GOOGLE", "CLOUD"];

/// Whose machines they are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Account {
    /// The e-mail address, if it was granted.
    pub(crate) name: Option<String>,
    pub(crate) tier: Tier,
}

impl Account {
    /// As part of a sentence: `ada@example.com (Colab Pro)`.
    pub(crate) fn title(&self) -> String {
        let name = self.name.as_deref().unwrap_or("the signed-in Google account");
        match self.tier {
            Tier::Free => format!("{name} (Colab without a subscription)"),
            Tier::Pro => format!("{name} (Colab Pro)"),
            Tier::ProPlus => format!("{name} (Colab Pro+)"),
            Tier::Other => name.to_owned(),
        }
    }

    /// Who pays for a machine, if it may cost something. An account without a subscription may have bought compute units; the API
    /// does not show whether it has, nor whether it uses them first.
    fn cost(&self, kind: &MachineKind) -> Option<String> {
        let model = kind.accelerator.as_ref().unwrap_or(&kind.variant);
        let is_free =
            |(free, may_be_large): &(&str, bool)| model == free && (*may_be_large || !kind.has_high_memory);
        if self.tier == Tier::Free && FREE.iter().any(is_free) {
            return None;
        }
        Some(format!(
            "It uses compute units of {} for as long as it runs, also while idle; the balance is shown at {SIGN_UP}",
            self.title()
        ))
    }

    pub(crate) fn offer(&self, spec: &Spec) -> MachineOffer {
        MachineOffer { kind: spec.kind.clone(), is_eligible: spec.is_eligible, cost: self.cost(&spec.kind) }
    }
}

/// What an agent has named, in the words of Google.
struct Named {
    variant: Option<String>,
    accelerator: Option<String>,
    has_high_memory: Option<bool>,
    /// Whether the two arguments, or the memory, name different machines.
    is_contradictory: bool,
}

impl Named {
    fn set(slot: &mut Option<String>, word: String) -> bool {
        let is_other = slot.as_ref().is_some_and(|known| *known != word);
        *slot = Some(word);
        is_other
    }

    /// Reads a type as we show it, too (`T4 GPU with high RAM`), in either argument.
    fn of(wanted: &WantedMachine) -> Self {
        let has_high_memory = wanted.has_high_memory;
        let mut named = Self { variant: None, accelerator: None, has_high_memory, is_contradictory: false };
        for (text, is_variant) in [(&wanted.variant, true), (&wanted.accelerator, false)] {
            let text = text.as_deref().unwrap_or_default().trim().to_ascii_uppercase();
            let (text, is_large) = match text.strip_suffix(" WITH HIGH RAM") {
                Some(text) => (text, true),
                None => (text.as_str(), false),
            };
            if is_large {
                named.is_contradictory |= named.has_high_memory == Some(false);
                named.has_high_memory = Some(true);
            }
            let words: Vec<_> = text.split([' ', '_']).filter(|word| !MAKERS.contains(word)).collect();
            for word in words {
                // A new kind of machine is no model.
                let is_new =
                    is_variant && text == word && !word.contains(|letter: char| letter.is_ascii_digit());
                named.is_contradictory |= match word {
                    "" | "NONE" => false,
                    "CPU" | "GPU" | "TPU" => Self::set(&mut named.variant, word.to_owned()),
                    _ if is_new => Self::set(&mut named.variant, word.to_owned()),
                    _ => {
                        let model = word.trim_start_matches("NVIDIA-").trim_start_matches("TESLA-");
                        Self::set(&mut named.accelerator, model.replace('-', ""))
                    }
                };
            }
        }
        named
    }
}

/// The type that an agent means. Fails if there is none such, or if the account may not have it.
pub(crate) fn choose<'s>(
    wanted: &WantedMachine,
    specs: &'s [Spec],
    account: &Account,
) -> Result<&'s Spec, Error> {
    let Named { variant, accelerator, has_high_memory, is_contradictory } = Named::of(wanted);
    if is_contradictory {
        let cause = "The arguments name different types of machines.";
        return Err(Error::new(ErrorKind::InvalidArgument, cause, NextStep::ListMachines));
    }
    let variant = variant.or_else(|| accelerator.is_none().then(|| "CPU".to_owned()));
    let mut fitting: Vec<&Spec> = specs
        .iter()
        .filter(|it| variant.as_deref().is_none_or(|name| it.kind.variant.eq_ignore_ascii_case(name)))
        .filter(|it| {
            let model = it.kind.accelerator.as_deref();
            accelerator.as_deref().is_none_or(|name| model.is_some_and(|it| it.eq_ignore_ascii_case(name)))
        })
        .filter(|it| has_high_memory.is_none_or(|asked| it.kind.has_high_memory == asked))
        .collect();
    let rank = |spec: &Spec| {
        let model = spec.kind.accelerator.as_deref();
        ORDER.iter().position(|it| Some(*it) == model).unwrap_or(ORDER.len())
    };
    fitting.sort_by_key(|it| (!it.is_eligible, rank(it), it.kind.has_high_memory));
    match fitting.first() {
        Some(spec) if spec.is_eligible => Ok(spec),
        found => {
            let name = [accelerator, variant].into_iter().flatten().collect::<Vec<_>>().join(" ");
            let name = match has_high_memory {
                None => name,
                Some(true) => format!("{name} with high RAM"),
                Some(false) => format!("{name} with standard RAM"),
            };
            let eligible: Vec<_> =
                specs.iter().filter(|it| it.is_eligible).map(|it| it.kind.to_string()).collect();
            let eligible = format!("Types that it may have: {}.", eligible.join(", "));
            Err(if found.is_some() {
                let cause = format!("{} may not have {name} machines. {eligible}", account.title());
                Error::new(ErrorKind::Forbidden, cause, NextStep::ListMachines).with_fault(Fault::Person)
            } else {
                let cause = format!("Colab has no {name:?} machines for {}. {eligible}", account.title());
                Error::new(ErrorKind::InvalidArgument, cause, NextStep::ListMachines)
            })
        }
    }
}

#[cfg(test)]
mod tests;
