//! Log records of engines, read back: the JSON lines that `whit send` handed over become records again, so
//! that filters and forms are those of a store.
//!
//! An engine chooses roughly, by host, process, level and time (`loki_read.rs`, `jetstream_read.rs`); the
//! filter of a store decides.  An engine that has its lines in the order of time is read as it comes; of
//! others what is wanted is kept in memory, within a bound, and put in order.

use std::ops::ControlFlow;
use std::time::Duration;

use log_format::ReadRecord;
use log_protocol::ProcessInfo;
use log_store::query::Filter;
use log_store::{Item, StreamPart, Visit};

use crate::kinds::{self, EngineAddress};
use crate::log_question::LogQuestion;
use crate::settings::{EngineAccess, SendSettings};
use crate::{SendError, SendInput};

/// Bytes of lines that are kept to put them in order: about a million records.
const KEPT_BYTES_MAX: usize = 256 << 20;

/// How long an engine may take to answer a question.
const TIMEOUT: Duration = Duration::from_secs(60);

/// Whether a text names an engine whose log records can be read, in the place of a folder.
#[must_use]
pub fn is_log_engine(text: &str) -> bool {
    let kind = text.split_once('=').and_then(|(name, _)| kinds::named(name));
    kind.is_some_and(|kind| kind.reads.is_some())
}

/// Visits the records of an engine (`loki=URL`, `jetstream=ADDRESS`) that may be wanted, in the order of
/// their times; how many lines of it are no records of whit.
///
/// # Errors
/// If the address is none, the engine does not answer, or has too much.
pub fn read_logs(
    address: &str,
    filter: &Filter,
    access: &EngineAccess,
    now_ns: u64,
    visit: &mut Visit<'_>,
) -> Result<u64, SendError> {
    let engine = EngineAddress::parse(address)?;
    engine.check(SendInput::Logs)?;
    let way = engine.log_reader()?;
    let mut settings = SendSettings::default();
    settings.client.timeout = TIMEOUT;
    access.load(&mut settings, engine.is_encrypted())?;
    let mut unknown = 0;
    let server = engine.to_string();
    let question = LogQuestion { server: &server, filter, now_ns };
    let (mut kept, mut scratch) = (KeptLines::default(), Vec::new());
    engine.read_lines(way, &question, &settings, &mut |line| {
        let Some(record) = ReadRecord::parse(line) else {
            unknown += 1;
            return Ok(ControlFlow::Continue(()));
        };
        if way.is_ordered() {
            return Ok(show(&record, visit));
        }
        let mut is_wanted = false;
        let _ = show(&record, &mut |item| {
            is_wanted = filter.wanted(item, &mut scratch).is_some();
            ControlFlow::Continue(())
        });
        if is_wanted && !kept.add(record.time_ns, line) {
            return Err(SendError::TooManyLogs { server: server.clone() });
        }
        Ok(ControlFlow::Continue(()))
    })?;
    kept.show(visit);
    Ok(unknown)
}

/// Visits a record.
fn show(record: &ReadRecord, visit: &mut Visit<'_>) -> ControlFlow<()> {
    let origin = record.origin();
    let process = ProcessInfo {
        pid: origin.pid,
        host: origin.host.to_owned(),
        name: origin.process.to_owned(),
        ..ProcessInfo::default()
    };
    let (ring, tid, thread) = (origin.ring, origin.tid, origin.thread.to_owned());
    let stream = StreamPart { process: 0, ring, tid, thread, first: 0, next: 0, count: 0 };
    visit(&Item {
        process: &process,
        stream: &stream,
        record: &record.record(),
        dictionary: &record.dictionary,
        dictionary_bytes: &[],
    })
}

/// Lines that are put in order.
#[derive(Default)]
struct KeptLines {
    text: Vec<u8>,
    /// The time of each, and where it is.
    lines: Vec<(u64, usize, usize)>,
}

impl KeptLines {
    /// Keeps a line, if there is room.
    fn add(&mut self, time_ns: u64, line: &[u8]) -> bool {
        let begin = self.text.len();
        self.text.extend_from_slice(line);
        self.lines.push((time_ns, begin, self.text.len()));
        self.text.len() + self.lines.len() * 24 <= KEPT_BYTES_MAX
    }

    /// Visits the records; those of one time in the order in which they came.
    fn show(&mut self, visit: &mut Visit<'_>) {
        self.lines.sort_by_key(|(time_ns, ..)| *time_ns);
        for (_, begin, end) in &self.lines {
            let record = ReadRecord::parse(&self.text[*begin..*end]);
            if record.is_some_and(|record| show(&record, visit).is_break()) {
                return;
            }
        }
    }
}
