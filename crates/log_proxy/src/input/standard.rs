//! Standard input: a record for each line.  What was read cannot be read again, so there is no cursor; a
//! kill loses the lines that the proxy has taken from the pipe and not written yet, 64 KiB at most.

use std::io;
use std::os::fd::AsFd as _;

use logring::LogLevel;

use super::InputPlace;
use super::fields::{left_out, wait_for};
use super::frames::InputFrames;

pub(super) fn run(place: &mut InputPlace) -> io::Result<()> {
    let input = io::stdin();
    let mut bytes = vec![0; 64 << 10];
    let mut frames = InputFrames::lines(0);
    let records = place.records;
    let write = |frame: super::InputFrame<'_>| {
        records.write(LogLevel::Info, frame.bytes, left_out(&frame).as_slice());
    };
    while !place.is_ending() {
        if !wait_for(&[input.as_fd()])?[0] {
            continue;
        }
        match rustix::io::read(&input, &mut bytes) {
            Ok(0) => break,
            Ok(length) => frames.add_bytes(&bytes[..length], write),
            Err(rustix::io::Errno::INTR | rustix::io::Errno::AGAIN) => {}
            Err(error) => return Err(error.into()),
        }
    }
    frames.finish(write);
    Ok(())
}
