//! Memory of queries, and of the answers that are being sent, in all of a server.
//!
//! Each query may hold [`SMALL_BYTES`].  One at a time may hold more, up to its own limit: it has the turn,
//! and others wait for theirs.  A large answer keeps the turn until it is sent; small ones share
//! [`ANSWERS_BYTES`].  So a server holds no more than the memory of one large query, [`SMALL_BYTES`] for
//! each other one and [`ANSWERS_BYTES`], whatever clients ask at once and however slowly they read.
//!
//! A slow client does not keep others from their answers: one that has not taken its own in
//! [`SENT_TIME`] loses the rest of it if another one waits for the memory.  Its connection is closed in
//! the middle of the answer, so that it sees that.

use std::cell::Cell;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use http_server::{AnswerBody, AnswerCut};
use promql::{QueryControl, QueryError, Stop};

use crate::clock::Deadline;

/// What every query and its answer may hold: a piece of a long period and an answer beside it.
pub(crate) const SMALL_BYTES: usize = 5 << 19;

/// What small answers hold together while they are sent.
const ANSWERS_BYTES: usize = 2 << 20;

/// What an answer takes beside what it is written from: a part that is sent, and one that is written.
const PARTS_BYTES: usize = 128 << 10;

/// How long an answer is sent before it may be given up.
const SENT_TIME: Duration = Duration::from_secs(10);

/// A query that waits looks so often.
const LOOK_EVERY: Duration = Duration::from_millis(5);

/// What a text has at most that need not be counted: the answer is one part.
const PART_BYTES: usize = 48 << 10;

/// Why a query must end now, if it must.
pub(crate) type LooksForStop = Arc<dyn Fn() -> Option<Stop> + Send + Sync>;

/// Writes the next piece of an answer, and says whether there is more.
type WriteMore = Box<dyn FnMut(&mut String) -> bool + Send>;

/// The memory of a server.
#[derive(Default)]
pub(crate) struct QueryMemory(Mutex<MemoryState>);

#[derive(Default)]
struct MemoryState {
    /// The small answers that are being sent, the oldest first.
    small: Vec<Arc<OpenAnswer>>,
    large: LargeTurn,
}

/// Who has the turn to be large.
#[derive(Default)]
enum LargeTurn {
    #[default]
    Free,
    Evaluated,
    Sent(Arc<OpenAnswer>),
}

/// An answer that is being sent.
struct OpenAnswer {
    bytes: usize,
    /// When it gives way.
    late_from: Deadline,
    /// `None` when it is over, or given up.
    write: Mutex<Option<WriteMore>>,
}

impl OpenAnswer {
    fn lock(&self) -> MutexGuard<'_, Option<WriteMore>> {
        self.write.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_over(&self) -> bool {
        self.lock().is_none()
    }

    /// Ends it if it was sent for long enough.
    fn give_way(&self) -> bool {
        let is_late = self.late_from.has_passed();
        if is_late {
            self.end();
        }
        is_late
    }

    fn end(&self) {
        drop(self.lock().take());
    }

    fn write(&self, text: &mut String) -> Result<bool, AnswerCut> {
        let mut write = self.lock();
        let is_more = write.as_mut().ok_or(AnswerCut)?(text);
        if !is_more {
            *write = None;
        }
        Ok(is_more)
    }
}

/// Ends an answer with its connection.
struct SentAnswer(Arc<OpenAnswer>);

impl Drop for SentAnswer {
    fn drop(&mut self) {
        self.0.end();
    }
}

impl MemoryState {
    /// Takes the turn, if nobody has it.
    fn take_large(&mut self) -> bool {
        let is_free = match &self.large {
            LargeTurn::Free => true,
            LargeTurn::Evaluated => false,
            LargeTurn::Sent(answer) => answer.is_over() || answer.give_way(),
        };
        if is_free {
            self.large = LargeTurn::Evaluated;
        }
        is_free
    }

