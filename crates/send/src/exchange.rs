//! What requests to all engines have, and what their answers say to people.

use http_client::ClientAnswer;
use http_client::header::{AUTHORIZATION, HeaderName, HeaderValue, USER_AGENT};

/// These headers, with that of the program and, if there is one, of the token.
pub(crate) fn authorized(
    mut headers: Vec<(HeaderName, HeaderValue)>,
    authorization: Option<&HeaderValue>,
) -> Vec<(HeaderName, HeaderValue)> {
    let program = HeaderValue::from_static(concat!("whit/", env!("CARGO_PKG_VERSION")));
    headers.push((USER_AGENT, program));
    headers.extend(authorization.cloned().map(|value| (AUTHORIZATION, value)));
    headers
}

/// What an answer says, in a line without control characters.
pub(crate) fn said(answer: &ClientAnswer) -> String {
    said_with(answer, &answer.body)
}

/// The status of an answer and a text of it, if there is one, in a line without control characters.
pub(crate) fn said_with(answer: &ClientAnswer, text: &[u8]) -> String {
    let line = String::from_utf8_lossy(&text[..text.len().min(300)]);
    let line = line.split_whitespace().collect::<Vec<_>>().join(" ");
    let line = layout::text::escape(line.as_bytes());
    match line.is_empty() {
        true => answer.status.to_string(),
        false => format!("{}: {line}", answer.status),
    }
}
