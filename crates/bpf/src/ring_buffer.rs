//! A BPF ring buffer (`BPF_MAP_TYPE_RINGBUF`), from which many records are read at a time.
//!
//! Two positions that only grow say how far it was written and how far it was read.  A record is a
//! header of eight bytes, of which the first four are its length and two flags, and its data,
//! padded to a multiple of eight.  The data area is mapped twice in a row, so a record that wraps
//! around the end is contiguous in memory.
//!
//! A writer loads the read position, and so fetches its cache line from our CPU whenever we have
//! stored to it.  So we copy many records out and store the position once: the copy costs less than
//! what the writers save, and parsing it afterwards finds it in the cache.
//!
//! Described in the kernel's `Documentation/bpf/ringbuf.rst`; the layout is that of
//! `kernel/bpf/ringbuf.c`, which user space depends on.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use aya::maps::{Map, MapData};
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};
use rustix::param::page_size;

use crate::Error;

/// Bytes of the header before each record.
const HEADER: usize = 8;
/// Flag in a header: the record is being written.
const BUSY: u32 = 1 << 31;
/// Flag in a header: the record was discarded.
const DISCARDED: u32 = 1 << 30;

/// Memory that is shared with the kernel.
struct Mapping {
    start: NonNull<u8>,
    bytes: usize,
}

impl Mapping {
    fn new(map: BorrowedFd<'_>, bytes: usize, access: ProtFlags, at: usize) -> Result<Self, Error> {
        // SAFETY: a new mapping, at an address that the kernel chooses.
        let start =
            unsafe { mmap(std::ptr::null_mut(), bytes, access, MapFlags::SHARED, map, at as u64) };
        let start = start.map_err(|error| Error::Read(error.into()))?;
        let start = NonNull::new(start.cast());
        let start = start.ok_or_else(|| Error::Read(io::ErrorKind::OutOfMemory.into()))?;
        Ok(Mapping { start, bytes })
    }

    /// The position at the start of a page, which the other side may change at any time.
    fn position(&self) -> &AtomicU64 {
        // SAFETY: a page, which is aligned, mapped for as long as this lives, and used as one
        // number by both sides.
        unsafe { self.start.cast().as_ref() }
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: mapped by us with this length, and nothing points into it any more.
        let _ = unsafe { munmap(self.start.as_ptr().cast(), self.bytes) };
    }
}

/// The reader's side of a ring buffer.
pub(crate) struct RingBuffer {
    /// A page with the read position.
    read: Mapping,
    /// A page with the write position, and the data area twice.
    written: Mapping,
    /// Bytes of the data area: a power of two.
    bytes: usize,
    /// Offset of the data area in `written`: one page.
    data: usize,
    map: MapData,
}

// SAFETY: this value alone owns the mappings, and they are shared only with the kernel.
unsafe impl Send for RingBuffer {}

impl RingBuffer {
    /// Maps a ring buffer of `bytes` bytes.
    pub(crate) fn map(map: Map, bytes: u32) -> Result<Self, Error> {
        let Map::RingBuf(map) = map else {
            return Err(Error::Refused("a map is not a ring".to_owned()));
        };
        let bytes = bytes as usize;
        assert!(bytes.is_power_of_two(), "the size of a ring is a power of two");
        let descriptor = map.fd().as_fd();
        let page = page_size();
        let access = ProtFlags::READ | ProtFlags::WRITE;
        let read = Mapping::new(descriptor, page, access, 0)?;
        let written = Mapping::new(descriptor, page + 2 * bytes, ProtFlags::READ, page)?;
        Ok(RingBuffer { read, written, bytes, data: page, map })
    }

    /// The write position, in bytes since the ring buffer was created.
    pub(crate) fn written(&self) -> u64 {
        self.written.position().load(Ordering::Acquire)
    }

    /// The read position, in bytes since the ring buffer was created.
    pub(crate) fn read(&self) -> u64 {
        self.read.position().load(Ordering::Relaxed)
    }

    /// The length and the flags of the record at a position.
    fn header(&self, position: u64) -> u32 {
        let at = self.data + (position as usize & (self.bytes - 1));
        // SAFETY: within the mapping and aligned, as positions are multiples of eight; the kernel
        // changes it while we read, as one number.
        let header: &AtomicU32 = unsafe { self.written.start.add(at).cast().as_ref() };
        header.load(Ordering::Acquire)
    }

    /// Appends records to `into`, each with its header: the first, and more as long as all together
    /// take at most `room` bytes.  Returns whether no finished record is left.  Makes no system
    /// call.
    pub(crate) fn append_records(&mut self, into: &mut Vec<u8>, room: usize) -> bool {
        let (start, end) = (self.read(), self.written());
        let mut position = start;
        let mut is_empty = true;
        while position < end {
            let header = self.header(position);
            if header & BUSY != 0 {
                break;
            }
            let next = position + room_of(header) as u64;
            if next > end || (position > start && (next - start) as usize > room) {
                is_empty = false;
                break;
            }
            position = next;
        }
        let bytes = (position - start) as usize;
        if bytes > 0 {
            let at = self.data + (start as usize & (self.bytes - 1));
            // SAFETY: `bytes` lies between `start` and `end`, which is at most the data area, and
            // twice that is mapped; the kernel does not write there before the position is stored.
            let records =
                unsafe { std::slice::from_raw_parts(self.written.start.add(at).as_ptr(), bytes) };
            into.extend_from_slice(records);
            // Pairs with the kernel's load of the position before it writes there again.
            self.read.position().store(position, Ordering::Release);
        }
        is_empty
    }
}

impl AsFd for RingBuffer {
    /// Readable while the ring buffer is not empty; a wakeup comes only when a program asks for it.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.map.fd().as_fd()
    }
}

/// Bytes that a record takes with its header and padding.
fn room_of(header: u32) -> usize {
    (HEADER + (header & !(BUSY | DISCARDED)) as usize).next_multiple_of(8)
}

/// The first of the records that [`RingBuffer::append_records`] copied, and how many bytes it takes; `None`
/// if there is none.  A discarded record is empty.
pub(crate) fn first(bytes: &[u8]) -> Option<(&[u8], usize)> {
    let header = u32::from_ne_bytes(*bytes.first_chunk()?);
    let room = room_of(header).min(bytes.len());
    let length = (header & !(BUSY | DISCARDED)) as usize;
    let record = bytes.get(HEADER..HEADER + length)?;
    Some((if header & DISCARDED == 0 { record } else { &[] }, room))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_are_taken_apart() {
        let mut bytes = Vec::new();
        for (header, text) in [(3, &b"one"[..]), (8 | DISCARDED, b"given up"), (9, b"and three")] {
            bytes.extend(u32::to_ne_bytes(header));
            bytes.extend([0xff; 4]);
            bytes.extend(text);
            bytes.resize(bytes.len().next_multiple_of(8), 0);
        }
        let mut rest = &bytes[..];
        let mut found = Vec::new();
        while let Some((record, room)) = first(rest) {
            found.push(record);
            rest = &rest[room..];
        }
        assert_eq!(found, [&b"one"[..], b"", b"and three"]);
        assert!(rest.is_empty());
        assert!(first(&bytes[..10]).is_none());
    }
}
