//! Starts the recorders, reads their streams, and starts again those that fail.

use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt as _;
use std::process::{ChildStderr, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use recording::{FRAME_START, HEAD_START, SampleDecoder, frame_length, head_length};
use rustix::process::Signal;
use sample::{Meta, Snapshot, SourceDef};
use sink::Backoff;
use template::quote::{Shell, quote};

use crate::hosts::{Hosts, RemoteHostsError, passed_on};
use crate::login::{Logins, wait_for_end};

/// The pauses before a host is tried again.
const BACKOFF: Backoff = Backoff { first_ns: 1_000_000_000, longest_ns: 60_000_000_000 };

/// Time that programs have from TERM to their end: ssh closes its connection and what leads to it.
const END_TIME: Duration = Duration::from_secs(3);

/// A failure is told so much later: a terminal's INT comes to ssh, too, and one that it ends has not failed.
const TELL_AFTER: Duration = Duration::from_millis(100);

/// Samples of all hosts that wait for who takes them: readers wait then, and the hosts.
const WAITING_MAX: usize = 64;

/// Bytes that are kept of what a host says: the newest.
const SAID_BYTES_MAX: usize = 2048;

/// Exit codes after which a host that has sent nothing is not tried again: the options are wrong, or
/// there is no whit.
const HOPELESS: [i32; 3] = [2, 126, 127];

/// What happens at a host, by its number.
#[derive(Debug)]
pub enum HostEvent {
    /// The recorder of a host has begun: its machine, and its sources.
    Begun(usize, Meta, Vec<Arc<SourceDef>>),
    /// A sample.
    Sample(usize, Box<Snapshot>),
    /// The recorder of a host has ended as it was told to.
    Done(usize),
    /// It has failed: why, and whether it is tried again.
    Failed(usize, String, bool),
}

/// Recorders on hosts.
pub struct HostsRecorded {
    hosts: Hosts,
    /// What runs on a host.
    command: Vec<u8>,
    known: Vec<Arc<SourceDef>>,
}

/// Ends them all.
#[derive(Clone, Default)]
pub struct HostsStop(Arc<(Mutex<Stop>, Condvar)>);

#[derive(Default)]
struct Stop {
    is_stopping: bool,
    logins: Logins,
}

impl HostsRecorded {
    /// On the hosts of a text as `a,b,web[1-3]`; `ssh` logs in (`ssh` if there is none), and `words` are
    /// those of `whit record` here, which are passed on but for `--hosts` and `--ssh`.
    ///
    /// # Errors
    /// If the hosts are none.
    pub fn new(
        (hosts, ssh): (&str, Option<&str>),
        words: &[OsString],
    ) -> Result<Self, RemoteHostsError> {
        let hosts = Hosts::new((hosts, ssh))?;
        let command = remote_command(&passed_on(words));
        Ok(HostsRecorded { hosts, command, known: source::definitions() })
    }

    /// The same, but ssh asks no questions.
    #[must_use]
    pub fn without_questions(self) -> Self {
        HostsRecorded { hosts: self.hosts.without_questions(), ..self }
    }

    /// One of the hosts alone, whose number is then 0, with other words.
    #[must_use]
    pub fn only(&self, number: usize, words: &[OsString]) -> Self {
        HostsRecorded {
            hosts: self.hosts.only(number),
            command: remote_command(&passed_on(words)),
            known: self.known.clone(),
        }
    }

    /// The names of the hosts, as they were given; their places are their numbers.
    pub fn names(&self) -> impl ExactSizeIterator<Item = &str> {
        self.hosts.names()
    }

    /// The name of a host.
    pub(crate) fn name(&self, number: usize) -> &str {
        self.hosts.name(number)
    }

    /// What stands in front of the lines of a host.
    pub(crate) fn prefix(&self, number: usize) -> String {
        self.hosts.prefix(number)
    }

    /// Records until all recorders have ended, or `stop` ends them; `take` gets what happens.
    ///
    /// # Errors
    /// What `take` gives: then all are ended.
    pub fn run<E: From<RemoteHostsError>>(
        &self,
        stop: &HostsStop,
        take: &mut dyn FnMut(HostEvent) -> Result<(), E>,
    ) -> Result<(), E> {
        let (to, events) = sync_channel(WAITING_MAX);
        thread::scope(|scope| {
            let mut ended = Ok(());
            for (number, host) in self.names().enumerate() {
                let to = to.clone();
                let name = thread::Builder::new().name(format!("host-{number}"));
                let started = name.spawn_scoped(scope, move || self.serve(number, stop, &to));
                if let Err(error) = started {
                    ended = Err(RemoteHostsError::Thread(host.to_owned(), error).into());
                    break;
                }
            }
            drop(to);
            while ended.is_ok() {
                let Ok(event) = events.recv() else { break };
                ended = take(event);
            }
            if ended.is_err() {
                stop.stop();
            }
            // Readers that wait for room see that nobody takes anything.
            drop(events);
            ended
        })
    }

    /// Has a recorder on a host, again and again.
    fn serve(&self, number: usize, stop: &HostsStop, to: &SyncSender<HostEvent>) {
        let mut failures = 0;
        while !stop.is_stopping() {
            let mut has_sent = false;
            let ended = self.once(number, stop, to, &mut has_sent);
            if has_sent {
                failures = 0;
            }
            failures += 1;
            let event = match ended {
                Ok(()) => HostEvent::Done(number),
                Err((why, code)) => {
                    let hopeless = code.is_some_and(|code| HOPELESS.contains(&code));
                    HostEvent::Failed(number, why, has_sent || !hopeless)
                }
            };
            if matches!(event, HostEvent::Failed(..)) {
                stop.pause(TELL_AFTER);
            }
            let goes_on = matches!(event, HostEvent::Failed(_, _, true));
            if stop.is_stopping() || to.send(event).is_err() || !goes_on {
                return;
            }
            stop.pause(Duration::from_nanos(BACKOFF.pause_ns(failures)));
        }
    }

    /// Starts a recorder on a host and reads to its end.
    fn once(
        &self,
        number: usize,
        stop: &HostsStop,
        to: &SyncSender<HostEvent>,
        has_sent: &mut bool,
    ) -> Result<(), (String, Option<i32>)> {
        let (mut command, program) = self.hosts.ssh(number, &self.command);
        let asks_nothing = !self.hosts.may_ask();
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let (stdout, stderr) = match stop.start(number, (&mut command, asks_nothing)) {
            Ok(Some(started)) => started,
            Ok(None) => return Ok(()),
            Err(error) => return Err((format!("{program}: {error}"), None)),
        };
        let (read, said) = thread::scope(|scope| {
            let said = scope.spawn(move || last_said(stderr));
            let read = self.read(number, stdout, (stop, to), has_sent);
            if read.is_err() {
                stop.kill(number);
            }
            (read, said.join().unwrap_or_default())
        });
        let status = stop.wait(number);
        let code = status.as_ref().ok().and_then(ExitStatus::code);
        // What is no stream will not be one the next time.
        let is_stream =
            !read.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::InvalidData);
        let code = if is_stream { code } else { Some(HOPELESS[0]) };
        match (read, status) {
            (Ok(true), Ok(status)) if status.success() => Ok(()),
            (Ok(_), Ok(status)) if said.is_empty() => {
                Err((format!("it has sent nothing more: {status}"), code))
            }
            (Ok(_), Ok(_)) => Err((said, code)),
            (Ok(_), Err(error)) => Err((error.to_string(), None)),
            (Err(error), _) if said.is_empty() => Err((error.to_string(), code)),
            (Err(error), _) => Err((format!("{error}; {said}"), code)),
        }
    }

    /// Reads a stream; whether it had a head.
    fn read(
        &self,
        number: usize,
        stdout: ChildStdout,
        (stop, to): (&HostsStop, &SyncSender<HostEvent>),
        has_sent: &mut bool,
    ) -> io::Result<bool> {
        let mut from = io::BufReader::with_capacity(64 << 10, stdout);
        read_stream(&mut from, &self.known, &mut |part| {
            let event = match part {
                StreamPart::Head(meta, defs) => HostEvent::Begun(number, meta, defs),
                StreamPart::Sample(snapshot) => {
                    *has_sent = true;
                    HostEvent::Sample(number, snapshot)
                }
            };
            // What holds the stream may outlive what was ended: a script's ssh.
            match !stop.is_stopping() && to.send(event).is_ok() {
                true => Ok(()),
                false => Err(io::ErrorKind::BrokenPipe.into()),
            }
        })
    }
}

