//! The memory of a task as the programs copied it, some pieces at the entry of a call and some at
//! its exit.

use bpf::{MemoryPieces, PieceOrigin};

use crate::Memory;
use crate::engine::memory::TaskMemory;

/// Which pieces of a record are used.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum PieceFilter {
    All,
    OfEnter,
    OfExit,
}

/// Copies of a task's memory; where several hold the same address, the first is used.
pub(super) struct CopiedMemory<'a> {
    pub(super) sources: [(&'a [u8], PieceFilter); 4],
    /// The task to read from what is in no piece, if it is still in the call.
    pub(super) task: Option<i32>,
}

impl<'a> CopiedMemory<'a> {
    /// Only these pieces.
    pub(super) fn of(pieces: &'a [u8]) -> Self {
        let mut sources = [(&[][..], PieceFilter::All); 4];
        sources[0].0 = pieces;
        CopiedMemory { sources, task: None }
    }
}

/// The bytes from an address to the end of the piece that holds it.
fn find(pieces: &[u8], those: PieceFilter, address: u64) -> Option<&[u8]> {
    let counts = |origin| match origin {
        PieceOrigin::Enter => those != PieceFilter::OfExit,
        PieceOrigin::Exit => those != PieceFilter::OfEnter,
        // Of another address space.
        PieceOrigin::NewPath | PieceOrigin::NewArguments | PieceOrigin::NewEnvironment => false,
    };
    MemoryPieces::of(pieces).filter(|piece| counts(piece.origin)).find_map(|piece| {
        let skip = usize::try_from(address.checked_sub(piece.address)?).ok()?;
        piece.bytes.get(skip..).filter(|rest| !rest.is_empty())
    })
}

impl Memory for CopiedMemory<'_> {
    fn read(&self, address: u64, into: &mut [u8]) -> usize {
        let mut done = 0;
        while done < into.len() {
            let Some(from) = address.checked_add(done as u64) else { break };
            let mut found = self.sources.iter().map(|(pieces, those)| find(pieces, *those, from));
            let Some(bytes) = found.find_map(|bytes| bytes) else { break };
            let count = bytes.len().min(into.len() - done);
            into[done..done + count].copy_from_slice(&bytes[..count]);
            done += count;
        }
        match self.task {
            Some(task) if done == 0 => TaskMemory(task).read(address, into),
            _ => done,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn piece(address: u64, phase: u32, text: &[u8]) -> Vec<u8> {
        let mut bytes = Vec::new();
        bytes.extend(address.to_ne_bytes());
        bytes.extend((text.len() as u32).to_ne_bytes());
        bytes.extend(phase.to_ne_bytes());
        bytes.extend(text);
        bytes.resize(bytes.len().next_multiple_of(8), 0);
        bytes
    }

    fn shown(copies: &CopiedMemory<'_>, address: u64, length: usize) -> Vec<u8> {
        let mut into = vec![0; length];
        let have = copies.read(address, &mut into);
        into.truncate(have);
        into
    }

    #[test]
    fn pieces_that_touch_are_one_and_the_first_source_holds() {
        let late = [piece(100, 2, b"new"), piece(103, 2, b"er"), piece(200, 1, b"seen")].concat();
        let early = [piece(100, 1, b"older"), piece(300, 1, b"kept")].concat();
        let copies = CopiedMemory {
            sources: [
                (&late, PieceFilter::OfExit),
                (&late, PieceFilter::OfEnter),
                (&early, PieceFilter::All),
                (&[], PieceFilter::All),
            ],
            task: None,
        };
        assert_eq!(shown(&copies, 100, 9), b"newer");
        assert_eq!(shown(&copies, 101, 2), b"ew");
        assert_eq!(shown(&copies, 200, 4), b"seen");
        assert_eq!(shown(&copies, 302, 4), b"pt");
        assert_eq!(shown(&copies, 304, 4), b"");
        assert_eq!(shown(&copies, 99, 4), b"");
        assert_eq!(shown(&copies, u64::MAX, 4), b"");
        let only = CopiedMemory {
            sources: [
                (&late, PieceFilter::OfEnter),
                (&[], PieceFilter::All),
                (&[], PieceFilter::All),
                (&[], PieceFilter::All),
            ],
            task: None,
        };
        assert_eq!(shown(&only, 100, 3), b"");
        // The stack of a new program is at addresses of its own.
        assert_eq!(shown(&CopiedMemory::of(&piece(100, 8, b"new")), 100, 3), b"");
    }
}
