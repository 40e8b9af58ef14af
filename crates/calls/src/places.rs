//! The places of a session beside its own: what they answer, and how their paths begin.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::{BoxFuture, join_all};
use place::{Error, Place};
use tokio::time::timeout;
use workspace::Session;

use crate::next_step::message;

/// How long a place beside the session's own may take to answer.
const OTHERS_TIMEOUT: Duration = Duration::from_secs(2);

/// The place that a session works in, and how paths of others begin that can be reached now.
pub fn described(session: &Session) -> String {
    let others = sentences(session, Place::is_present);
    format!("Notebooks of {}.{others}", session.place().description())
}

/// How paths begin that are not of the session's place; a sentence for each other place, after a space.
pub fn others(session: &Session) -> String {
    sentences(session, |_| true)
}

fn sentences(session: &Session, is_meant: impl Fn(&dyn Place) -> bool) -> String {
    let sentence = |place: &Arc<dyn Place>| {
        format!(" Paths that start with {} belong to {}.", place.name(), place.description())
    };
    session.places().iter().skip(1).filter(|place| is_meant(&***place)).map(sentence).collect()
}

/// What the places of a session have answered.
pub struct Answers<T> {
    /// The answer of the session's own place comes first.
    pub given: Vec<(Arc<dyn Place>, T)>,
    /// The failure of the session's own place.
    pub failure: Option<Error>,
    /// A line for each place that has not answered.
    pub warnings: String,
}

impl<T> Answers<T> {
    /// Fails if the session's own place has not answered and `is_empty` says that the others have nothing either.
    pub fn or_failure(self, is_empty: impl Fn(&T) -> bool) -> Result<Self, Error> {
        match self.failure {
            Some(failure) if self.given.iter().all(|(_, answer)| is_empty(answer)) => Err(failure),
            failure => Ok(Self { failure, ..self }),
        }
    }
}

/// Asks all places of a session at the same time.
pub async fn ask<T>(
    session: &Session,
    question: impl for<'p> Fn(&'p Arc<dyn Place>) -> BoxFuture<'p, Result<T, Error>>,
) -> Answers<T> {
    let places = session.places();
    let asked = places.iter().enumerate().map(|(index, place)| {
        let limit = if index == 0 { Duration::MAX } else { OTHERS_TIMEOUT };
        timeout(limit, question(place))
    });
    let asked = join_all(asked).await;
    let mut found = Answers { given: Vec::new(), failure: None, warnings: String::new() };
    for (index, (place, answer)) in places.iter().zip(asked).enumerate() {
        let warning = match answer {
            Ok(Ok(answer)) => {
                found.given.push((place.clone(), answer));
                continue;
            }
            Ok(Err(error)) => {
                let warning = message(&error);
                found.failure = found.failure.or(Some(error).filter(|_| index == 0));
                warning
            }
            Err(_) => format!("{} has not answered in time.", place.name()),
        };
        found.warnings.push_str(&format!("\n\n[WARNING] {warning}"));
    }
    found
}
