//! The client: updates that were made before the clock starts, and answers that are checked; and
//! the floor, a socket whose other end reads and answers.

use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr};
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use rustix::net::{self, sockopt};

use crate::rrd::files::{Layout, update_line};

/// Longest wait for a daemon that writes files.
const FLUSH_PATIENCE: Duration = Duration::from_secs(600);
/// Longest wait for a counter.
const COUNT_PATIENCE: Duration = Duration::from_secs(2);
/// Answers to a batch without errors.
const BEGUN: &[u8] = b"0 Go ahead.  End with dot '.' on its own line.\n";
const DONE: &[u8] = b"0 errors\n";
/// The answer to a single update.
const ENQUEUED: &[u8] = b"0 errors, enqueued 1 value(s).\n";

/// Updates as they are sent: in each text everything that one answer is waited for.
#[derive(Debug, Default)]
pub(super) struct Load {
    /// Each ends with a line feed.
    texts: Vec<Vec<u8>>,
    /// All that is answered to each.
    answer: Vec<u8>,
    /// Updates in all texts.
    pub(super) updates: u64,
}

impl Load {
    /// Updates of some files at some steps, all files in turn; so many in a batch, or none.
    pub(super) fn new(
        layout: &Layout,
        files: std::ops::Range<u64>,
        steps: std::ops::Range<u64>,
        batch: Option<u64>,
    ) -> Self {
        let lines = steps.flat_map(|step| files.clone().map(move |file| (file, step)));
        let mut load = Load::default();
        let mut text = Vec::new();
        let mut count = 0;
        let mut end = |text: &mut Vec<u8>| {
            if batch.is_some() && !text.is_empty() {
                text.extend_from_slice(b".\n");
            }
            if !text.is_empty() {
                load.texts.push(std::mem::take(text));
            }
        };
        for (file, step) in lines {
            if batch.is_some() && text.is_empty() {
                text.extend_from_slice(b"BATCH\n");
            }
            text.extend_from_slice(update_line(layout, file, step).as_bytes());
            text.push(b'\n');
            count += 1;
            if batch.is_none_or(|batch| count % batch == 0) {
                end(&mut text);
            }
        }
        end(&mut text);
        load.updates = count;
        load.answer = match batch {
            Some(_) => [BEGUN, DONE].concat(),
            None => ENQUEUED.to_vec(),
        };
        load
    }
}

/// A connection to a daemon.
pub(crate) struct Client {
    /// The socket.
    stream: File,
    buffer: Vec<u8>,
}

impl Client {
    pub(super) fn new(socket: impl Into<OwnedFd>) -> io::Result<Self> {
        let socket = socket.into();
        sockopt::set_socket_timeout(&socket, sockopt::Timeout::Recv, Some(FLUSH_PATIENCE))?;
        Ok(Self { stream: socket.into(), buffer: Vec::new() })
    }

    /// A connection by TCP from another address of this machine.
    pub(super) fn from_address(own: Ipv4Addr, daemon: SocketAddr) -> io::Result<Self> {
        let socket = net::socket_with(
            net::AddressFamily::INET,
            net::SocketType::STREAM,
            net::SocketFlags::CLOEXEC,
            None,
        )?;
        net::bind(&socket, &SocketAddr::from((own, 0)))?;
        net::connect(&socket, &daemon)?;
        sockopt::set_tcp_nodelay(&socket, true)?;
        Self::new(socket)
    }

    /// Sends everything, each text after the answer to the one before.
    pub(super) fn send(&mut self, load: &Load) -> io::Result<()> {
        let mut answer = vec![0; load.answer.len()];
        for text in &load.texts {
            self.stream.write_all(text)?;
            self.stream.read_exact(&mut answer)?;
            if answer != load.answer {
                let text = String::from_utf8_lossy(&answer).into_owned();
                return Err(io::Error::other(format!("the daemon answered {text}")));
            }
        }
        Ok(())
    }

