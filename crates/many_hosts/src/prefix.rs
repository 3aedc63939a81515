//! Lines with the name of a host in front.

use std::io;

use sink::{Message, Sink, SinkCounts};

/// A sink whose lines have a text in front, if there is one.
#[must_use]
pub fn prefixed(prefix: Option<&str>, to: Box<dyn Sink>) -> Box<dyn Sink> {
    match prefix {
        Some(prefix) => {
            let prefix = prefix.as_bytes().to_vec();
            Box::new(PrefixSink { prefix, to, lines: Vec::new() })
        }
        None => to,
    }
}

/// Passes messages on with a text in front of each line.
struct PrefixSink {
    prefix: Vec<u8>,
    to: Box<dyn Sink>,
    lines: Vec<u8>,
}

impl Sink for PrefixSink {
    fn send(&mut self, message: &Message<'_>) -> io::Result<()> {
        self.lines.clear();
        for line in message.payload.split_inclusive(|byte| *byte == b'\n') {
            if line != b"\n" {
                self.lines.extend_from_slice(&self.prefix);
            }
            self.lines.extend_from_slice(line);
        }
        self.to.send(&Message { payload: &self.lines, ..*message })
    }

    fn tend(&mut self) -> io::Result<()> {
        self.to.tend()
    }

    fn finish(&mut self) -> io::Result<()> {
        self.to.finish()
    }

    fn counts(&self) -> SinkCounts {
        self.to.counts()
    }

    fn take_notice(&mut self) -> Option<String> {
        self.to.take_notice()
    }
}
