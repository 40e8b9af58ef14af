//! The person's actions on the page or by a command, for the agents whose notebooks it concerns.

use std::collections::HashMap;
use std::sync::Arc;

use notebook::one_line;
use operations::{Operation, OperationKind, PERSON, by_call, summary};
use place::{NotebookPath, Place};

use super::Session;

/// The maximum number of actions that a notice names for each notebook.
const NAMED: usize = 3;

/// The lengths of the records of notebooks when they were last read for the person's actions.
pub(crate) type Histories = tokio::sync::Mutex<HashMap<NotebookPath, u64>>;

impl Session {
    /// The person's actions on the notebooks of this session since the last call of this: a sentence for each notebook. Leaves out
    /// what was done before the first call that knows a notebook, and returns nothing if the record cannot be read in time.
    pub async fn take_persons_actions(&self) -> Vec<String> {
        let Some(recorder) = self.workspace.recorder() else { return Vec::new() };
        let identity = |(path, place): (&NotebookPath, &Arc<dyn Place>)| (path.clone(), place.identity(path));
        let notebooks: Vec<_> = self.state().homes.iter().map(identity).collect();
        // Another call is asking. Of agents without sessions, one is notified.
        let Ok(mut lengths) = self.kept().histories.try_lock() else { return Vec::new() };
        let mut sentences = Vec::new();
        for (path, identity) in notebooks {
            let length = lengths.get(&path).copied();
            let Some((operations, length)) = recorder.recorded_since(&identity, length).await else {
                continue;
            };
            sentences.extend(sentence(&path, &operations));
            lengths.insert(path, length);
        }
        sentences
    }
}

/// The person's actions on a notebook, if any.
fn sentence(path: &NotebookPath, operations: &[Operation]) -> Option<String> {
    let is_action =
        |it: &&Operation| it.agent == PERSON && !matches!(it.kind, OperationKind::Checkpoint { .. });
    let by_person: Vec<_> = operations.iter().filter(is_action).cloned().collect();
    let mut actions: Vec<_> = by_call(&by_person).iter().map(action).collect();
    if actions.is_empty() {
        return None;
    }
    let further = actions.len().saturating_sub(NAMED);
    if further > 0 {
        actions.truncate(NAMED);
        actions.push(format!("{further} more in its history"));
    }
    Some(format!("The person {} in {}.", actions.join(", then "), one_line(path)))
}

/// The effect of one call or one click, as the end of a sentence about the person.
fn action(operation: &Operation) -> String {
    let done = summary(operation);
    let verb = if done.starts_with("new outputs of") { "made " } else { "" };
    format!("{verb}{} ({})", one_line(&done), operation.name())
}

#[cfg(test)]
mod tests {
    use operations::{CellChange, OperationId, RunAction};

    use super::*;

    fn by(agent: &str, id: u64, action: RunAction) -> Operation {
        let kind = OperationKind::OnRun { run: format!("r{id}").into(), action };
        Operation { id: OperationId::new(id), agent: agent.to_owned(), kind, ..Operation::default() }
    }

    #[test]
    fn what_one_command_did_is_one_action() {
        let inserted = |id: u64| {
            let cells =
                vec![CellChange { id: format!("c{id}").into(), before: None, after: None, moved: false }];
            let (id, agent) = (OperationId::new(id), PERSON.to_owned());
            Operation { id, agent, call: "k".to_owned(), cells, ..Operation::default() }
        };
        assert_eq!(
            sentence(&"a.ipynb".into(), &[inserted(1), inserted(2)]).unwrap(),
            "The person inserted #0 (id c1), inserted #0 (id c2) (o1) in a.ipynb."
        );
    }

    #[test]
    fn only_the_persons_actions_are_told_and_at_most_three() {
        let path = NotebookPath::from("a\nb.ipynb");
        assert_eq!(sentence(&path, &[by("claude", 1, RunAction::Interrupted)]), None);
        let one = [by("claude", 1, RunAction::Interrupted), by(PERSON, 2, RunAction::AnsweredInput)];
        assert_eq!(
            sentence(&path, &one).unwrap(),
            "The person answered the input() of run r2 (o2) in a\\nb.ipynb."
        );
        let many: Vec<_> = (1..=5).map(|id| by(PERSON, id, RunAction::Interrupted)).collect();
        assert_eq!(
            sentence(&NotebookPath::from("a.ipynb"), &many).unwrap(),
            "The person interrupted run r1 (o1), then interrupted run r2 (o2), then interrupted run r3 (o3), then 2 more in its \
             history in a.ipynb."
        );
    }
}
