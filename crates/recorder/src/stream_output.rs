//! Samples as a stream, to whoever started the recorder from another host.
//!
//! Costs a `write` a sample, as a recording, and a thread that waits for the reader to go away: a connection
//! that is cut would else be noticed at the next sample, which may be an hour later.  If the reader is
//! slow the recorder waits for it, and misses ticks, which the next sample counts.

use std::fs::File;
use std::io::{self, Write as _};
use std::os::fd::AsFd;
use std::sync::Arc;
use std::thread;

use recording::SampleEncoder;
use rustix::event::{PollFd, PollFlags, poll};
use sample::{Meta, Snapshot, SourceDef};

/// The stream that is being written.
pub struct StreamOutput {
    encoder: SampleEncoder,
    to: File,
    frame: Vec<u8>,
}

impl StreamOutput {
    /// Writes the head.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn open(to: impl AsFd, meta: &Meta, defs: &[Arc<SourceDef>]) -> io::Result<Self> {
        let mut to = File::from(to.as_fd().try_clone_to_owned()?);
        let file_id = recording::random_id();
        to.write_all(&recording::stream_head(meta, defs, file_id)?)?;
        Ok(StreamOutput { encoder: SampleEncoder::new(defs, file_id), to, frame: Vec::new() })
    }

    /// Calls `end` in a thread of its own when nobody reads the stream any more.
    ///
    /// # Errors
    /// If there is no thread or descriptor left.
    pub fn when_unread(&self, end: impl FnOnce() + Send + 'static) -> io::Result<()> {
        let to = self.to.try_clone()?;
        thread::Builder::new().name("unread".to_owned()).spawn(move || {
            // Without an event that is asked for, poll(2) tells errors and hang-ups alone: of a pipe or a
            // socket without a reader.  A file never has one.
            let mut descriptors = [PollFd::new(&to, PollFlags::empty())];
            while poll(&mut descriptors, None) == Err(rustix::io::Errno::INTR) {}
            end();
        })?;
        Ok(())
    }

    /// Writes a sample.
    pub(crate) fn write(&mut self, snapshot: &Snapshot) -> io::Result<()> {
        self.frame.clear();
        self.encoder.encode(snapshot, std::iter::empty(), &mut self.frame);
        self.to.write_all(&self.frame)
    }
}
