//! What one published message shows, for the connection that runs the code and for whoever reads a log of it.

use notebook::Output;

use super::request::output;
use crate::Event;
use crate::messages::{Message, content};

/// What a message shows, or takes from what was shown; `None` if it is about something else.
pub(super) fn published(message: &Message) -> serde_json::Result<Option<Event>> {
    let content = &message.content;
    Ok(match message.header.kind.as_str() {
        "stream" => content::stream(content)?.map(|stream| output(stream, None)),
        "error" => Some(output(content::error(content)?, None)),
        "display_data" => {
            let (bundle, display_id, _) = content::display(content)?;
            Some(output(Output::Display(bundle), display_id))
        }
        "execute_result" => {
            let (bundle, display_id, execution_count) = content::display(content)?;
            Some(output(Output::Result { execution_count, bundle }, display_id))
        }
        "update_display_data" => {
            let (bundle, display_id, _) = content::display(content)?;
            display_id.map(|display_id| Event::UpdateDisplay { display_id, bundle })
        }
        "clear_output" => Some(Event::ClearOutput { wait: content.decode::<content::ClearOutput>()?.wait.0 }),
        "execute_input" => {
            let input: content::ExecuteInput = content.decode()?;
            Some(Event::Started { execution_count: input.execution_count.0 })
        }
        _ => None,
    })
}

impl Message {
    /// What it shows, or takes from what was shown. `None` if it is about something else, or cannot be read.
    pub fn published(&self) -> Option<Event> {
        published(self).ok().flatten()
    }
}
