//! The one gate: what one call may do, and the person's consent where the operator wants them to be asked.
//!
//! Every effect passes it: a tool's call with its plan as [`Consent`], and what is no call of a tool (a route, a view, a request about a
//! task) as [`Access::permit_unasked`]. Other crates cannot check the operator's settings in another way.

use std::future::ready;
use std::sync::OnceLock;

use notebook::{Cell, CellId};
use place::{Error, ErrorKind, Fault, NotebookPath};

use crate::call_order::Turn;
use crate::permissions::{Access, Group, Permission};
use crate::question::{Draft, Person, PersonReply, Question};

/// The access of one call. The person is asked once, whatever the call does, and sees all of it.
pub struct Consent<'a> {
    access: Access<'a>,
    person: Option<&'a dyn Person>,
    /// What the person saw when they accepted.
    accepted: OnceLock<Shown>,
    /// Set if the call does nothing, so that the person need not be asked.
    is_preview: OnceLock<()>,
    /// Readers overtake a call that waits for the person.
    turn: Turn,
}

/// What a person is shown of a call.
pub struct Preview {
    pub question: Draft,
    pub shown: Shown,
}

/// What a question shows, so that it can be compared with what is about to be done.
#[derive(Debug, Default)]
pub struct Shown {
    pub notebook: Option<NotebookPath>,
    pub cells: Vec<ShownCell>,
    /// What else the call would do, as [`Consent::check_effect`] compares it.
    pub effect: Option<String>,
}

/// A cell as a person was shown it.
#[derive(Debug, PartialEq)]
pub struct ShownCell {
    id: CellId,
    revision: String,
}

impl From<&Cell> for ShownCell {
    fn from(cell: &Cell) -> Self {
        Self { id: cell.id().clone(), revision: cell.revision().to_owned() }
    }
}

impl<'a> Consent<'a> {
    /// The gate of a call of `what`, which belongs to all of these groups. Fails if the operator or the user's rights exclude the call.
    pub fn of(
        access: Access<'a>,
        groups: &[Group],
        permission: Permission,
        what: &str,
        person: Option<&'a dyn Person>,
    ) -> Result<Self, Error> {
        access.check(groups, permission, what)?;
        Ok(Self {
            access,
            person,
            accepted: OnceLock::new(),
            is_preview: OnceLock::new(),
            turn: Turn::default(),
        })
    }

    /// The call has this place in the order of its session's calls.
    #[must_use]
    pub fn holding(self, turn: &Turn) -> Self {
        Self { turn: turn.clone(), ..self }
    }

    /// The call does nothing, so the person need not be asked.
    pub fn ask_nothing(&self) {
        self.is_preview.get_or_init(|| ());
    }

    fn needs_no_question(&self) -> bool {
        self.accepted.get().is_some() || self.is_preview.get().is_some()
    }

    /// Fails if the call may not do `what`, which belongs to all of these groups: the tool, or something that it can do.
    /// Asks the person first if they must be asked. Nothing may have been done before.
    pub async fn permit(
        &self,
        groups: &[Group],
        permission: Permission,
        what: &str,
        preview: impl Future<Output = Result<Preview, Error>>,
    ) -> Result<(), Error> {
        self.access.check(groups, permission, what)?;
        self.ask_if(self.access.asks(groups, permission), what, preview).await
    }

    /// Fails unless the person accepts what `plan` says about packages, or the operator wants them to be asked neither about
    /// packages nor about what belongs to these groups.
    pub async fn permit_packages(&self, groups: &[Group], what: &str, plan: Preview) -> Result<(), Error> {
        self.ask_if(self.asks_about_packages(groups), what, ready(Ok(plan))).await
    }

    /// Fails if [`Consent::permit_packages`] would have to ask, and nobody can be asked.
    pub fn check_packages(&self, groups: &[Group], what: &str) -> Result<(), Error> {
        let is_lacking =
            self.person.is_none() && !self.needs_no_question() && self.asks_about_packages(groups);
        if is_lacking { Err(cannot_ask(what)) } else { Ok(()) }
    }

