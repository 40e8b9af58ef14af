//! Requests of code on Google's Colab machines to the Colab page that shows its notebook.
//!
//! `google.colab` publishes a `colab_request` and waits for a `colab_reply` in an `input_reply`, for some requests for ever. No page
//! answers for code that Cellbridge runs, and nothing that it could ask grants what the page would, so each request is refused.
//!
//! See `google/colab/_message.py` in <https://github.com/googlecolab/colabtools>.

use jupyter_protocol::{JupyterMessage, UnknownMessage};
use serde_json::{Value, json};

use crate::messages::{Channel, Message, Outgoing};

/// The answer to a `colab_request`; `None` if it expects none.
pub(super) fn refusal(request: &Message) -> serde_json::Result<Option<Outgoing>> {
    let metadata: Value = serde_json::from_slice(&request.metadata)?;
    // A number or a string, by the version. Missing if the code waits for no answer.
    let Some(id) = metadata.get("colab_msg_id").filter(|id| !id.is_null()) else { return Ok(None) };
    let content: Value = request.content.decode().unwrap_or_default();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let (kind, authorization) =
        (text(&metadata["colab_request_type"]), text(&content["request"]["authType"]));
    let Some(error) = reason(&kind, &authorization) else { return Ok(None) };
    // The code compares the id with `==`, so it keeps its type.
    let value = json!({ "type": "colab_reply", "colab_msg_id": id, "error": error });
    // No `InputReply`: that has a text as its value.
    let reply = UnknownMessage { msg_type: "input_reply".to_owned(), content: json!({ "value": value }) };
    Ok(Some((Channel::Stdin, JupyterMessage::new(reply, None))))
}

/// Why a request is refused, and what works instead; `None` if it has no answer.
fn reason(kind: &str, authorization: &str) -> Option<&'static str> {
    Some(match (kind, authorization) {
        ("request_auth", "dfs_ephemeral") => {
            "Google Drive cannot be mounted here, because only a Colab page in a browser can grant access to it: copy the files to this \
             machine with the notebook's tools instead."
        }
        ("request_auth", "auth_user_ephemeral") => {
            "The code cannot sign in to a Google account here, because only a Colab page in a browser can grant access to it: upload the \
             key of a service account as a file, and set the environment variable GOOGLE_APPLICATION_CREDENTIALS to its path in a cell."
        }
        ("GetSecret", _) => {
            "Colab's secrets cannot be read here, because only a Colab page in a browser has access to them: upload the secret as a file, \
             or set an environment variable in a cell."
        }
        ("cell_javascript_eval", _) => {
            "JavaScript cannot run here, because no Colab page in a browser runs this cell: use Python, and copy files with the \
             notebook's tools instead of uploading or downloading them in the page."
        }
        // The field for the input of a shell command.
        ("cell_display_stdin" | "cell_update_stdin" | "cell_remove_stdin", _) => return None,
        _ => {
            "The code asked for something that only a Colab page in a browser can do, and no such page runs this cell: use a way that \
             does not need google.colab."
        }
    })
}