/// What a stream has.
enum StreamPart {
    Head(Meta, Vec<Arc<SourceDef>>),
    Sample(Box<Snapshot>),
}

/// Reads a stream of samples to its end; whether it had a head.
fn read_stream(
    from: &mut impl Read,
    known: &[Arc<SourceDef>],
    give: &mut dyn FnMut(StreamPart) -> io::Result<()>,
) -> io::Result<bool> {
    let damaged = |error: recording::Corrupt| {
        io::Error::new(io::ErrorKind::InvalidData, format!("it sends no samples: {}", error.0))
    };
    let mut start = [0; HEAD_START];
    if !fill(from, &mut start)? {
        return Ok(false);
    }
    let length = head_length(&start).map_err(damaged)?;
    let mut head = start.to_vec();
    read_bytes(from, length - HEAD_START, &mut head)?;
    let mut decoder = SampleDecoder::new(&head, known).map_err(io::Error::other)?;
    let defs = decoder.defs();
    give(StreamPart::Head(decoder.meta().clone(), defs.clone()))?;
    let (mut start, mut frame) = ([0; FRAME_START], Vec::new());
    while fill(from, &mut start)? {
        let length = frame_length(&start);
        let length = length.ok_or_else(|| damaged(recording::Corrupt("a length is wrong")))?;
        frame.clear();
        frame.extend_from_slice(&start);
        read_bytes(from, length - FRAME_START, &mut frame)?;
        let mut snapshot = Box::new(Snapshot::new(&defs));
        decoder.decode(&mut frame.as_slice(), &mut snapshot).map_err(damaged)?;
        give(StreamPart::Sample(snapshot))?;
    }
    Ok(true)
}