    fn asks_about_packages(&self, groups: &[Group]) -> bool {
        self.access.asks_about_packages() || self.access.asks(groups, Permission::Execute)
    }

    /// Fails unless the person accepts `effects`. Where nobody can be asked, the agent has to confirm it in its call.
    pub async fn permit_effects(
        &self,
        what: &str,
        effects: &str,
        preview: impl Future<Output = Result<Preview, Error>>,
    ) -> Result<(), Error> {
        if self.person.is_none() && !self.needs_no_question() {
            return Err(refused(format!(
                "{what} needs confirm=true, because the client cannot ask the person: {effects}"
            )));
        }
        self.ask_if(true, what, preview).await
    }

    /// Fails unless the person accepts `what`, which leads to a server that the operator has not named. Nobody is asked where
    /// the person is asked about nothing.
    pub async fn permit_elsewhere(
        &self,
        what: &str,
        preview: impl Future<Output = Result<Preview, Error>>,
    ) -> Result<(), Error> {
        self.ask_if(self.access.asks_at_all(), what, preview).await
    }

    /// Fails unless the person accepts what `first` says, which comes before the question about the call itself: nobody can say
    /// yet what that would be.
    pub async fn permit_first(&self, groups: &[Group], what: &str, first: Draft) -> Result<(), Error> {
        if self.needs_no_question() || !self.access.asks(groups, Permission::Execute) {
            return Ok(());
        }
        let person = self.person.ok_or_else(|| cannot_ask(what))?;
        self.accepts(person, what, first).await
    }

    /// Asks the person, unless they have accepted the call or `is_asked` is false.
    async fn ask_if(
        &self,
        is_asked: bool,
        what: &str,
        preview: impl Future<Output = Result<Preview, Error>>,
    ) -> Result<(), Error> {
        if self.needs_no_question() || !is_asked {
            return Ok(());
        }
        let person = self.person.ok_or_else(|| cannot_ask(what))?;
        let Preview { question, shown } = preview.await?;
        self.accepts(person, what, question).await?;
        let _ = self.accepted.set(shown);
        Ok(())
    }

    async fn accepts(&self, person: &dyn Person, what: &str, question: Draft) -> Result<(), Error> {
        self.turn.takes_long();
        match person.ask(Question::Consent(question.finish())).await {
            PersonReply::Accepted { .. } => Ok(()),
            PersonReply::Failed => Err(refused(format!(
                "{what} needs the person's consent, and neither a form nor a page could ask."
            ))),
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
    pub fn may(&self, groups: &[Group], permission: Permission) -> bool {
        let is_allowed = self.access.check(groups, permission, "").is_ok();
        is_allowed && (self.needs_no_question() || !self.access.asks(groups, permission))
    }

    /// Fails if the person accepted the call, and saw other cells than these, or other sources of them.
    pub fn check_shown<'c>(&self, cells: impl IntoIterator<Item = &'c Cell>) -> Result<(), Error> {
        let Some(Shown { cells: shown, .. }) = self.accepted.get() else { return Ok(()) };
        if cells.into_iter().all(|cell| shown.contains(&ShownCell::from(cell))) {
            return Ok(());
        }
        Err(changed("The cells changed after the person was asked."))
    }

    /// The same for cells that run: also fails if their order is another.
    pub fn check_shown_in_order<'c>(&self, cells: impl IntoIterator<Item = &'c Cell>) -> Result<(), Error> {
        let Some(Shown { cells: shown, .. }) = self.accepted.get() else { return Ok(()) };
        let mut rest = shown.iter();
        if cells.into_iter().all(|cell| rest.any(|shown| *shown == ShownCell::from(cell))) {
            return Ok(());
        }
        Err(changed("The cells or their order changed after the person was asked."))
    }

    /// Fails if the person accepted the call for another notebook.
    pub fn check_notebook(&self, path: &NotebookPath) -> Result<(), Error> {
        match self.accepted.get().and_then(|shown| shown.notebook.as_ref()) {
            Some(shown) if shown != path => Err(changed(&format!(
                "The current notebook changed after the person was asked about {shown}."
            ))),
            _ => Ok(()),
        }
    }

