//! What one call may do, and the person's consent where the operator wants them to be asked.

use std::sync::OnceLock;

use notebook::{Cell, CellId};
use workspace::{Error, ErrorKind, Fault};

use crate::call_order::Turn;
use crate::elicitation::{Person, PersonReply, Question};
use crate::permissions::{Access, Group, Permission};

/// The access of one call. The person is asked once, whatever the call does, and sees all of it.
pub(crate) struct Consent<'a> {
    access: Access<'a>,
    person: Option<&'a Person>,
    /// The cells that the person saw when they accepted.
    accepted: OnceLock<Vec<ShownCell>>,
    /// Set if the call does nothing, so that the person need not be asked.
    is_preview: OnceLock<()>,
    /// Readers overtake a call that waits for the person.
    turn: Turn,
}

/// What a person is shown of a call.
pub(crate) struct Preview {
    pub(crate) text: String,
    pub(crate) cells: Vec<ShownCell>,
}

/// A cell as a person was shown it.
#[derive(Debug, PartialEq)]
pub(crate) struct ShownCell {
    id: CellId,
    revision: String,
}

impl From<&Cell> for ShownCell {
    fn from(cell: &Cell) -> Self {
        Self { id: cell.id().clone(), revision: cell.revision().to_owned() }
    }
}

impl<'a> Consent<'a> {
    pub(crate) fn new(access: Access<'a>, person: Option<&'a Person>) -> Self {
        Self { access, person, accepted: OnceLock::new(), is_preview: OnceLock::new(), turn: Turn::default() }
    }

    /// The call has this place in the order of its session's calls.
    pub(crate) fn holding(self, turn: &Turn) -> Self {
        Self { turn: turn.clone(), ..self }
    }

    /// The call does nothing, so the person need not be asked.
    pub(crate) fn ask_nothing(&self) {
        self.is_preview.get_or_init(|| ());
    }

    fn needs_no_question(&self) -> bool {
        self.accepted.get().is_some() || self.is_preview.get().is_some()
    }

    /// Fails if the call may not do `what`, which belongs to all of these groups: the tool, or something that it can do.
    /// Asks the person first if they must be asked. Nothing may have been done before.
    pub(crate) async fn permit(
        &self,
        groups: &[Group],
        permission: Permission,
        what: &str,
        preview: impl Future<Output = Result<Preview, Error>>,
    ) -> Result<(), Error> {
        self.access.check(groups, permission, what)?;
        if self.needs_no_question() || !self.access.asks(groups, permission) {
            return Ok(());
        }
        let person = self.person.ok_or_else(|| cannot_ask(what))?;
        self.ask(person, what, preview.await?).await
    }

    /// Fails unless the person accepts that packages are installed as `plan` says, or the operator lets agents do that.
    pub(crate) async fn permit_packages(&self, what: &str, plan: String) -> Result<(), Error> {
        if self.needs_no_question() || !self.access.asks_about_packages() {
            return Ok(());
        }
        let person = self.person.ok_or_else(|| cannot_ask(what))?;
        self.ask(person, what, Preview { text: plan, cells: Vec::new() }).await
    }

    /// Fails unless the person accepts what `question` says. Where nobody can be asked, the agent has to confirm it in its call.
    pub(crate) async fn permit_effects(&self, what: &str, question: String) -> Result<(), Error> {
        if self.needs_no_question() {
            return Ok(());
        }
        let Some(person) = self.person else {
            return Err(refused(format!(
                "{what} needs confirm=true, because the client cannot ask the person: {question}"
            )));
        };
        self.ask(person, what, Preview { text: question, cells: Vec::new() }).await
    }

    async fn ask(&self, person: &Person, what: &str, preview: Preview) -> Result<(), Error> {
        let Preview { text, cells } = preview;
        self.turn.takes_long();
        match person.ask(Question::Consent(text)).await {
            PersonReply::Accepted { .. } => {
                let _ = self.accepted.set(cells);
                Ok(())
            }
            PersonReply::Failed => {
                Err(refused(format!("{what} needs the person's consent, and the client did not ask them.")))
            }
            PersonReply::Declined => Err(refused(format!("The person declined {what}."))),
            PersonReply::Dismissed => {
                Err(refused(format!("The person was asked about {what} and did not accept.")))
            }
            PersonReply::TimedOut => {
                Err(refused(format!("The person was asked about {what} and did not answer in time.")))
            }
        }
    }

    /// Whether the call may do something that belongs to these groups, without asking again.
    pub(crate) fn may(&self, groups: &[Group], permission: Permission) -> bool {
        let is_allowed = self.access.check(groups, permission, "").is_ok();
        is_allowed && (self.needs_no_question() || !self.access.asks(groups, permission))
    }