    /// Asks for something; gives the answer's lines.
    pub(super) fn ask(&mut self, line: &str) -> io::Result<Vec<String>> {
        self.stream.write_all(format!("{line}\n").as_bytes())?;
        let first = self.line()?;
        let count = first.split(' ').next().and_then(|word| word.parse::<i64>().ok());
        let count = count.filter(|count| *count >= 0);
        let count = count.ok_or_else(|| io::Error::other(format!("{line}: {first}")))?;
        let mut lines = vec![first];
        for _ in 0..count {
            lines.push(self.line()?);
        }
        Ok(lines)
    }

    fn line(&mut self) -> io::Result<String> {
        loop {
            if let Some(end) = self.buffer.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.buffer.drain(..=end).collect();
                return Ok(String::from_utf8_lossy(&line[..end]).into_owned());
            }
            let mut bytes = [0; 8192];
            let count = self.stream.read(&mut bytes)?;
            if count == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            self.buffer.extend_from_slice(&bytes[..count]);
        }
    }

    /// A number of STATS.
    fn number(&mut self, name: &str) -> io::Result<u64> {
        let lines = self.ask("STATS")?;
        let value = lines.iter().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "));
        value
            .and_then(|value| value.parse().ok())
            .ok_or_else(|| io::Error::other(format!("STATS shows no {name}")))
    }

    /// Waits until a number of STATS is reached: some are counted after the answer.
    pub(super) fn wait_for(&mut self, name: &str, value: u64) -> io::Result<()> {
        let start = Instant::now();
        loop {
            let now = self.number(name)?;
            if now == value {
                return Ok(());
            }
            if start.elapsed() > COUNT_PATIENCE {
                return Err(io::Error::other(format!("{name}: {now}, and not {value}")));
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// Writes all files; `writes` have been written when it is done.
    pub(crate) fn flush_all(&mut self, writes: u64) -> io::Result<()> {
        self.ask("FLUSHALL")?;
        let start = Instant::now();
        while self.number("UpdatesWritten")? < writes || self.number("QueueLength")? > 0 {
            if start.elapsed() > FLUSH_PATIENCE {
                return Err(io::ErrorKind::TimedOut.into());
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        Ok(())
    }
}

/// The other end of the floor: reads, and answers where a text ends.
pub(super) fn echo(socket: impl Into<OwnedFd>, load: &Load) -> io::Result<()> {
    let mut stream = File::from(socket.into());
    let mut buffer = vec![0; 256 << 10];
    for text in &load.texts {
        let mut left = text.len();
        while left > 0 {
            let count = stream.read(&mut buffer)?;
            if count == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            left = left.saturating_sub(count);
        }
        stream.write_all(&load.answer)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixStream;

    use super::*;
    use crate::rrd::files::ONE_SOURCE;

    #[test]
    fn batches_hold_every_update_once() {
        let load = Load::new(&ONE_SOURCE, 0..5, 1..4, Some(4));
        assert_eq!((load.updates, load.texts.len()), (15, 4));
        let text = load.texts.concat();
        let lines = text.split(|byte| *byte == b'\n');
        let updates = lines.filter(|line| line.starts_with(b"update "));
        assert_eq!(updates.collect::<std::collections::HashSet<_>>().len(), 15);
        assert!(load.texts.iter().all(|t| t.starts_with(b"BATCH\n") && t.ends_with(b"\n.\n")));
        let load = Load::new(&ONE_SOURCE, 0..5, 1..4, None);
        assert_eq!((load.updates, load.texts.len()), (15, 15));
    }

    #[test]
    fn the_floor_answers() {
        let load = Load::new(&ONE_SOURCE, 0..50, 1..40, Some(100));
        let (ours, theirs) = UnixStream::pair().unwrap();
        std::thread::scope(|scope| {
            let echo = scope.spawn(|| echo(theirs, &load));
            Client::new(ours).unwrap().send(&load).unwrap();
            echo.join().unwrap().unwrap();
        });
    }
}
