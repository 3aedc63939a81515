//! Answers: a status, a type and a body.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use hyper::body::{Body, Bytes, Frame, SizeHint};
use hyper::header::{ALLOW, CONTENT_TYPE, HeaderValue};
use hyper::{Response, StatusCode};
use tokio::sync::mpsc::Receiver;

/// An answer to a request.
pub type HttpAnswer = Response<AnswerBody>;

/// The body of an answer: whole, or part after part.
#[derive(Debug)]
pub struct AnswerBody(Parts);

#[derive(Debug)]
enum Parts {
    Whole(Bytes),
    Coming(Receiver<Bytes>),
}

impl<T: Into<Bytes>> From<T> for AnswerBody {
    fn from(whole: T) -> Self {
        AnswerBody(Parts::Whole(whole.into()))
    }
}

impl AnswerBody {
    /// A body whose parts come until the sender is dropped.  A connection with such a body counts as
    /// one that waits: it gives way to others when all places are taken.
    #[must_use]
    pub fn coming(parts: Receiver<Bytes>) -> Self {
        AnswerBody(Parts::Coming(parts))
    }
}

impl Body for AnswerBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let part = match &mut self.0 {
            Parts::Whole(whole) if whole.is_empty() => Poll::Ready(None),
            Parts::Whole(whole) => Poll::Ready(Some(std::mem::take(whole))),
            Parts::Coming(parts) => parts.poll_recv(context),
        };
        part.map(|part| part.map(|part| Ok(Frame::data(part))))
    }

    fn is_end_stream(&self) -> bool {
        matches!(&self.0, Parts::Whole(whole) if whole.is_empty())
    }

    fn size_hint(&self) -> SizeHint {
        match &self.0 {
            Parts::Whole(whole) => SizeHint::with_exact(whole.len() as u64),
            Parts::Coming(_) => SizeHint::default(),
        }
    }
}

/// An answer with a body of this type.
#[must_use]
pub fn answer(status: StatusCode, kind: &'static str, body: impl Into<AnswerBody>) -> HttpAnswer {
    let mut response = Response::new(body.into());
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    response
}

/// An answer of plain text.
#[must_use]
pub fn text_answer(status: StatusCode, text: impl Into<AnswerBody>) -> HttpAnswer {
    answer(status, "text/plain; charset=utf-8", text)
}

/// The refusal of a method, with those that are taken.
#[must_use]
pub fn method_not_allowed(allowed: &'static str) -> HttpAnswer {
    let mut refusal = text_answer(StatusCode::METHOD_NOT_ALLOWED, "Method Not Allowed\n");
    refusal.headers_mut().insert(ALLOW, HeaderValue::from_static(allowed));
    refusal
}
