//! An export as a view: its bytes go through a [`Sink`] to the destination of the export, and to
//! the view's output only if the user asked to show them too.
//!
//! When recording, a connection has its own thread and queue: a peer that hangs must not delay
//! samples.  When playing a recording, every report is sent before the next one is made.

use std::io::{self, Write};
use std::sync::Arc;

use layout::{Frame, Options};
use sample::{Clock, Meta, SourceDef};
use sink::{Discard, Immediate, Message, ReplacedFile, Sink, UdpTransport, open_connection};
use view::View;
use view::export::{Destination, Echo, Export};

use crate::databases::DatabaseView;
use crate::messages::Notify;

/// Makes a view of an export.  With a `clock` messages are queued; with `None` they are sent at
/// once, and sending waits for the peer.
///
/// # Errors
/// A name has no address, or a socket or thread cannot be created.
pub fn open_export(
    export: Export,
    clock: Option<Box<dyn Clock + Send>>,
    notify: Notify,
) -> io::Result<Box<dyn View>> {
    let delay_max_ns = u64::from(export.delay_max_seconds) * 1_000_000_000;
    let in_packets =
        matches!(export.destination, Destination::Udp { .. }) || export.echo == Echo::Hex;
    let sink: Box<dyn Sink> = match export.destination {
        Destination::Output => return Ok(export.view),
        Destination::Databases(databases) => {
            return Ok(Box::new(DatabaseView::open(databases, notify)?));
        }
        Destination::Nowhere => Box::new(Discard::default()),
        Destination::Snapshot(path) => Box::new(ReplacedFile::new(&path)),
        Destination::Tcp { host, port } => open_connection(host, port, delay_max_ns, clock)?,
        Destination::Udp { host, port } => {
            let transport = UdpTransport::open(&host, port)
                .map_err(|error| io::Error::new(error.kind(), format!("{host}:{port}: {error}")))?;
            Box::new(Immediate::new(transport))
        }
    };
    let stream = Stream { sink, source: String::new(), sequence: 0, notify };
    let (view, echo) = (export.view, export.echo);
    Ok(Box::new(ExportView { view, echo, in_packets, stream, buffer: Vec::new() }))
}

/// A view whose bytes go through a sink.
struct ExportView {
    view: Box<dyn View>,
    echo: Echo,
    /// Whether each `write` of the view is a message; otherwise each frame is one.
    in_packets: bool,
    stream: Stream,
    buffer: Vec<u8>,
}

/// The messages of one view.
struct Stream {
    sink: Box<dyn Sink>,
    source: String,
    sequence: u64,
    notify: Notify,
}

impl Stream {
    fn send(&mut self, payload: &[u8]) -> io::Result<()> {
        let message = Message { source: &self.source, sequence: self.sequence, payload };
        self.sequence += 1;
        self.sink.send(&message)?;
        self.pass_notice();
        Ok(())
    }

    fn pass_notice(&mut self) {
        if let Some(notice) = self.sink.take_notice() {
            (self.notify)(&notice);
        }
    }
}

impl View for ExportView {
    fn begin(
        &mut self,
        meta: &Meta,
        defs: &[Arc<SourceDef>],
        options: &Options,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        meta.host().clone_into(&mut self.stream.source);
        self.view.begin(meta, defs, options, out)
    }

    fn frame(&mut self, frame: &Frame<'_>, out: &mut dyn Write) -> io::Result<()> {
        if self.in_packets {
            let mut packets = Packets { stream: &mut self.stream, echo: self.echo, out };
            return self.view.frame(frame, &mut packets);
        }
        self.buffer.clear();
        self.view.frame(frame, &mut self.buffer)?;
        if self.buffer.is_empty() {
            return Ok(());
        }
        if self.echo == Echo::Text {
            out.write_all(&self.buffer)?;
        }
        self.stream.send(&self.buffer)
    }

    fn end(&mut self, out: &mut dyn Write) -> io::Result<()> {
        self.view.end(out)?;
        self.stream.sink.finish()?;
        self.stream.pass_notice();
        Ok(())
    }

    fn notes(&self) -> Vec<String> {
        let mut notes = self.view.notes();
        let dropped = self.stream.sink.counts().dropped;
        if dropped > 0 {
            let unit = if self.in_packets { "packets" } else { "reports" };
            notes.push(format!("--export: {dropped} {unit} could not be sent"));
        }
        notes
    }
}

/// Sends each `write` as a message and shows it, if asked.
struct Packets<'a> {
    stream: &'a mut Stream,
    echo: Echo,
    out: &'a mut dyn Write,
}

impl Write for Packets<'_> {
    fn write(&mut self, packet: &[u8]) -> io::Result<usize> {
        self.stream.send(packet)?;
        if self.echo == Echo::Hex {
            for byte in packet {
                write!(self.out, "{byte:02x} ")?;
            }
            writeln!(self.out)?;
        }
        Ok(packet.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
