//! The data of a call in hexadecimal, below its line (`-e read=`, `-e write=`):
//!
//! ```text
//! read(3, "root:x:0"..., 4096) = 20
//!  | 00000  72 6f 6f 74 3a 78 3a 30  3a 30 3a 72 6f 6f 74 3a  root:x:0:0:root: |
//!  | 00010  2f 72 6f 6f                                       /roo             |
//! ```
//!
//! Data in several buffers has a heading for each.  The memory is read in steps, and no more than
//! [`BYTES_MAX`] of a call are shown.

use std::io::{self, Write};

use crate::event::{Call, error_of};
use crate::select::Dumps;
use crate::{Abi, Memory};

/// Most bytes of one call that are dumped: as for an argument in a line.
const BYTES_MAX: u64 = 16 << 20;

/// Most buffers, and messages, of one call: the kernel's limit (`UIO_MAXIOV`).
const BUFFERS_MAX: u64 = 1024;

/// Bytes of a row.
const ROW: usize = 16;

/// Where the data of a call is.
enum DataSource {
    /// At this argument; its length.
    Bytes(u64),
    /// In buffers at this argument, whose number is the next.
    Buffers,
    /// In the buffers of a message.
    Message,
    /// In the buffers of several messages, whose number is the next argument.
    Messages,
}

/// Writes the data of a call, if its descriptor is in one of the sets: what was read, and what was to
/// be written, also if that failed.
pub(super) fn write(
    dumps: &Dumps,
    call: &Call,
    result: i64,
    memory: &dyn Memory,
    out: &mut dyn Write,
) -> io::Result<()> {
    if dumps.are_none() {
        return Ok(());
    }
    let has_failed = error_of(result).is_some();
    let Some(name) = call.id.known_name() else { return Ok(()) };
    let count = if has_failed { 0 } else { result.cast_unsigned() };
    let [descriptor, address, length, ..] = call.arguments;
    let (place, is_read) = match name {
        "read" | "pread64" | "recv" | "recvfrom" | "mq_timedreceive" => {
            (DataSource::Bytes(count), true)
        }
        "write" | "pwrite64" | "send" | "sendto" | "mq_timedsend" => {
            (DataSource::Bytes(length), false)
        }
        "readv" | "preadv" | "preadv2" => (DataSource::Buffers, true),
        "writev" | "pwritev" | "pwritev2" | "vmsplice" => (DataSource::Buffers, false),
        "recvmsg" => (DataSource::Message, true),
        "sendmsg" => (DataSource::Message, false),
        "recvmmsg" | "recvmmsg_time64" => (DataSource::Messages, true),
        "sendmmsg" => (DataSource::Messages, false),
        _ => return Ok(()),
    };
    let set = if is_read { &dumps.read } else { &dumps.write };
    if !set.has(descriptor as i32) || is_read && has_failed {
        return Ok(());
    }
    let left = if is_read { count.min(BYTES_MAX) } else { BYTES_MAX };
    let mut dump = Dump { memory, out, left, word: if call.id.abi == Abi::I386 { 4 } else { 8 } };
    match place {
        DataSource::Bytes(length) => dump.bytes(address, length),
        DataSource::Buffers => dump.buffers(address, length),
        DataSource::Message => dump.message(address, None),
        DataSource::Messages => dump.messages(address, count, is_read),
    }
}

/// A dump while it is written.
struct Dump<'a> {
    memory: &'a dyn Memory,
    out: &'a mut dyn Write,
    /// Bytes that are still shown.
    left: u64,
    /// The word size of the program.
    word: u64,
}

impl Dump<'_> {
    /// Reads the word of this index at an address.
    fn word_at(&self, address: u64, index: u64) -> Option<u64> {
        let mut bytes = [0; 8];
        let size = self.word as usize;
        let at = address.wrapping_add(index * self.word);
        let is_there = self.memory.read(at, &mut bytes[..size]) == size;
        is_there.then_some(u64::from_le_bytes(bytes))
    }

    /// Rows of the bytes at an address, as far as they are readable.
    fn bytes(&mut self, address: u64, length: u64) -> io::Result<()> {
        const STEP: usize = 4096;
        let mut step = [0; STEP];
        let length = length.min(self.left);
        self.left -= length;
        let mut done = 0;
        while done < length {
            let wanted = (length - done).min(STEP as u64) as usize;
            let got = self.memory.read(address.wrapping_add(done), &mut step[..wanted]);
            for (index, row) in step[..got.min(wanted)].chunks(ROW).enumerate() {
                self.row(done + (index * ROW) as u64, row)?;
            }
            if got < wanted {
                break;
            }
            done += wanted as u64;
        }
        Ok(())
    }

    fn row(&mut self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        let mut line = Vec::with_capacity(80);
        write!(line, " | {offset:05x} ")?;
        for index in 0..ROW {
            line.extend_from_slice(if index % 8 == 0 { b" " } else { b"" });
            match bytes.get(index) {
                Some(byte) => write!(line, "{byte:02x} ")?,
                None => line.extend_from_slice(b"   "),
            }
        }
        line.push(b' ');
        let shown = |byte: &u8| if matches!(byte, 0x20..0x7f) { *byte } else { b'.' };
        line.extend(bytes.iter().map(shown));
        line.resize(line.len() + ROW - bytes.len(), b' ');
        line.extend_from_slice(b" |\n");
        self.out.write_all(&line)
    }

    /// The buffers of an array, each with a heading.
    fn buffers(&mut self, address: u64, count: u64) -> io::Result<()> {
        for index in 0..count.min(BUFFERS_MAX) {
            let start = self.word_at(address, index * 2);
            let (Some(start), Some(length)) = (start, self.word_at(address, index * 2 + 1)) else {
                break;
            };
            let length = length.min(self.left);
            if length == 0 {
                break;
            }
            writeln!(self.out, " * {length} bytes in buffer {index}")?;
            self.bytes(start, length)?;
        }
        Ok(())
    }

    /// The buffers of a message; its number among several.
    fn message(&mut self, address: u64, number: Option<u64>) -> io::Result<()> {
        // After the address and its length, which is padded to a word.
        let buffers = self.word_at(address, 2);
        let (Some(buffers), Some(count)) = (buffers, self.word_at(address, 3)) else {
            return Ok(());
        };
        if let Some(number) = number {
            writeln!(self.out, " = {count} buffers in vector {number}")?;
        }
        self.buffers(buffers, count)
    }

    /// The buffers of several messages; of those that were received only what came.
    fn messages(&mut self, address: u64, count: u64, is_read: bool) -> io::Result<()> {
        // Seven words, and the length that was moved, padded to a word.
        let size = self.word * 8;
        let mut total = BYTES_MAX;
        for number in 0..count.min(BUFFERS_MAX) {
            let at = address.wrapping_add(number * size);
            if is_read {
                let Some(moved) = self.word_at(at, 7) else { break };
                self.left = (moved & 0xffff_ffff).min(total);
                total -= self.left;
            }
            self.message(at, Some(number))?;
        }
        Ok(())
    }
}
