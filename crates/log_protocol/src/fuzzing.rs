//! For fuzz targets: frames of arbitrary bytes with right checksums, so that the fuzzer reaches what is
//! behind them.  Not part of the interface.

use std::io::Write as _;
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::time::Duration;

use crate::frame::{self, FrameKind, Head};
use crate::handshake::{self, FrameReader, Hello, PeerRole};
use crate::identity::{DICTIONARY, ProcessId, ProcessInfo, StreamId, StreamInfo};
use connection::{SocketStream, Wait};

/// Bytes in front of a frame's body, as [`frames_of`] reads them.
const SHORT_HEAD: usize = 8;

/// A small number, or one near an end of what there is.
fn number(byte: u8) -> u64 {
    match byte {
        255 => u64::MAX,
        254 => u64::MAX - 1,
        253 => 1 << 63,
        252 => 1 << 32,
        small => u64::from(small),
    }
}

/// Frames, each a head of eight bytes (kind, process, ring, records, first, next, length u16) and its
/// body.
#[must_use]
pub fn frames_of(bytes: &[u8]) -> Vec<(Head, Vec<u8>)> {
    let (mut at, mut frames) = (0, Vec::new());
    while let Some([kind, process, ring, count, first, next, low, high]) =
        bytes.get(at..).and_then(<[u8]>::first_chunk::<SHORT_HEAD>)
    {
        at += SHORT_HEAD;
        let length = usize::from(u16::from_le_bytes([*low, *high])).min(bytes.len() - at);
        let body = &bytes[at..at + length];
        at += length;
        let Some(kind) = FrameKind::of(*kind) else { continue };
        let ring = if *ring == 255 { DICTIONARY } else { u32::from(*ring) };
        let stream = StreamId { process: ProcessId([*process; 16]), ring };
        let head = Head::of(kind, stream, number(*first), number(*next), u32::from(*count));
        frames.push((head, body.to_vec()));
    }
    frames
}

/// What [`frames_of`] reads.
#[must_use]
pub fn short_frame(kind: FrameKind, numbers: [u8; 5], body: &[u8]) -> Vec<u8> {
    let length = (body.len() as u16).to_le_bytes();
    let mut frame = vec![kind as u8];
    frame.extend_from_slice(&numbers);
    frame.extend_from_slice(&length);
    frame.extend_from_slice(&body[..usize::from(u16::from_le_bytes(length))]);
    frame
}

/// The frames as they are sent.
#[must_use]
pub fn sent(frames: &[(Head, Vec<u8>)]) -> Vec<u8> {
    let mut out = Vec::new();
    for (head, body) in frames {
        frame::put(&mut out, *head, body);
    }
    out
}

/// The body of a frame that describes a process and a ring.
#[must_use]
pub fn descriptions(process: u8) -> [Vec<u8>; 2] {
    let id = ProcessId([process; 16]);
    let (mut one, mut other) = (Vec::new(), Vec::new());
    let (host, name) = ("host".to_owned(), "process".to_owned());
    ProcessInfo { id, pid: 7, host, name, ..ProcessInfo::default() }.encode(&mut one);
    let id = StreamId { process: id, ring: 1 };
    StreamInfo { id, tid: 8, thread: "thread".to_owned() }.encode(&mut other);
    [one, other]
}

/// A handshake with a peer that says these bytes, and what it says behind it, from both sides.
pub fn greet(bytes: &[u8]) {
    let hello = Hello { role: PeerRole::Proxy, proxy: [3; 16], host: "host".to_owned() };
    for turn in 0..4 {
        let Ok((ours, theirs)) = UnixStream::pair() else { return };
        // What has no room is not sent.
        let _ = theirs.set_nonblocking(true);
        let _ = (&theirs).write(bytes);
        let _ = theirs.shutdown(Shutdown::Write);
        let Ok(mut connection) = SocketStream::unix(ours).polling() else { return };
        connection.set_wait(Wait::For(Duration::from_secs(1)));
        let mut writer = connection.clone();
        let mut reader = FrameReader::new(connection);
        let secret = (turn % 2 == 1).then_some(&b"secret"[..]);
        let is_welcome = if turn < 2 {
            handshake::serve(&mut reader, &mut writer, secret, [1; 16]).is_ok()
        } else {
            handshake::greet(&mut reader, &mut writer, secret, &hello).is_ok()
        };
        let mut body = Vec::new();
        while is_welcome && matches!(reader.read(&mut body), Ok(Some(_))) {}
    }
}

/// Where these bytes stand.
#[must_use]
pub fn places_of(bytes: &[u8], magic: &[u8]) -> Vec<usize> {
    memchr::memmem::find_iter(bytes, magic).collect()
}

/// Gives the head at an offset the right checksum: heads of 64 bytes end with it.
pub fn mend_head(bytes: &mut [u8], at: usize) {
    if let Some(head) = bytes.get_mut(at..at + 64) {
        let crc = crc32c::crc32c(&head[..60]);
        head[60..].copy_from_slice(&crc.to_le_bytes());
    }
}