/// For fuzz targets: reads a stream; how many samples it has up to what is damaged.
#[doc(hidden)]
pub fn fuzz_stream(mut bytes: &[u8], known: &[Arc<SourceDef>]) -> u64 {
    let mut samples = 0;
    let read = read_stream(&mut bytes, known, &mut |part| {
        samples += u64::from(matches!(part, StreamPart::Sample(_)));
        Ok(())
    });
    std::hint::black_box(read.is_ok());
    samples
}

/// Reads so many bytes; memory grows by what comes, not by what is announced.
fn read_bytes(from: &mut impl Read, count: usize, to: &mut Vec<u8>) -> io::Result<()> {
    let count = count as u64;
    match from.take(count).read_to_end(to)? as u64 == count {
        true => Ok(()),
        false => Err(io::ErrorKind::UnexpectedEof.into()),
    }
}

/// Fills a buffer; false at the end before its first byte.
fn fill(from: &mut impl Read, buffer: &mut [u8]) -> io::Result<bool> {
    let mut first = [0];
    if from.read(&mut first)? == 0 {
        return Ok(false);
    }
    buffer[0] = first[0];
    from.read_exact(&mut buffer[1..]).map(|()| true)
}

/// What runs on a host.
fn remote_command(words: &[&OsStr]) -> Vec<u8> {
    let mut command = b"exec whit record --stream".to_vec();
    for word in words {
        command.push(b' ');
        quote(Shell::Bourne, word.as_bytes(), &mut command);
    }
    command
}

