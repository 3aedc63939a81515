//! Answers: a status, a type and a body.

use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll};

use hyper::body::{Body, Bytes, Frame, SizeHint};
use hyper::header::{ALLOW, CONTENT_TYPE, HeaderValue};
use hyper::{Response, StatusCode};
use tokio::sync::mpsc::Receiver;

/// An answer to a request.
pub type HttpAnswer = Response<AnswerBody>;

/// The body of an answer: whole, part after part, or written while it is sent.
#[derive(Debug)]
pub struct AnswerBody(Parts);

#[derive(Debug)]
enum Parts {
    Whole(Bytes),
    Coming(Receiver<Bytes>),
    Written(WrittenText),
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

    /// The text of a body that is one and whole, else the body as it was.
    ///
    /// # Errors
    /// The body, if it comes in parts or is no text.
    pub fn into_text(self) -> Result<String, AnswerBody> {
        match self.0 {
            Parts::Whole(whole) => {
                String::from_utf8(whole.into()).map_err(|other| other.into_bytes().into())
            }
            parts => Err(AnswerBody(parts)),
        }
    }

    /// A text that is written while the connection takes it, and so never whole in memory.  `write`
    /// appends some more, a few KiB, and says whether there is more after it.  It fails if there is
    /// more that it cannot write any more: the connection is closed, so that the client sees that.
    ///
    /// The first part is written at once.  A text of one part has a length; the length of a longer one
    /// is known only at its end (RFC 9112, section 7.1: it is sent in chunks).
    #[must_use]
    pub fn written(
        write: impl FnMut(&mut String) -> Result<bool, AnswerCut> + Send + 'static,
    ) -> Self {
        let mut write: WriteMore = Box::new(write);
        let first = match part_of(&mut write) {
            Ok((whole, false)) => return whole.into(),
            Ok((first, true)) => Some(first),
            // It fails again when it is asked for.
            Err(AnswerCut) => None,
        };
        AnswerBody(Parts::Written(WrittenText { first, write: Some(write), gives_way: false }))
    }
}

impl Body for AnswerBody {
    type Data = Bytes;
    type Error = AnswerCut;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, AnswerCut>>> {
        let part = match &mut self.0 {
            Parts::Whole(whole) if whole.is_empty() => Poll::Ready(None),
            Parts::Whole(whole) => Poll::Ready(Some(std::mem::take(whole))),
            Parts::Coming(parts) => parts.poll_recv(context),
            Parts::Written(text) => {
                return text.poll_part(context).map(|part| part.map(|part| part.map(Frame::data)));
            }
        };
        part.map(|part| part.map(|part| Ok(Frame::data(part))))
    }

    fn is_end_stream(&self) -> bool {
        match &self.0 {
            Parts::Whole(whole) => whole.is_empty(),
            Parts::Coming(_) => false,
            Parts::Written(text) => text.first.is_none() && text.write.is_none(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.0 {
            Parts::Whole(whole) => SizeHint::with_exact(whole.len() as u64),
            Parts::Coming(_) | Parts::Written(_) => SizeHint::default(),
        }
    }
}

/// Bytes of a part of a text that is written as a body.
const PART_BYTES: usize = 64 << 10;

/// The rest of an answer was given up while it was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the answer was given up before its end")]
pub struct AnswerCut;

/// Appends some more of a text, and says whether there is more after it.
type WriteMore = Box<dyn FnMut(&mut String) -> Result<bool, AnswerCut> + Send>;

/// A text that is written while it is sent.
struct WrittenText {
    first: Option<Bytes>,
    write: Option<WriteMore>,
    gives_way: bool,
}

impl WrittenText {
    fn poll_part(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Bytes, AnswerCut>>> {
        if let Some(first) = self.first.take() {
            return Poll::Ready(Some(Ok(first)));
        }
        let Some(write) = &mut self.write else { return Poll::Ready(None) };
        // A part takes some 0.3 ms of the thread that all connections have: others come between two.
        self.gives_way = !self.gives_way;
        if self.gives_way {
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        let (part, is_more) = match part_of(write) {
            Ok(part) => part,
            Err(cut) => return Poll::Ready(Some(Err(cut))),
        };
        if !is_more {
            self.write = None;
        }
        let has_any = !part.is_empty();
        Poll::Ready(has_any.then_some(Ok(part)))
    }
}

impl fmt::Debug for WrittenText {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("WrittenText").field("is_over", &self.write.is_none()).finish()
    }
}

/// The next part of a text, and whether there is more after it.
fn part_of(write: &mut WriteMore) -> Result<(Bytes, bool), AnswerCut> {
    let mut part = String::with_capacity(PART_BYTES);
    // What is written at a time fits into the rest.
    while part.len() < PART_BYTES * 3 / 4 {
        if !write(&mut part)? {
            return Ok((part.into(), false));
        }
    }
    Ok((part.into(), true))
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

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use http_body_util::BodyExt as _;

    use super::*;

    #[test]
    fn a_text_is_written_while_it_is_sent() {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        for count in [0, 1, PART_BYTES / 10, PART_BYTES] {
            let calls = Arc::new(AtomicUsize::new(0));
            let counted = calls.clone();
            let mut body = AnswerBody::written(move |text| {
                let number = counted.fetch_add(1, Ordering::Relaxed);
                let is_more = number < count;
                if is_more {
                    // A write to a string does not fail.
                    let _ = write!(text, "{number}é");
                }
                Ok(is_more)
            });
            let whole: String = (0..count).map(|number| format!("{number}é")).collect();
            let has_one_part = whole.len() < PART_BYTES * 3 / 4;
            assert_eq!(body.size_hint().exact(), has_one_part.then_some(whole.len() as u64));
            let mut read = Vec::new();
            while let Some(part) = runtime.block_on(body.frame()) {
                let part = part.unwrap().into_data().unwrap();
                assert!(!part.is_empty() && part.len() <= PART_BYTES, "{}", part.len());
                // Nothing is written before its time.
                let written = calls.load(Ordering::Relaxed).min(count);
                read.extend_from_slice(&part);
                let so_far = (0..written).map(|number| format!("{number}é").len()).sum::<usize>();
                assert_eq!(read.len(), so_far);
            }
            assert!(body.is_end_stream());
            assert!(read == whole.as_bytes());
            assert_eq!(calls.load(Ordering::Relaxed), count + 1);
        }
    }

    #[test]
    fn what_is_given_up_has_no_end() {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        for parts in 0..3 {
            let mut left = parts;
            let mut body = AnswerBody::written(move |text| {
                left -= 1;
                let part = "x".repeat(PART_BYTES);
                if left < 0 {
                    Err(AnswerCut)
                } else {
                    text.push_str(&part);
                    Ok(true)
                }
            });
            for _ in 0..parts {
                assert!(runtime.block_on(body.frame()).unwrap().is_ok());
            }
            assert!(!body.is_end_stream());
            assert!(runtime.block_on(body.frame()).unwrap().is_err());
        }
    }
}