    /// Adds a small answer, if there is room for it.
    fn add_small(&mut self, answer: &Arc<OpenAnswer>) -> bool {
        self.small.retain(|open| !open.is_over());
        let held: usize = self.small.iter().map(|open| open.bytes).sum();
        let mut excess = (held + answer.bytes).saturating_sub(ANSWERS_BYTES);
        self.small.retain(|open| {
            let goes = excess > 0 && open.give_way();
            if goes {
                excess = excess.saturating_sub(open.bytes);
            }
            !goes
        });
        let has_room = excess == 0 || self.small.is_empty();
        if has_room {
            self.small.push(answer.clone());
        }
        has_room
    }
}

/// A query and its answer, in the thread that evaluates it.
pub(crate) struct QueryTurn {
    memory: Arc<QueryMemory>,
    stop: LooksForStop,
    is_large: Cell<bool>,
    was_large: Cell<bool>,
}

impl QueryTurn {
    /// A query that holds nothing yet.
    pub(crate) fn new(memory: &Arc<QueryMemory>, stop: &LooksForStop) -> Self {
        let [is_large, was_large] = [(); 2].map(|()| Cell::new(false));
        QueryTurn { memory: memory.clone(), stop: stop.clone(), is_large, was_large }
    }

    fn lock(&self) -> MutexGuard<'_, MemoryState> {
        self.memory.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until something is done.
    fn wait(&self, mut is_done: impl FnMut(&mut MemoryState) -> bool) -> Result<(), QueryError> {
        while !is_done(&mut self.lock()) {
            if let Some(stop) = (self.stop)() {
                return Err(stop.into());
            }
            std::thread::sleep(LOOK_EVERY);
        }
        Ok(())
    }

    fn take_large(&self) -> Result<(), QueryError> {
        if !self.is_large.get() {
            self.wait(MemoryState::take_large)?;
            self.is_large.set(true);
            self.was_large.set(true);
        }
        Ok(())
    }

    /// A body that is written by `write` while it is sent, from what takes so many bytes.
    pub(crate) fn written(
        &self,
        bytes: usize,
        write: impl FnMut(&mut String) -> bool + Send + 'static,
    ) -> Result<AnswerBody, QueryError> {
        let is_large = bytes > SMALL_BYTES;
        if is_large {
            self.take_large()?;
        }
        let answer = Arc::new(OpenAnswer {
            bytes: bytes.saturating_add(PARTS_BYTES),
            late_from: Deadline::after(SENT_TIME),
            write: Mutex::new(Some(Box::new(write))),
        });
        let sent = SentAnswer(answer.clone());
        if is_large {
            self.lock().large = LargeTurn::Sent(answer);
            self.is_large.set(false);
        } else {
            self.wait(|state| state.add_small(&answer))?;
        }
        Ok(AnswerBody::written(move |text| sent.0.write(text)))
    }

    /// A body that is a text.
    pub(crate) fn text(&self, text: String) -> Result<AnswerBody, QueryError> {
        if text.len() <= PART_BYTES {
            return Ok(text.into());
        }
        let mut begun = 0;
        self.written(text.capacity(), move |part| {
            let end = text.floor_char_boundary(begun + PART_BYTES / 8);
            part.push_str(&text[begun..end]);
            begun = end;
            begun < text.len()
        })
    }

    /// A body that was made already: a text counts until it is sent.  Others, as pictures, are small.
    pub(crate) fn sent(&self, body: AnswerBody) -> Result<AnswerBody, QueryError> {
        match body.into_text() {
            Ok(text) => self.text(text),
            Err(other) => Ok(other),
        }
    }

    /// A body that is a list: what stands around it, and its items, each written by `write` into a few
    /// KiB.  What they are made of takes so many bytes; the text has `bytes_max` at most.
    pub(crate) fn list<T: Send + 'static>(
        &self,
        [begin, end]: [&'static str; 2],
        (items, bytes): (Vec<T>, usize),
        bytes_max: usize,
        write: fn(&T, &mut String),
    ) -> Result<Option<AnswerBody>, QueryError> {
        let mut all = begin.len() + end.len() + items.len().saturating_sub(1);
        let mut text = String::new();
        for item in &items {
            text.clear();
            write(item, &mut text);
            all += text.len();
        }
        if all > bytes_max {
            return Ok(None);
        }
        let bytes = bytes.saturating_add(items.capacity() * size_of::<T>());
        let mut items = items.into_iter();
        let mut before = begin;
        let body = self.written(bytes, move |text| {
            let item = items.next();
            match &item {
                Some(item) => {
                    text.push_str(before);
                    before = ",";
                    write(item, text);
                }
                None => {
                    text.push_str(if before == "," { "" } else { before });
                    text.push_str(end);
                }
            }
            item.is_some()
        })?;
        Ok(Some(body))
    }
}

