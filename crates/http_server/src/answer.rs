//! Answers: a status, a type and a body.

use http_body_util::Full;
use hyper::body::Bytes;
use hyper::header::{ALLOW, CONTENT_TYPE, HeaderValue};
use hyper::{Response, StatusCode};

/// An answer to a request.
pub type HttpAnswer = Response<Full<Bytes>>;

/// An answer with a body of this type.
#[must_use]
pub fn answer(status: StatusCode, kind: &'static str, body: impl Into<Bytes>) -> HttpAnswer {
    let mut response = Response::new(Full::new(body.into()));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    response
}

/// An answer of plain text.
#[must_use]
pub fn text_answer(status: StatusCode, text: impl Into<Bytes>) -> HttpAnswer {
    answer(status, "text/plain; charset=utf-8", text)
}

/// The refusal of a method, with those that are taken.
#[must_use]
pub fn method_not_allowed(allowed: &'static str) -> HttpAnswer {
    let mut refusal = text_answer(StatusCode::METHOD_NOT_ALLOWED, "Method Not Allowed\n");
    refusal.headers_mut().insert(ALLOW, HeaderValue::from_static(allowed));
    refusal
}
