//! Answers: a status, a type and a body.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll};

use hyper::body::{Body, Bytes, Frame, SizeHint};
use hyper::header::{ALLOW, CONTENT_TYPE, HeaderValue};
use hyper::{Response, StatusCode};
use tokio::sync::mpsc::Receiver;

/// An answer to a request.
pub type HttpAnswer = Response<AnswerBody>;

/// The body of an answer: whole, in parts, part after part, or written while it is sent.
#[derive(Debug)]
pub struct AnswerBody(Parts);

#[derive(Debug)]
enum Parts {
    Whole(Bytes),
    Several(VecDeque<Bytes>),
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

    /// A text that is written while the connection takes it, and so never whole in memory.  `write`
    /// appends some more, a few KiB, and says whether there is more after it.
    ///
    /// The first part is written at once.  A text of one part has a length; the length of a longer one
    /// is known only at its end (RFC 9112, section 7.1: it is sent in chunks).
    #[must_use]
    pub fn written(write: impl FnMut(&mut String) -> bool + Send + 'static) -> Self {
        let mut write: WriteMore = Box::new(write);
        match part_of(&mut write) {
            (whole, false) => whole.into(),
            (first, true) => AnswerBody(Parts::Written(WrittenText {
                first: Some(first),
                write: Some(write),
                gives_way: false,
            })),
        }
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
            Parts::Several(parts) => Poll::Ready(parts.pop_front()),
            Parts::Coming(parts) => parts.poll_recv(context),
            Parts::Written(text) => text.poll_part(context),
        };
        part.map(|part| part.map(|part| Ok(Frame::data(part))))
    }

    fn is_end_stream(&self) -> bool {
        match &self.0 {
            Parts::Whole(whole) => whole.is_empty(),
            Parts::Several(parts) => parts.is_empty(),
            Parts::Coming(_) => false,
            Parts::Written(text) => text.first.is_none() && text.write.is_none(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.0 {
            Parts::Whole(whole) => SizeHint::with_exact(whole.len() as u64),
            Parts::Several(parts) => {
                SizeHint::with_exact(parts.iter().map(|part| part.len() as u64).sum())
            }
            Parts::Coming(_) | Parts::Written(_) => SizeHint::default(),
        }
    }
}

/// Bytes of a part of a text that is written as a body.
const PART_BYTES: usize = 64 << 10;

/// Appends some more of a text, and says whether there is more after it.
type WriteMore = Box<dyn FnMut(&mut String) -> bool + Send>;

/// A text that is written while it is sent.
struct WrittenText {
    first: Option<Bytes>,
    write: Option<WriteMore>,
    gives_way: bool,
}

impl WrittenText {
    fn poll_part(&mut self, context: &mut Context<'_>) -> Poll<Option<Bytes>> {
        if let Some(first) = self.first.take() {
            return Poll::Ready(Some(first));
        }
        let Some(write) = &mut self.write else { return Poll::Ready(None) };
        // A part takes some 0.3 ms of the thread that all connections have: others come between two.
        self.gives_way = !self.gives_way;
        if self.gives_way {
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        let (part, is_more) = part_of(write);
        if !is_more {
            self.write = None;
        }
        Poll::Ready(Some(part).filter(|part| !part.is_empty()))
    }
}

impl fmt::Debug for WrittenText {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("WrittenText").field("is_over", &self.write.is_none()).finish()
    }
}

/// The next part of a text, and whether there is more after it.
fn part_of(write: &mut WriteMore) -> (Bytes, bool) {
    let mut part = String::with_capacity(PART_BYTES);
    // What is written at a time fits into the rest.
    while part.len() < PART_BYTES * 3 / 4 {
        if !write(&mut part) {
            return (part.into(), false);
        }
    }
    (part.into(), true)
}

/// A text that becomes a body: in parts, so that a long one never moves and is freed while it is
/// sent.  It takes so many bytes and no more: then it is an error to write.
#[derive(Debug)]
pub struct AnswerText {
    full: VecDeque<Bytes>,
    last: String,
    left: usize,
}

impl AnswerText {
    /// A text of so many bytes at most.
    #[must_use]
    pub fn new(most: usize) -> Self {
        AnswerText { full: VecDeque::new(), last: String::new(), left: most }
    }

    fn end_part(&mut self) {
        if !self.last.is_empty() {
            self.full.push_back(std::mem::take(&mut self.last).into());
        }
    }
}

impl fmt::Write for AnswerText {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.left = self.left.checked_sub(text.len()).ok_or(fmt::Error)?;
        if self.last.len() + text.len() > PART_BYTES {
            self.end_part();
            self.last.reserve_exact(PART_BYTES);
        }
        self.last.push_str(text);
        Ok(())
    }
}

impl From<AnswerText> for AnswerBody {
    fn from(mut text: AnswerText) -> Self {
        text.end_part();
        AnswerBody(Parts::Several(text.full))
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

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use http_body_util::BodyExt as _;

    use super::*;

    #[test]
    fn a_text_becomes_a_body_of_its_length_part_after_part() {
        let limit = 3 * PART_BYTES;
        for pieces in [vec![], vec!["a"], vec!["1234567"; PART_BYTES / 3], vec!["é"; PART_BYTES]] {
            let mut text = AnswerText::new(limit);
            pieces.iter().for_each(|piece| text.write_str(piece).unwrap());
            let mut body = AnswerBody::from(text);
            let whole = pieces.concat();
            assert_eq!(body.size_hint().exact(), Some(whole.len() as u64));
            let mut read = Vec::new();
            let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
            while let Some(part) = runtime.block_on(body.frame()) {
                let part = part.unwrap().into_data().unwrap();
                assert!(!part.is_empty() && part.len() <= PART_BYTES, "{}", part.len());
                read.extend_from_slice(&part);
            }
            assert!(body.is_end_stream());
            assert!(read == whole.as_bytes());
        }
    }

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
                is_more
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
    fn a_text_takes_no_more_than_it_may() {
        let mut text = AnswerText::new(5);
        text.write_str("1234").unwrap();
        text.write_str("56").unwrap_err();
        text.write_str("5").unwrap();
        text.write_str("6").unwrap_err();
        assert_eq!(AnswerBody::from(text).size_hint().exact(), Some(5));
    }
}