impl QueryControl for QueryTurn {
    fn stop(&self) -> Option<Stop> {
        (self.stop)()
    }

    fn before_large(&self) -> Result<(), QueryError> {
        self.take_large()
    }
}

impl Drop for QueryTurn {
    fn drop(&mut self) {
        if self.was_large.get() {
            // Its thread's arena would keep it, beside the memory of the next one in another thread.
            heap::return_free_memory();
        }
        if self.is_large.get() {
            self.lock().large = LargeTurn::Free;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    /// A query that waits for two looks.
    fn turn(memory: &Arc<QueryMemory>) -> QueryTurn {
        let looks = AtomicUsize::new(0);
        let is_over = move || looks.fetch_add(1, Ordering::Relaxed) == 2;
        let stop: LooksForStop = Arc::new(move || is_over().then_some(Stop::TimedOut));
        QueryTurn::new(memory, &stop)
    }

    fn endless(text: &mut String) -> bool {
        text.push_str("and so on ");
        true
    }

    /// An answer that is late already.
    fn late(bytes: usize) -> Arc<OpenAnswer> {
        let late_from = Deadline::after(Duration::ZERO);
        while !late_from.has_passed() {}
        open(late_from, bytes)
    }

    fn open(late_from: Deadline, bytes: usize) -> Arc<OpenAnswer> {
        let write = Mutex::new(Some(Box::new(endless) as WriteMore));
        Arc::new(OpenAnswer { bytes, late_from, write })
    }

    #[test]
    fn small_answers_share_their_room_and_late_ones_give_way() {
        let memory = Arc::new(QueryMemory::default());
        let later = Deadline::after(SENT_TIME * 1000);
        let (early, late) = (open(later, ANSWERS_BYTES / 2), late(1000));
        memory.0.lock().unwrap().small = vec![early.clone(), late.clone()];
        let half = ANSWERS_BYTES / 2 - PARTS_BYTES;
        let first = turn(&memory).written(half, endless).unwrap();
        assert!(late.is_over() && !early.is_over());
        let refused = turn(&memory).written(half, endless).map(drop);
        assert_eq!(refused, Err(QueryError::TimedOut));
        // Where somebody's place is free again there is room.
        drop(first);
        turn(&memory).written(half, endless).unwrap();
        assert!(!early.is_over());
        early.end();
        assert_eq!(early.write(&mut String::new()), Err(AnswerCut));
    }

    #[test]
    fn one_is_large_until_its_answer_is_sent_or_late() {
        let memory = Arc::new(QueryMemory::default());
        let first = turn(&memory);
        first.before_large().unwrap();
        first.before_large().unwrap();
        assert_eq!(turn(&memory).before_large(), Err(QueryError::TimedOut));
        let body = first.written(SMALL_BYTES + 1, endless).unwrap();
        drop(first);
        assert_eq!(turn(&memory).before_large(), Err(QueryError::TimedOut));
        // A small one goes on; a large one that was made already waits, too.
        turn(&memory).sent("x".repeat(PART_BYTES * 2).into()).unwrap();
        let large = turn(&memory).sent("x".repeat(SMALL_BYTES + 1).into()).map(drop);
        assert_eq!(large, Err(QueryError::TimedOut));
        drop(body);
        let second = turn(&memory);
        second.before_large().unwrap();
        drop(second);
        let late = late(SMALL_BYTES);
        memory.0.lock().unwrap().large = LargeTurn::Sent(late.clone());
        turn(&memory).before_large().unwrap();
        assert!(late.is_over());
    }
}
