//! Turns records into events, with the memory that was copied at the entry and at the exit.

use std::ops::ControlFlow;

use bpf::{CallRecord, EventRecord};

use super::super::EventHandler;
use super::copied_memory::{CopiedMemory, PieceFilter};
use super::{Later, new_image};
use crate::tasks::TaskMap;
use crate::{Abi, Call, CallChanges, CallId, EventKind, Signal, TraceEvent, WaitStatus};

/// Most calls under way whose memory is kept: as many tasks as a machine has, and a bound for calls
/// whose exit was lost.
const KEPT_MAX: usize = 1 << 16;

/// Capacity in bytes that a task keeps for the memory of its next calls.
const KEPT_BYTES: usize = 4096;

/// The memory at the entry of a call.
#[derive(Default)]
struct EntryMemory {
    number: u64,
    pieces: Vec<u8>,
}

/// Whether the event handler wants more.
pub(super) type Flow = ControlFlow<()>;

/// Hands over records one by one.
pub(super) struct RecordReader {
    /// Entry and exit come together, because only the exit decides whether a call is reported.
    late: bool,
    /// The memory at the entry of the call that each task is in.
    begun: TaskMap<EntryMemory>,
}

impl RecordReader {
    pub(super) fn new(late: bool) -> Self {
        RecordReader { late, begun: TaskMap::default() }
    }

    /// Drops what was kept.
    pub(super) fn forget(&mut self) {
        self.begun.clear();
    }

    /// Whether the memory that an entry lacks is wanted before its exit is handed over.
    pub(super) fn is_held(&self, record: &EventRecord<'_>) -> bool {
        !self.late && record.head().is_incomplete()
    }

    /// Hands over one record.
    pub(super) fn hand_over(
        &mut self,
        first: &EventRecord<'_>,
        later: Later<'_>,
        task: Option<i32>,
        each: &mut EventHandler<'_>,
    ) -> Flow {
        let head = first.head();
        let event = |what| TraceEvent {
            time_ns: head.time_ns,
            thread: head.thread,
            process: head.process,
            what,
        };
        match first {
            EventRecord::Enter(record, pieces) => {
                let pieces = pieces.bytes();
                if self.late {
                    self.keep(record, pieces);
                    return Flow::Continue(());
                }
                let call = call_of(record);
                let what = EventKind::Enter(call);
                let made = new_image::pieces(&call, later.is_interpreted, pieces, later.pieces);
                let sources = [
                    (pieces, PieceFilter::All),
                    (later.pieces, PieceFilter::OfEnter),
                    (&made, PieceFilter::All),
                    (&[], PieceFilter::All),
                ];
                let flow = each(&event(what), &CopiedMemory { sources, task });
                self.keep(record, pieces);
                flow
            }
            EventRecord::Exit(record, pieces) => self.hand_over_exit(record, pieces.bytes(), each),
            EventRecord::Signal(_, info) => {
                let mut bytes = [0; 128];
                bytes[..info.len()].copy_from_slice(info);
                let signal = Signal::from_siginfo(&bytes);
                let flow = each(&event(EventKind::Signal(signal)), &());
                let stops = [libc::SIGSTOP, libc::SIGTSTP, libc::SIGTTIN, libc::SIGTTOU];
                if flow.is_continue() && head.is_default() && stops.contains(&signal.number) {
                    return each(&event(EventKind::Stopped(signal.number)), &());
                }
                flow
            }
            EventRecord::Began(_, parent) => {
                each(&event(EventKind::Began { parent: *parent }), &())
            }
            EventRecord::Superseded(_, former) => {
                if let Some(pieces) = self.begun.remove(former) {
                    self.begun.insert(head.thread, pieces);
                }
                each(&event(EventKind::Superseded { former: *former }), &())
            }
            EventRecord::Ended(_, code) => {
                self.begun.remove(&head.thread);
                each(&event(EventKind::Ended(end_of(*code))), &())
            }
        }
    }

    fn hand_over_exit(
        &mut self,
        record: &CallRecord,
        pieces: &[u8],
        each: &mut EventHandler<'_>,
    ) -> Flow {
        let head = record.head;
        let call = call_of(record);
        let begun = self.begun.get_mut(&head.thread);
        // Not that of a call before, whose exit was not reported.
        let begun = begun.filter(|begun| begun.number == record.number);
        let early = begun.as_deref().map_or(&[][..], |begun| begun.pieces.as_slice());
        let made = new_image::pieces(&call, head.is_interpreted(), early, pieces);
        let sources = [
            (pieces, PieceFilter::OfExit),
            (early, PieceFilter::All),
            (pieces, PieceFilter::OfEnter),
            (&made, PieceFilter::All),
        ];
        let memory = CopiedMemory { sources, task: None };
        let mut event = TraceEvent {
            time_ns: head.time_ns.saturating_sub(record.wall_ns),
            thread: head.thread,
            process: head.process,
            what: EventKind::Enter(call),
        };
        if self.late {
            let mut sources = memory.sources;
            // As it was at the entry, where that is known.
            sources.rotate_left(1);
            each(&event, &CopiedMemory { sources, task: None })?;
        }
        event.time_ns = head.time_ns;
        event.what = EventKind::Exit {
            call,
            result: record.result,
            wall_ns: record.wall_ns,
            cpu_ns: Some(record.cpu_ns),
            changes: CallChanges::default(),
        };
        let flow = each(&event, &memory);
        if let Some(begun) = begun {
            begun.pieces.clear();
        }
        flow
    }

    /// Keeps the memory of a call's entry until its exit.
    fn keep(&mut self, record: &CallRecord, pieces: &[u8]) {
        let is_full = self.begun.len() >= KEPT_MAX;
        let (thread, number) = (record.head.thread, record.number);
        match self.begun.get_mut(&thread) {
            Some(begun) => {
                begun.number = number;
                begun.pieces.clear();
                // Few calls need much, and there may be many tasks.
                begun.pieces.shrink_to(KEPT_BYTES.max(pieces.len()));
                begun.pieces.extend_from_slice(pieces);
            }
            None if pieces.is_empty() || is_full => {}
            None => {
                let begun = EntryMemory { number, pieces: pieces.to_vec() };
                self.begun.insert(thread, begun);
            }
        }
    }
}

fn call_of(record: &CallRecord) -> Call {
    let id = if record.head.is_compat() {
        CallId { abi: Abi::I386, number: record.number & 0xffff_ffff }
    } else {
        CallId::native(record.number)
    };
    Call { id, arguments: record.arguments }
}

/// The wait status of a task from its exit code (`wait(2)`).
fn end_of(code: u32) -> WaitStatus {
    match code & 0x7f {
        0 => WaitStatus::Exited((code >> 8 & 0xff) as i32),
        number => WaitStatus::Signaled { number: number as i32, dumped: code & 0x80 != 0 },
    }
}
