//! MCP Apps (<https://github.com/modelcontextprotocol/ext-apps>, 2026-01-26): a view of a call in the conversation, for clients that
//! declare it. Others see nothing of it. The view is of the crate `page`; what it gets and does goes through two tools that hosts do
//! not show to models.

use std::sync::{Arc, LazyLock};

use calls::permissions::{Access, Group, Permission};
use connection::Secret;
use page::{Rights, View};
use place::{Error, ErrorKind};
use rmcp::model::{
    CallToolResult, ClientCapabilities, ContentBlock, JsonObject, MetaObject, ReadResourceResult,
    ResourceContents, ServerCapabilities,
};
use rmcp::service::{RequestContext, RoleServer};
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Value, json};

use crate::reply::failure;
use crate::request_context::permissions;
use crate::session::Session;

const EXTENSION: &str = "io.modelcontextprotocol/ui";
const MIME: &str = "text/html;profile=mcp-app";
/// Where the document of every view is.
const VIEW: &str = "ui://cellbridge/view.html";
/// In the document of each view, and in what a view sends for the person: a model, which has no view, does not know it.
static KEY: LazyLock<Option<Secret>> = LazyLock::new(|| Secret::generate().ok());
const FRAGMENT: &str = "view_fragment";
const ACT: &str = "view_act";

/// Whether a client shows views.
pub(crate) fn are_shown_by(capabilities: &ClientCapabilities) -> bool {
    let extension = capabilities.extensions.as_ref().and_then(|extensions| extensions.get(EXTENSION));
    let kinds = extension.and_then(|extension| extension.get("mimeTypes")?.as_array());
    kinds.is_some_and(|kinds| kinds.iter().any(|kind| kind == MIME))
}

/// Says to a client that shows views that there are some.
pub(crate) fn advertise(capabilities: &mut ServerCapabilities) {
    capabilities.extensions.get_or_insert_default().insert(EXTENSION.to_owned(), JsonObject::default());
}

impl Session {
    /// Whether the client of a request gets views.
    pub(crate) fn has_views(&self, context: &RequestContext<RoleServer>) -> bool {
        self.offered_notebooks().is_some()
            && context.client_capabilities().is_some_and(|capabilities| are_shown_by(&capabilities))
    }

    /// Answers a call of a view; `None` for one of a model, which does not know these tools.
    pub(crate) async fn view_call(
        &self,
        name: &str,
        params: &RawValue,
        context: &RequestContext<RoleServer>,
    ) -> Option<CallToolResult> {
        let is_act = match name {
            FRAGMENT => false,
            ACT => true,
            _ => return None,
        };
        if !self.has_views(context) {
            return None;
        }
        let access = Access { policy: &self.server.policy, permissions: permissions(context), tool: "" };
        let may = |groups: &[Group], permission| access.permit_unasked(groups, permission, "This").is_ok();
        // Whatever has the agent's connection could do it unasked.
        let may_act = |groups: &[Group], permission| {
            access.permit_unless_asking("This").is_ok() && may(groups, permission)
        };
        let rights = Rights {
            edits: may_act(&[Group::Edit], Permission::Write),
            runs: may_act(&[Group::Run], Permission::Execute),
            sees_elsewhere: false,
        };
        let params = serde_json::from_str::<Value>(params.get()).unwrap_or_default();
        let arguments = params.get("arguments").cloned().unwrap_or_else(|| json!({}));
        let key = arguments["key"].as_str().unwrap_or_default();
        if is_act && !KEY.as_ref().is_some_and(|view| view.matches(key)) {
            let cause = "No view made this call: what it does would count as done by the person.";
            let next = "Call undo, interrupt_kernel or answer_input.";
            return Some(failure(&Error::new(ErrorKind::Forbidden, cause, next)));
        }
        let session = self.notebooks.as_deref().filter(|_| may(&[Group::Read], Permission::Read))?;
        let view = View { session, charts: self.server.charts.as_deref(), rights };
        let answer = if is_act { view.act(arguments).await } else { view.fragment(arguments).await };
        Some(result(answer))
    }
}