    /// Whether the person was shown an effect of the call.
    pub fn has_accepted_effect(&self) -> bool {
        self.accepted.get().is_some_and(|shown| shown.effect.is_some())
    }

    /// Fails if the person accepted the call, and was shown another effect of it.
    pub fn check_effect(&self, effect: &str) -> Result<(), Error> {
        match self.accepted.get().and_then(|shown| shown.effect.as_deref()) {
            Some(shown) if shown != effect => Err(Error::new(
                ErrorKind::Conflict,
                format!("The effect of the call changed after the person was asked. It is now: {effect}"),
                "Nothing was done; call again, so that the person is asked about that.",
            )),
            _ => Ok(()),
        }
    }
}

fn changed(cause: &str) -> Error {
    Error::new(ErrorKind::Conflict, cause, "Nothing was done; read the cells and call again.")
}

fn refused(cause: String) -> Error {
    Error::new(ErrorKind::Forbidden, cause, "Nothing was done.").with_fault(Fault::Person)
}

/// A refusal of what the person would have to be asked about.
pub(crate) fn cannot_ask(what: &str) -> Error {
    Error::new(
        ErrorKind::Forbidden,
        format!(
            "{what} needs the person's consent, and this client cannot ask: it supports no elicitation, and no page of the \
             person is open."
        ),
        "Nothing was done. To allow the call, the person can open the page with `cellbridge view`, where the next call \
         asks them; use a client that supports elicitation; or start the server without asking.",
    )
    .with_fault(Fault::Person)
}

#[cfg(test)]
mod tests {
    use std::future::Ready;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use futures_util::future::BoxFuture;

    use super::*;
    use crate::permissions::{Offer, Permissions, Policy};
    use crate::question::QuestionText;

    fn asking(asked: &[Offer]) -> Policy {
        Policy { asked: asked.to_vec(), ..Policy::default() }
    }

    fn access<'a>(policy: &'a Policy, tool: &'a str) -> Access<'a> {
        Access { policy, permissions: Permissions::default(), tool }
    }

    fn preview() -> Ready<Result<Preview, Error>> {
        ready(Ok(Preview { question: QuestionText::begin("Allow it?"), shown: Shown::default() }))
    }

    const EDIT: &[Group] = &[Group::Edit];
    const RUN: &[Group] = &[Group::Run];

    /// What becomes of an edit and then a run in one call, and how often the person, who replies so, was asked.
    async fn edit_and_run(asked: &[Offer], reply: fn() -> PersonReply) -> (Result<(), Error>, usize) {
        let policy = asking(asked);
        let person = Replying { reply, count: AtomicUsize::new(0) };
        let consent = Consent::of(
            access(&policy, "insert_cell"),
            EDIT,
            Permission::Write,
            "insert_cell",
            Some(&person),
        );
        let consent = consent.unwrap();
        let call = async {
            consent.permit(EDIT, Permission::Write, "insert_cell", preview()).await?;
            consent.permit(RUN, Permission::Execute, "insert_cell with run", preview()).await
        };
        let outcome = call.await;
        (outcome, person.count.load(Ordering::Relaxed))
    }

    struct Replying {
        reply: fn() -> PersonReply,
        /// How often they were asked.
        count: AtomicUsize,
    }

    impl Person for Replying {
        fn ask(&self, _: Question) -> BoxFuture<'_, PersonReply> {
            self.count.fetch_add(1, Ordering::Relaxed);
            Box::pin(ready((self.reply)()))
        }
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
            (|| PersonReply::Failed, "neither a form nor a page"),
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
        let consent =
            Consent::of(access(&policy, "insert_cell"), EDIT, Permission::Write, "insert_cell", None);
        let consent = consent.unwrap();
        let refusal = consent.permit(EDIT, Permission::Write, "insert_cell", preview()).await.unwrap_err();
        assert!(refusal.cause.contains("insert_cell needs the person's consent"), "{refusal}");
        assert!(!consent.may(EDIT, Permission::Write) && consent.may(RUN, Permission::Execute));
    }
}
