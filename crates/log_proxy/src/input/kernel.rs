//! The kernel's messages (`/dev/kmsg`): `6,1234,5678,-;text`, and lines ` NAME=value` behind it.
//!
//! The cursor is the boot and the sequence number; what the kernel has overwritten shows as a gap of these.

use std::fs::File;
use std::io::{self, Read as _};
use std::os::fd::AsFd as _;
use std::os::unix::fs::OpenOptionsExt as _;

use logring::{LogLevel, LogValue};

use super::InputPlace;
use super::cursor::{CURSOR, Saved, WrittenPlace};
use super::fields::{level_of, wait_for};

const DEVICE: &str = "/dev/kmsg";
/// The kernel gives one message a read, of less than this.
const MESSAGE_MAX: usize = 16 << 10;

pub(super) fn run(place: &mut InputPlace) -> io::Result<()> {
    let flags = rustix::fs::OFlags::NONBLOCK.bits().cast_signed();
    let mut file = File::options().read(true).custom_flags(flags).open(DEVICE)?;
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id")?;
    let boot = boot.trim();
    let mut next = place.cursor.take_saved().map_or(0, |saved| next_of(&saved, boot));
    let mut bytes = vec![0; MESSAGE_MAX];
    let mut is_first = next == 0;
    while !place.is_ending() {
        let length = match file.read(&mut bytes) {
            Ok(0) => return Ok(()),
            Ok(length) => length,
            // What it was to read next is overwritten.
            Err(error) if error.raw_os_error() == Some(rustix::io::Errno::PIPE.raw_os_error()) => {
                continue;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                if place.control.is_once {
                    return Ok(());
                }
                wait_for(&[file.as_fd()])?;
                continue;
            }
            Err(error) => return Err(error),
        };
        let Some(message) = KernelMessage::parse(&bytes[..length]) else { continue };
        if message.sequence < next {
            continue;
        }
        if place.cursor.is_due() {
            place.cursor.save(format!("{boot} {next}").as_bytes())?;
        }
        if message.sequence > next && !is_first {
            let text = format!("{} messages of the kernel are lost", message.sequence - next);
            place.records.write_own(LogLevel::Warning, &text);
        }
        (is_first, next) = (false, message.sequence + 1);
        let fields = [
            ("Facility", LogValue::Unsigned(message.priority >> 3)),
            ("BootMicroseconds", LogValue::Unsigned(message.microseconds)),
            (CURSOR, LogValue::Unsigned(next)),
        ];
        place.records.write(level_of((message.priority & 7) as u8), message.text, &fields);
    }
    Ok(())
}

/// The number of the next message; 0: the oldest that there is.
fn next_of(saved: &Saved, boot: &str) -> u64 {
    let place = String::from_utf8_lossy(&saved.place).into_owned();
    let Some((of, next)) = place.split_once(' ') else { return 0 };
    match saved.written {
        _ if of != boot => 0,
        WrittenPlace::Number(next) => next,
        _ => next.parse().unwrap_or(0),
    }
}

#[derive(Debug, PartialEq, Eq)]
struct KernelMessage<'a> {
    priority: u64,
    sequence: u64,
    microseconds: u64,
    text: &'a [u8],
}

impl<'a> KernelMessage<'a> {
    fn parse(bytes: &'a [u8]) -> Option<Self> {
        let end = bytes.iter().position(|byte| *byte == b';')?;
        let mut fields = std::str::from_utf8(&bytes[..end]).ok()?.split(',');
        let mut number = || fields.next()?.parse().ok();
        let text = &bytes[end + 1..];
        let line = text.iter().position(|byte| *byte == b'\n').unwrap_or(text.len());
        Some(KernelMessage {
            priority: number()?,
            sequence: number()?,
            microseconds: number()?,
            text: &text[..line],
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_read_and_cursors_are_of_one_boot() {
        let message = KernelMessage::parse(b"30,160,424069,-;a; b\n SUBSYSTEM=x\n").unwrap();
        let expected =
            KernelMessage { priority: 30, sequence: 160, microseconds: 424_069, text: b"a; b" };
        assert_eq!(message, expected);
        for wrong in [&b""[..], b"6,1", b"x,1,2,-;t", b"6;t", b"6,1,2\xff;t"] {
            assert_eq!(KernelMessage::parse(wrong), None);
        }
        let saved = |written| Saved { place: b"boot 7".to_vec(), written };
        let next = |written, boot| next_of(&saved(written), boot);
        assert_eq!(next(WrittenPlace::Nothing, "boot"), 7);
        assert_eq!(next(WrittenPlace::Number(9), "boot"), 9);
        assert_eq!(next(WrittenPlace::Number(9), "other"), 0);
    }
}
