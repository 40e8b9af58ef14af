//! The questions that wait for the person.

use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::{oneshot, watch};

use super::{Answer, Question};

/// The questions that wait, the oldest first. Clones share them.
#[derive(Clone, Default)]
pub struct OpenQuestions(Arc<Shared>);

#[derive(Default)]
struct Shared {
    waiting: Mutex<Waiting>,
    /// Changes with each question that comes or goes.
    changes: watch::Sender<()>,
}

#[derive(Default)]
struct Waiting {
    last: u64,
    questions: BTreeMap<u64, (Question, oneshot::Sender<Answer>)>,
}

/// A question that waits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenQuestion {
    /// Of this process; no number is given twice.
    pub number: u64,
    pub question: Question,
}

impl OpenQuestions {
    /// Those that wait for consent now.
    pub fn all(&self) -> Vec<OpenQuestion> {
        let waiting = self.0.waiting.lock();
        let open = waiting.questions.iter().filter(|(_, (question, _))| question.input.is_none());
        open.map(|(&number, (question, _))| OpenQuestion { number, question: question.clone() }).collect()
    }

    /// The question for the `input()` of a run, if that waits here.
    pub fn input_of(&self, run: &str) -> Option<OpenQuestion> {
        let waiting = self.0.waiting.lock();
        let mut open = waiting.questions.iter();
        let is_of_run = |question: &Question| question.input.as_ref().is_some_and(|input| input.run == run);
        let (&number, (question, _)) = open.find(|(_, (question, _))| is_of_run(question))?;
        Some(OpenQuestion { number, question: question.clone() })
    }

    /// Sees when questions come and go.
    pub fn changes(&self) -> watch::Receiver<()> {
        self.0.changes.subscribe()
    }

    /// Answers a question. Returns false if it no longer waits: it was answered elsewhere, or its call is over.
    pub fn answer(&self, number: u64, answer: Answer) -> bool {
        let taken = self.0.waiting.lock().questions.remove(&number);
        let is_answered = taken.is_some_and(|(_, sender)| sender.send(answer).is_ok());
        self.0.changes.send_replace(());
        is_answered
    }

    /// Shows a question until it is answered. Dropping the future takes it back.
    pub async fn ask(&self, question: Question) -> Answer {
        let (sender, answered) = oneshot::channel();
        let number = {
            let mut waiting = self.0.waiting.lock();
            waiting.last += 1;
            let number = waiting.last;
            waiting.questions.insert(number, (question, sender));
            number
        };
        let _shown = Shown { questions: self, number };
        self.0.changes.send_replace(());
        // Only an answer drops the sender, after it was sent.
        answered.await.unwrap_or(Answer::Declined)
    }
}

/// Takes a question back when it is dropped.
struct Shown<'q> {
    questions: &'q OpenQuestions,
    number: u64,
}

impl Drop for Shown<'_> {
    fn drop(&mut self) {
        if self.questions.0.waiting.lock().questions.remove(&self.number).is_some() {
            self.questions.0.changes.send_replace(());
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::SystemTime;

    use futures_util::FutureExt as _;

    use super::*;
    use crate::questions::WantedInput;

    fn question(text: &str) -> Question {
        let (client, text) = ("c".to_owned(), text.to_owned());
        Question { client, text, asked_at: SystemTime::UNIX_EPOCH, input: None }
    }

    fn texts(questions: &OpenQuestions) -> Vec<String> {
        questions.all().into_iter().map(|open| open.question.text).collect()
    }

    #[tokio::test]
    async fn a_question_is_open_until_it_is_answered() {
        let questions = OpenQuestions::default();
        let mut changes = questions.changes();
        let (mut one, mut other) =
            (Box::pin(questions.ask(question("one"))), Box::pin(questions.ask(question("other"))));
        assert!((&mut one).now_or_never().is_none() && (&mut other).now_or_never().is_none());
        assert_eq!(texts(&questions), ["one", "other"]);
        assert!(changes.has_changed().unwrap());
        changes.mark_unchanged();

        let number = questions.all()[0].number;
        assert!(questions.answer(number, Answer::Accepted));
        assert!(!questions.answer(number, Answer::Declined), "the first answer counts");
        assert_eq!(one.await, Answer::Accepted);
        assert_eq!(texts(&questions), ["other"]);
        assert!(changes.has_changed().unwrap());
    }

    #[tokio::test]
    async fn the_input_of_a_run_takes_a_line() {
        let questions = OpenQuestions::default();
        let input = Some(WantedInput { run: "r1".to_owned(), is_password: false });
        let mut asking = Box::pin(questions.ask(Question { input, ..question("name?") }));
        assert!((&mut asking).now_or_never().is_none());
        assert_eq!(texts(&questions), [""; 0], "nobody accepts a line");
        assert_eq!(questions.input_of("r2"), None);
        let open = questions.input_of("r1").unwrap();
        assert_eq!(open.question.text, "name?");
        assert!(questions.answer(open.number, Answer::Line("Ada".to_owned())));
        assert_eq!(asking.await, Answer::Line("Ada".to_owned()));
        assert_eq!(questions.input_of("r1"), None, "the first answer counts");
    }

    #[tokio::test]
    async fn a_call_that_ends_takes_its_question_back() {
        let questions = OpenQuestions::default();
        let mut asking = Box::pin(questions.ask(question("one")));
        assert!((&mut asking).now_or_never().is_none());
        let number = questions.all()[0].number;
        let mut changes = questions.changes();
        drop(asking);
        assert!(questions.all().is_empty() && changes.has_changed().unwrap());
        changes.mark_unchanged();
        assert!(!questions.answer(number, Answer::Accepted));
    }
}
