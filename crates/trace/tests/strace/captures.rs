//! What the table says has to be copied is all that a line needs: an engine that copies it, and
//! looks at nothing later, tells the same as one that can read the task's memory.

use std::collections::HashMap;
use std::ops::ControlFlow;
use std::time::Duration;

use trace::engine::{FollowScope, PtraceEngine, RunResult, TraceEngine};
use trace::{
    Call, CallSet, Capture, CaptureCount, CapturePhase, CapturedData, EventKind, LineOptions,
    Memory, PidPrefix, Printer, captures,
};

use super::programs::command;
use super::script;

/// Bytes of one piece that are copied.
const PIECE_MAX: usize = 64 << 10;

/// Pieces of a task's memory; later ones count more.
#[derive(Default)]
struct Pieces(Vec<(u64, Vec<u8>)>);

impl Memory for Pieces {
    fn read(&self, address: u64, into: &mut [u8]) -> usize {
        let mut best = 0;
        for (start, bytes) in self.0.iter().rev() {
            let Some(offset) = address.checked_sub(*start) else { continue };
            let piece = bytes.get(offset as usize..).unwrap_or_default();
            let length = piece.len().min(into.len());
            if length > best {
                into[..length].copy_from_slice(&piece[..length]);
                best = length;
            }
        }
        best
    }
}

impl Pieces {
    /// Copies what a call's table line says, at one of its two times.
    fn copy(&mut self, call: &Call, result: Option<i64>, memory: &dyn Memory) {
        let now = if result.is_some() { CapturePhase::Exit } else { CapturePhase::Enter };
        for capture in captures(call.id) {
            if capture.when == now || capture.when == CapturePhase::Both {
                self.one(capture, call, result.unwrap_or(0), memory);
            }
        }
    }

    fn bytes(&mut self, address: u64, length: usize, memory: &dyn Memory) -> Vec<u8> {
        let mut bytes = vec![0; length.min(PIECE_MAX)];
        let have = if address == 0 { 0 } else { memory.read(address, &mut bytes) };
        bytes.truncate(have);
        self.0.push((address, bytes.clone()));
        bytes
    }

    fn word(&mut self, address: u64, memory: &dyn Memory) -> u64 {
        let bytes = self.bytes(address, 8, memory);
        bytes.first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes))
    }

    fn text(&mut self, address: u64, memory: &dyn Memory) {
        let mut text = Vec::new();
        let mut byte = [0];
        while text.len() < Capture::TEXT_MAX
            && memory.read(address + text.len() as u64, &mut byte) == 1
        {
            text.push(byte[0]);
            if byte[0] == 0 {
                break;
            }
        }
        self.0.push((address, text));
    }

    fn one(&mut self, capture: &Capture, call: &Call, result: i64, memory: &dyn Memory) {
        let address = call.arguments[usize::from(capture.argument)];
        let count = |length| match length {
            CaptureCount::Fixed(number) => u64::from(number),
            CaptureCount::Argument(index) => call.arguments[usize::from(index)],
            CaptureCount::Result => result.max(0) as u64,
            CaptureCount::Behind(index) => {
                let mut bytes = [0; 4];
                memory.read(call.arguments[usize::from(index)], &mut bytes);
                u64::from(u32::from_le_bytes(bytes))
            }
        };
        let most = PIECE_MAX as u64;
        match capture.what {
            CapturedData::Text => self.text(address, memory),
            CapturedData::Texts | CapturedData::Pointers => {
                for index in 0..1024 {
                    let pointer = self.word(address + index * 8, memory);
                    if pointer == 0 {
                        break;
                    }
                    if capture.what == CapturedData::Texts {
                        self.text(pointer, memory);
                    }
                }
                // The list itself as one piece, as it is read in steps.
                self.bytes(address, 4096, memory);
            }
            CapturedData::Bytes { count: length, size } => {
                let length = count(length).saturating_mul(u64::from(size)).min(most);
                self.bytes(address, length as usize, memory);
            }
            CapturedData::Data(length) => {
                self.bytes(address, count(length).min(most) as usize, memory);
            }
            CapturedData::Vectors { count: length, total } => {
                let total = total.map_or(most, count);
                self.vectors(address, count(length), total, memory);
            }
            CapturedData::Message => self.message(address, memory),
            CapturedData::Messages { count: length } => {
                self.bytes(address, (count(length) as usize).saturating_mul(64), memory);
                for index in 0..count(length).min(1024) {
                    self.message(address + index * 64, memory);
                }
            }
            CapturedData::Mask => {
                let set = self.word(address, memory);
                self.bytes(address, 16, memory);
                self.bytes(set, 8, memory);
            }
            CapturedData::CloneResults => {
                for offset in [8, 24] {
                    let place = self.word(address + offset, memory);
                    self.bytes(place, 4, memory);
                }
            }
        }
    }

    fn vectors(&mut self, address: u64, count: u64, mut left: u64, memory: &dyn Memory) {
        let list = self.bytes(address, count.min(1024) as usize * 16, memory);
        for vector in list.as_chunks::<16>().0 {
            let word = |at: usize| u64::from_le_bytes(*vector[at..].first_chunk().unwrap());
            let length = word(8).min(left).min(PIECE_MAX as u64);
            self.bytes(word(0), length as usize, memory);
            left -= length;
        }
    }

    fn message(&mut self, address: u64, memory: &dyn Memory) {
        let header = self.bytes(address, 56, memory);
        let Some(header) = header.first_chunk::<56>() else { return };
        let word = |at: usize| u64::from_le_bytes(*header[at..].first_chunk().unwrap());
        self.bytes(word(0), (word(8) as u32).min(128) as usize, memory);
        self.bytes(word(32), word(40).min(20 << 10) as usize, memory);
        self.vectors(word(16), word(24), PIECE_MAX as u64, memory);
    }
}

#[test]
fn what_is_copied_is_what_lines_need() {
    if !testkit::is_installed("perl", "perl") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let work = script("work.pl");
    let words = ["perl", &work, folder.path().to_str().unwrap()];
    let mut engine =
        match PtraceEngine::start(&command(&words), FollowScope::Tree, CallSet::all().wanted()) {
            Ok(engine) => engine,
            Err(error) => {
                testkit::skip_refused("ptrace", &error.to_string());
                return;
            }
        };
    let options =
        LineOptions { pid_prefix: PidPrefix::Always, announce: false, ..LineOptions::default() };
    let (mut reading, mut copying) = (Printer::new(options.clone()), Printer::new(options));
    let (mut live, mut copied) = (Vec::new(), Vec::new());
    let mut pieces: HashMap<i32, Pieces> = HashMap::new();
    let progress = engine.run(Some(Duration::from_secs(60)), &mut |event, memory| {
        let task = pieces.entry(event.thread).or_default();
        match event.what {
            EventKind::Enter(call) => {
                task.0.clear();
                task.copy(&call, None, memory);
            }
            EventKind::Exit { call, result, .. } => task.copy(&call, Some(result), memory),
            _ => {}
        }
        reading.event(event, memory, &(), &mut live).unwrap();
        copying.event(event, task, &(), &mut copied).unwrap();
        ControlFlow::Continue(())
    });
    assert_eq!(progress.unwrap(), RunResult::Ended);
    let (live, copied) = (String::from_utf8_lossy(&live), String::from_utf8_lossy(&copied));
    let wrong: Vec<_> = live
        .lines()
        .zip(copied.lines())
        .filter(|(live, copied)| live != copied)
        .map(|(live, copied)| format!("- {live}\n+ {copied}"))
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(live.lines().count() > 500);
}
