//! What a call came back with, and how it is sent.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use calls::next_step::message;
use place::Error;
use render::Part;
use rmcp::model::{
    CallToolResponse, CallToolResult, ContentBlock, ErrorData, RequestId, ServerJsonRpcMessage, ServerResult,
};

use crate::relayed::raw;

/// What a call came back with.
pub(crate) enum Reply {
    /// The result of one of our tools.
    Own(CallToolResult),
    /// The same of a tool whose run goes on.
    Ongoing(CallToolResult),
    /// A relay's answer, as the other side wrote it.
    Relayed(place::Answer),
}

/// Failures are `isError` results with the next step in them, never protocol errors, which most clients hide from the
/// model.
pub(crate) fn response(answer: Result<Reply, Error>) -> Result<CallToolResponse, ErrorData> {
    match answer {
        Ok(Reply::Own(result) | Reply::Ongoing(result)) => Ok(result.into()),
        Ok(Reply::Relayed(place::Answer::Result(result))) => {
            let result: Box<str> = result.into();
            Ok(raw::carry(result.into_string()).into())
        }
        Ok(Reply::Relayed(place::Answer::Error(error))) => Err(raw::carry_error(&error)),
        Err(error) => Ok(failure(&error).into()),
    }
}

impl Reply {
    pub(crate) fn of(answer: calls::answer::Answer) -> Self {
        let goes_on = answer.run.as_ref().is_some_and(|(_, state)| !state.is_over());
        let result = into_result(answer);
        if goes_on { Self::Ongoing(result) } else { Self::Own(result) }
    }
}

/// Text is sent once, never again in structured form: clients would show only that.
pub(crate) fn into_result(answer: calls::answer::Answer) -> CallToolResult {
    let (parts, is_error) = answer.into_parts();
    let content = parts.into_iter().map(|part| match part {
        Part::Text(text) => ContentBlock::text(text),
        Part::Image { mime, data } => ContentBlock::image(STANDARD.encode(data), mime),
    });
    let mut result = CallToolResult::success(content.collect());
    result.is_error = Some(is_error);
    result
}

/// The result of a call that failed.
pub(crate) fn failure(error: &Error) -> CallToolResult {
    CallToolResult::error(vec![ContentBlock::text(message(error))])
}

/// The whole answer as it is sent to an agent of the older era.
pub(crate) fn legacy_message(id: RequestId, answer: &Result<CallToolResponse, ErrorData>) -> Option<String> {
    let message = match answer {
        Ok(response) => {
            let mut result = ServerResult::from(response.clone());
            result.strip_result_type_for_legacy_peer();
            ServerJsonRpcMessage::response(result, id)
        }
        Err(error) => ServerJsonRpcMessage::error(error.clone(), Some(id)),
    };
    raw::write(message).ok()
}
