//! An open file descriptor, such as standard output.  One `write` a message.

use std::io;
use std::os::fd::AsFd;

use crate::{Message, Sink, SinkCounts};

/// Writes payloads one after the other to a file descriptor.
#[derive(Debug)]
pub struct DescriptorSink<F> {
    descriptor: F,
    counts: SinkCounts,
}

impl<F: AsFd> DescriptorSink<F> {
    /// Writes to this descriptor.
    pub fn new(descriptor: F) -> Self {
        DescriptorSink { descriptor, counts: SinkCounts::default() }
    }
}

impl<F: AsFd> Sink for DescriptorSink<F> {
    fn send(&mut self, message: &Message<'_>) -> io::Result<()> {
        let mut payload = message.payload;
        while !payload.is_empty() {
            self.counts.calls += 1;
            match rustix::io::write(&self.descriptor, payload) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(count) => payload = &payload[count..],
                Err(rustix::io::Errno::INTR) => {}
                Err(errno) => return Err(errno.into()),
            }
        }
        self.counts.sent += 1;
        Ok(())
    }

    fn counts(&self) -> SinkCounts {
        self.counts
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::*;

    #[test]
    fn a_reader_that_went_away_ends_it() {
        let (mut reader, writer) = std::io::pipe().unwrap();
        let mut sink = DescriptorSink::new(writer);
        let message = Message { source: "h", sequence: 0, payload: b"line\n" };
        sink.send(&message).unwrap();
        let mut line = [0; 5];
        reader.read_exact(&mut line).unwrap();
        assert_eq!(&line, b"line\n");
        assert_eq!(sink.counts(), SinkCounts { sent: 1, dropped: 0, calls: 1 });
        drop(reader);
        assert_eq!(sink.send(&message).unwrap_err().kind(), io::ErrorKind::BrokenPipe);
    }
}