fn result(answer: Result<Value, Error>) -> CallToolResult {
    match answer {
        Ok(answer) => CallToolResult::success(vec![ContentBlock::text(answer.to_string())]),
        Err(error) => failure(&error),
    }
}

/// The tools as a client that shows views lists them.
pub(crate) fn with_views(mut listed_tools: Vec<place::Tool>) -> Vec<place::Tool> {
    for tool in &mut listed_tools {
        if tools::find(&tool.name).is_some_and(|tool| tool.has_view)
            && let Ok(mut definition) = serde_json::from_str::<Value>(tool.definition.get())
        {
            definition["_meta"]["ui"] = json!({ "resourceUri": VIEW });
            *tool = listed(&definition);
        }
    }
    let about = [
        (FRAGMENT, "Parts of a view", "What a view of a call lacks, as HTML.", true),
        (ACT, "An action in a view", "What the person does in a view.", false),
    ];
    listed_tools.extend(about.map(|(name, title, description, only_reads)| {
        listed(&json!({
            "name": name,
            "title": title,
            "description": description,
            "inputSchema": { "type": "object" },
            "annotations": { "readOnlyHint": only_reads },
            "_meta": { "ui": { "visibility": ["app"] } },
        }))
    }));
    listed_tools
}

fn listed(definition: &Value) -> place::Tool {
    let name = definition["name"].as_str().unwrap_or_default().to_owned();
    // Serializing a `Value` cannot fail.
    place::Tool { name, definition: Arc::from(to_raw_value(definition).unwrap_or_default()) }
}

/// The document of a view, whose actions have the key; `None` for another resource.
pub(crate) fn read(uri: &str) -> Option<ReadResourceResult> {
    if uri != VIEW {
        return None;
    }
    let mut meta = MetaObject::default();
    meta.insert("ui".to_owned(), json!({ "prefersBorder": true }));
    let key = KEY.as_ref().map_or("", Secret::expose);
    let document = page::document().replacen("<html ", &format!("<html data-key=\"{key}\" "), 1);
    let contents = ResourceContents::text(document, uri).with_mime_type(MIME).with_meta(meta);
    Some(ReadResourceResult::new(vec![contents]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_shows_views_if_it_names_their_type() {
        for (capabilities, expected) in [
            (json!({}), false),
            (json!({ "extensions": {} }), false),
            (json!({ "extensions": { EXTENSION: {} } }), false),
            (json!({ "extensions": { EXTENSION: { "mimeTypes": ["text/html"] } } }), false),
            (json!({ "extensions": { EXTENSION: { "mimeTypes": ["text/html", MIME] } } }), true),
        ] {
            let parsed = serde_json::from_value(capabilities.clone()).unwrap();
            assert_eq!(are_shown_by(&parsed), expected, "{capabilities}");
        }
    }

    #[test]
    fn the_document_is_whole_and_small() {
        let found = read(VIEW).unwrap();
        let found = serde_json::to_value(&found.contents[0]).unwrap();
        assert_eq!(found["mimeType"], MIME);
        let text = found["text"].as_str().unwrap();
        assert!(text.contains(&format!("<html data-key=\"{}\" lang", KEY.as_ref().unwrap().expose())));
        assert!(text.starts_with("<!doctype html>") && text.len() < 60_000, "{} bytes", text.len());
        // Nothing is requested, and nothing was left out.
        for absent in ["src=\"", "href=\"", "@import", "url(", "/* style */", "/* script */", "fetch("] {
            assert!(!text.contains(absent), "{absent}");
        }
        assert_eq!(text.matches("<script>").count(), 1, "the script must not end early");
        assert_eq!(text.matches("</script").count(), 1);
        assert_eq!(read("ui://cellbridge/other.html"), None);
    }
}