    /// Fails if the person accepted the call, and saw other cells than these, or other sources of them.
    pub(crate) fn check_shown<'c>(&self, cells: impl IntoIterator<Item = &'c Cell>) -> Result<(), Error> {
        let Some(shown) = self.accepted.get() else { return Ok(()) };
        if cells.into_iter().all(|cell| shown.contains(&ShownCell::from(cell))) {
            return Ok(());
        }
        Err(Error::new(
            ErrorKind::Conflict,
            "The cells changed after the person had been asked.",
            "Nothing was done; read the cells and call again.",
        ))
    }
}

fn refused(cause: String) -> Error {
    Error::new(ErrorKind::Forbidden, cause, "Nothing was done.").with_fault(Fault::Person)
}

/// A refusal of what the person would have to be asked about.
pub(crate) fn cannot_ask(what: &str) -> Error {
    Error::new(
        ErrorKind::Forbidden,
        format!("{what} needs the person's consent, and this client cannot ask: it supports no elicitation."),
        "Nothing was done. For that, the person has to use a client that supports it, or start the server without asking.",
    )
    .with_fault(Fault::Person)
}

#[cfg(test)]
mod tests {
    use std::future::{Ready, ready};

    use tokio::sync::mpsc;

    use super::*;
    use crate::permissions::{Offer, Permissions, Policy};

    fn asking(asked: &[Offer]) -> Policy {
        Policy { asked: asked.to_vec(), ..Policy::default() }
    }

    fn access<'a>(policy: &'a Policy, tool: &'a str) -> Access<'a> {
        Access { policy, permissions: Permissions::default(), tool }
    }

    fn preview() -> Ready<Result<Preview, Error>> {
        ready(Ok(Preview { text: "Allow it?".into(), cells: Vec::new() }))
    }

    const EDIT: &[Group] = &[Group::Edit];
    const RUN: &[Group] = &[Group::Run];

    /// What becomes of an edit and then a run in one call, and how often the person, who replies so, was asked.
    async fn edit_and_run(asked: &[Offer], reply: fn() -> PersonReply) -> (Result<(), Error>, usize) {
        let policy = asking(asked);
        let (sender, mut questions) = mpsc::channel(1);
        let person = Person::NextRound(sender);
        let call = async move {
            let person = person;
            let consent = Consent::new(access(&policy, "insert_cell"), Some(&person));
            consent.permit(EDIT, Permission::Write, "insert_cell", preview()).await?;
            consent.permit(RUN, Permission::Execute, "insert_cell with run", preview()).await
        };
        let replying = async {
            let mut count = 0;
            while let Some(question) = questions.recv().await {
                count += 1;
                let _ = question.reply.send(reply());
            }
            count
        };
        tokio::join!(call, replying)
    }

    #[tokio::test]
    async fn the_person_is_asked_once_for_a_call() {
        let accepted = || PersonReply::Accepted { line: None };
        for (asked, count) in [
            (&[][..], 0),
            (&[Offer::Group(Group::Kernels)], 0),
            (&[Offer::Group(Group::Run)], 1),
            (&[Offer::Group(Group::Run), Offer::Group(Group::Edit)], 1),
            (&[Offer::Tool("insert_cell")], 1),
        ] {
            assert_eq!(edit_and_run(asked, accepted).await, (Ok(()), count), "{asked:?}");
        }
    }

    #[tokio::test]
    async fn nothing_but_an_accepted_question_is_consent() {
        for (reply, cause) in [
            ((|| PersonReply::Declined) as fn() -> _, "The person declined insert_cell."),
            (|| PersonReply::Dismissed, "did not accept"),
            (|| PersonReply::TimedOut, "in time"),
            (|| PersonReply::Failed, "did not ask"),
        ] {
            let (outcome, _) = edit_and_run(&[Offer::Group(Group::Edit)], reply).await;
            let error = outcome.unwrap_err();
            assert_eq!((error.kind, error.fault), (ErrorKind::Forbidden, Fault::Person));
            assert!(error.cause.contains(cause), "{error}");
        }
    }

    #[tokio::test]
    async fn without_a_person_to_ask_it_is_refused() {
        let policy = asking(&[Offer::Group(Group::Edit)]);
        let consent = Consent::new(access(&policy, "insert_cell"), None);
        let refusal = consent.permit(EDIT, Permission::Write, "insert_cell", preview()).await.unwrap_err();
        assert!(refusal.cause.contains("insert_cell needs the person's consent"), "{refusal}");
        assert!(!consent.may(EDIT, Permission::Write) && consent.may(RUN, Permission::Execute));
    }
}