/// The last line that ssh or the recorder says.
fn last_said(mut from: ChildStderr) -> String {
    let (mut kept, mut buffer) = (VecDeque::new(), [0; 512]);
    // What cannot be read is not told.
    while let Ok(count @ 1..) = from.read(&mut buffer) {
        kept.extend(&buffer[..count]);
        let more = kept.len().saturating_sub(SAID_BYTES_MAX);
        kept.drain(..more);
    }
    let kept: Vec<u8> = kept.into();
    let line = kept.trim_ascii_end().rsplit(|byte| *byte == b'\n').next().unwrap_or_default();
    layout::text::escape(line.trim_ascii()).to_string()
}

impl HostsStop {
    fn lock(&self) -> std::sync::MutexGuard<'_, Stop> {
        // A thread that panicked held it between whole changes.
        self.0.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends all recorders once `wait`, in a thread of its own, has come back with true: a signal has
    /// come.
    #[must_use]
    pub fn after(wait: impl FnOnce() -> bool + Send + 'static) -> Self {
        let stop = HostsStop::default();
        let ending = stop.clone();
        thread::spawn(move || {
            if wait() {
                ending.stop();
                thread::sleep(END_TIME);
                ending.lock().logins.signal(None, Signal::KILL);
            }
        });
        stop
    }

    /// Ends all recorders.
    pub fn stop(&self) {
        let mut stop = self.lock();
        stop.is_stopping = true;
        stop.logins.signal(None, Signal::TERM);
        self.0.1.notify_all();
    }

    /// Whether they are ended.
    #[must_use]
    pub fn is_stopping(&self) -> bool {
        self.lock().is_stopping
    }

    fn pause(&self, time: Duration) {
        let waited = self.0.1.wait_timeout_while(self.lock(), time, |stop| !stop.is_stopping);
        drop(waited);
    }

    /// Starts a program, if they are not ended.
    fn start(
        &self,
        number: usize,
        command: (&mut Command, bool),
    ) -> io::Result<Option<(ChildStdout, ChildStderr)>> {
        let mut stop = self.lock();
        if stop.is_stopping {
            return Ok(None);
        }
        let child = stop.logins.start(number, command)?;
        Ok(child.stdout.take().zip(child.stderr.take()))
    }

    pub(crate) fn kill(&self, number: usize) {
        self.lock().logins.signal(Some(number), Signal::KILL);
    }

    /// Waits for the end of a program, whose output has ended.
    fn wait(&self, number: usize) -> io::Result<ExitStatus> {
        let pid = self.lock().logins.pid(number);
        wait_for_end(pid);
        self.lock().logins.reap(number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_gets_all_words_but_those_that_name_hosts() {
        let words = ["-scd", "--hosts", "a,b", "--ssh=x y", "-f", "/a b", "--hosts=c", "--quiet"];
        let words: Vec<OsString> = words.iter().map(Into::into).collect();
        assert_eq!(passed_on(&words), ["-scd", "-f", "/a b", "--quiet"]);
        let hosts = HostsRecorded::new(("a,web[1-2]", None), &words).unwrap();
        assert_eq!(hosts.command, b"exec whit record --stream -scd -f '/a b' --quiet");
        assert_eq!((hosts.prefix(0).as_str(), hosts.prefix(2).as_str()), ("a    ", "web2 "));
        for (text, part) in [("", "no host"), (":", "USER@"), ("4/a", "USER@"), ("-x", "begin")] {
            let refused = HostsRecorded::new((text, None), &words);
            let why = refused.err().map(|error| error.to_string()).unwrap_or_default();
            assert!(why.contains(part), "{text}: {why}");
        }
    }
}
