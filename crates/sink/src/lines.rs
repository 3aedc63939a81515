//! A TCP connection on which each line begins with the name of its source, as collectl's do, so
//! that a peer can distinguish machines.  One blocking `write` a message.

use std::io::{self, Write};
use std::net::TcpStream;

use crate::{Message, Sink, SinkCounts};

/// A connection for lines.
#[derive(Debug)]
pub struct LineSocket {
    stream: TcpStream,
    text: Vec<u8>,
    counts: SinkCounts,
}

impl LineSocket {
    /// Over a connection that is open.
    #[must_use]
    pub fn new(stream: TcpStream) -> Self {
        LineSocket { stream, text: Vec::new(), counts: SinkCounts::default() }
    }
}

impl Sink for LineSocket {
    fn send(&mut self, message: &Message<'_>) -> io::Result<()> {
        self.text.clear();
        for line in message.payload.split_inclusive(|&byte| byte == b'\n') {
            self.text.extend_from_slice(message.source.as_bytes());
            self.text.push(b' ');
            self.text.extend_from_slice(line);
        }
        self.stream.write_all(&self.text)?;
        self.counts.sent += 1;
        self.counts.calls += 1;
        Ok(())
    }

    fn counts(&self) -> SinkCounts {
        self.counts
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::net::TcpListener;

    use super::*;

    #[test]
    fn every_line_names_its_source() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let stream = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (mut peer, _) = listener.accept().unwrap();
        let mut lines = LineSocket::new(stream);
        lines.send(&Message { source: "h1", sequence: 0, payload: b"#cpu\n 1\n" }).unwrap();
        drop(lines);
        let mut text = String::new();
        peer.read_to_string(&mut text).unwrap();
        assert_eq!(text, "h1 #cpu\nh1  1\n");
    }
}
