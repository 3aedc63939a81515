//! Commands that are traced on other hosts: what they and their traces say comes here, line by line, each with
//! the name of its host in front; counts are added up.
//!
//! On each host `whit trace` is started by ssh, with the words of here and a mark (`trace::report::marked`), by
//! which the lines of the trace are told from those of the command.  A host costs an ssh and two threads;
//! memory is a line of each, and the counts.  When the trace is to end, the stdins of all ssh are closed: each
//! whit ends its trace then and says what it has.  An ssh that is still connecting does not look at its stdin,
//! and nothing is lost with it: it gets a TERM.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::io::{self, BufRead as _, BufReader, IsTerminal, Read, Write};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::process::ExitStatusExt as _;
use std::process::{ChildStdin, Stdio};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

use rustix::process::Signal;
use template::quote::{Shell, quote};
use trace::CallTally;
use trace::report::marked::{BEGUN, CountReader};
use trace::report::table::{self, TableOptions};

use crate::hosts::{Hosts, RemoteHostsError, passed_on};
use crate::login::{Logins, wait_for_end};

/// Lines of all hosts that wait for who takes them: readers wait then, and the hosts.
const WAITING_MAX: usize = 64;

/// The longest line: what is longer comes in pieces, each shown as a line.
const LINE_BYTES_MAX: u64 = 64 << 10;

/// The status of a host on which no program could be started.
const NOT_STARTED: u8 = 127;

/// A command that is traced on hosts.
pub struct HostsTraced {
    hosts: Hosts,
    /// What runs on a host.
    command: Vec<u8>,
    mark: String,
}

/// Ends the traces.
#[derive(Clone, Default)]
pub struct TracesStop(Arc<Mutex<RunningTrace>>);

#[derive(Default)]
struct RunningTrace {
    is_stopping: bool,
    stdins: Vec<(usize, ChildStdin)>,
    /// Hosts from which nothing has come yet.
    silent: BTreeSet<usize>,
    logins: Logins,
}

/// Where lines go.
pub struct TracedOutputs<'a> {
    stdout: &'a mut dyn Write,
    stderr: &'a mut dyn Write,
    trace: Option<&'a mut dyn Write>,
    /// Whether the first two are terminals: then control characters are shown, not written.
    are_terminals: (bool, bool),
    json: bool,
}

impl<'a> TracedOutputs<'a> {
    /// What commands write goes to their stream here, to `stderr` also what ssh and whit there say; lines of
    /// traces go to `trace`, or to `stderr` too.  If those are `json`, the host becomes the first key of each.
    pub fn new(
        stdout: &'a mut (impl Write + IsTerminal),
        stderr: &'a mut (impl Write + IsTerminal),
        trace: Option<&'a mut dyn Write>,
        json: bool,
    ) -> Self {
        let are_terminals = (stdout.is_terminal(), stderr.is_terminal());
        TracedOutputs { stdout, stderr, trace, are_terminals, json }
    }
}

/// What came of the traces.
#[derive(Debug, Default)]
pub struct HostsEnd {
    /// The highest status.
    status: u8,
    /// How many hosts there are.
    asked: usize,
    /// What was counted, of those hosts that have said it to the end, in the order of the hosts.
    counts: Vec<(String, CallTally)>,
}

impl HostsEnd {
    /// The highest status of the commands; 128 and the signal of one that a signal ended, 255 if ssh failed.  If
    /// they are `counted`, it is no success unless all hosts have said what they have.
    #[must_use]
    pub fn status(&self, counted: bool) -> u8 {
        self.status.max(u8::from(counted && self.counts.len() < self.asked))
    }

    /// Writes what was counted, of all together; with `by_host` also what each has.  Nothing, if no host has
    /// counted.
    ///
    /// # Errors
    /// If the output cannot be written.
    pub fn write_table(
        &self,
        options: &TableOptions,
        by_host: bool,
        output: &mut dyn Write,
    ) -> io::Result<()> {
        if self.counts.is_empty() {
            return Ok(());
        }
        table::write_hosts(options, &self.counts, by_host, self.asked, output)
    }
}

/// What a line is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LineKind {
    Stdout,
    Stderr,
    Trace,
}

enum TraceEvent {
    Line(usize, LineKind, Vec<u8>),
    Ended(u8),
}

impl HostsTraced {
    /// On the hosts of a text as `a,b,web[1-3]`; `ssh` logs in (`ssh` if there is none).  `words` are those of
    /// `whit trace` here, the last `command_words` of them the command; they are passed on but for options that
    /// say where.
    ///
    /// # Errors
    /// If the hosts are none, or the system has no random numbers.
    pub fn new(
        (hosts, ssh): (&str, Option<&str>),
        words: &[OsString],
        command_words: usize,
    ) -> Result<Self, RemoteHostsError> {
        let (options, command) = words.split_at(words.len().saturating_sub(command_words));
        let hosts = Hosts::new((hosts, ssh))?.without_questions();
        let random = connection::random::<16>().map_err(RemoteHostsError::Mark)?;
        let mark = format!("{:032x} ", u128::from_ne_bytes(random));
        let mut words = passed_on(options);
        words.retain(|word| *word != OsStr::new("--"));
        let mut remote = format!("exec whit trace --report-mark '{mark}'").into_bytes();
        let is_command = (!command.is_empty()).then_some(OsStr::new("--"));
        let command = command.iter().map(OsString::as_os_str);
        for word in words.into_iter().chain(is_command).chain(command) {
            remote.push(b' ');
            quote(Shell::Bourne, word.as_bytes(), &mut remote);
        }
        Ok(HostsTraced { hosts, command: remote, mark })
    }

    /// Traces until all have ended, or `stop` ends them.
    ///
    /// # Errors
    /// If lines cannot be written, or there are no threads: then all are ended.
    pub fn run(
        &self,
        stop: &TracesStop,
        mut outputs: TracedOutputs<'_>,
    ) -> Result<HostsEnd, RemoteHostsError> {
        let (to, events) = sync_channel(WAITING_MAX);
        let mut counts: BTreeMap<usize, CountReader> = BTreeMap::new();
        let mut end = HostsEnd { asked: self.hosts.names().len(), ..HostsEnd::default() };
        thread::scope(|scope| {
            for (number, name) in self.hosts.names().enumerate() {
                let to = to.clone();
                let thread = thread::Builder::new().name(format!("host-{number}"));
                let started = thread.spawn_scoped(scope, move || self.serve(number, stop, &to));
                if let Err(error) = started {
                    stop.kill();
                    return Err(RemoteHostsError::Thread(name.to_owned(), error));
                }
            }
            drop(to);
            while let Ok(event) = events.recv() {
                match event {
                    TraceEvent::Ended(status) => end.status = end.status.max(status),
                    TraceEvent::Line(number, kind, line) => {
                        let is_count = kind == LineKind::Trace
                            && std::str::from_utf8(&line)
                                .is_ok_and(|line| counts.entry(number).or_default().read(line));
                        let written = if is_count {
                            Ok(())
                        } else {
                            self.write(number, kind, &line, &mut outputs)
                        };
                        if let Err(error) = written {
                            stop.kill();
                            return Err(RemoteHostsError::Write(error));
                        }
                    }
                }
            }
            Ok(())
        })?;
        let counted = counts.into_iter().filter_map(|(number, reader)| {
            Some((self.hosts.name(number).to_owned(), reader.counts()?))
        });
        end.counts = counted.collect();
        Ok(end)
    }

    /// Writes a line with its host in front.
    fn write(
        &self,
        number: usize,
        kind: LineKind,
        line: &[u8],
        outputs: &mut TracedOutputs<'_>,
    ) -> io::Result<()> {
        let (out_is_terminal, err_is_terminal) = outputs.are_terminals;
        let line = line.strip_suffix(b"\n").unwrap_or(line);
        let prefix = self.hosts.prefix(number);
        let (to, is_shown): (&mut dyn Write, bool) = match (kind, &mut outputs.trace) {
            (LineKind::Stdout, _) => (outputs.stdout, out_is_terminal),
            (LineKind::Trace, Some(trace)) => (&mut **trace, true),
            (LineKind::Trace, None) => (outputs.stderr, true),
            (LineKind::Stderr, _) => (outputs.stderr, err_is_terminal),
        };
        if outputs.json && kind == LineKind::Trace {
            let name = self.hosts.name(number);
            writeln!(to, "{}", with_host(name, line))?;
        } else if is_shown {
            writeln!(to, "{prefix}{}", layout::text::escape(line))?;
        } else {
            to.write_all(&[prefix.as_bytes(), line, b"\n"].concat())?;
        }
        to.flush()
    }

    /// Traces on a host to the end.
    fn serve(&self, number: usize, stop: &TracesStop, to: &SyncSender<TraceEvent>) {
        let (mut command, program) = self.hosts.ssh(number, &self.command);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let status = match stop.start(number, &mut command) {
            Ok(None) => return,
            Err(error) => {
                let line = format!("whit: {program}: {error}\n").into_bytes();
                let _ = to.send(TraceEvent::Line(number, LineKind::Stderr, line));
                NOT_STARTED
            }
            Ok(Some((stdout, stderr))) => {
                thread::scope(|scope| {
                    let said = |line| to.send(TraceEvent::Line(number, LineKind::Stdout, line));
                    scope.spawn(move || {
                        lines(stdout, &mut |line| {
                            stop.begun(number);
                            said(line).is_ok()
                        });
                    });
                    lines(stderr, &mut |line| self.said(number, line, (stop, to)));
                });
                stop.wait(number)
            }
        };
        // Nobody takes it if all are ended.
        let _ = to.send(TraceEvent::Ended(status));
    }

    /// Passes a line of stderr on, or the beginning of one of the command and a line of the trace.
    fn said(
        &self,
        number: usize,
        mut line: Vec<u8>,
        (stop, to): (&TracesStop, &SyncSender<TraceEvent>),
    ) -> bool {
        let mark = self.mark.as_bytes();
        let Some(at) = line.windows(mark.len()).position(|part| part == mark) else {
            return to.send(TraceEvent::Line(number, LineKind::Stderr, line)).is_ok();
        };
        let traced = line.split_off(at + mark.len());
        line.truncate(at);
        stop.begun(number);
        let (is_first, is_begun) = (line.is_empty(), traced == BEGUN.as_bytes());
        (is_first || to.send(TraceEvent::Line(number, LineKind::Stderr, line)).is_ok())
            && (is_begun || to.send(TraceEvent::Line(number, LineKind::Trace, traced)).is_ok())
    }
}

/// A line of JSON with the host as its first key; what is no object becomes the text of one.
fn with_host(host: &str, line: &[u8]) -> String {
    let mut object = serde_json::Map::new();
    object.insert("host".to_owned(), host.into());
    match serde_json::from_slice(line) {
        Ok(serde_json::Value::Object(said)) => {
            object.extend(said.into_iter().filter(|(key, _)| key != "host"));
        }
        _ => {
            object.insert("text".to_owned(), String::from_utf8_lossy(line).into());
        }
    }
    text::escape::visible_json(serde_json::Value::Object(object).to_string())
}

/// Gives each line until the end or until nobody wants more.
fn lines(from: impl Read, give: &mut dyn FnMut(Vec<u8>) -> bool) {
    let mut from = BufReader::with_capacity(32 << 10, from);
    loop {
        let mut line = Vec::new();
        let read = (&mut from).take(LINE_BYTES_MAX).read_until(b'\n', &mut line);
        // What cannot be read has ended.
        if read.unwrap_or(0) == 0 || !give(line) {
            return;
        }
    }
}

impl TracesStop {
    /// Ends the traces once `wait`, in a thread of its own, has come back with true: a signal has come.  When it
    /// does so again, they are killed.
    #[must_use]
    pub fn after(mut wait: impl FnMut() -> bool + Send + 'static) -> Self {
        let stop = TracesStop::default();
        let ending = stop.clone();
        thread::spawn(move || {
            if wait() {
                ending.stop();
            }
            if wait() {
                ending.kill();
            }
        });
        stop
    }

    fn lock(&self) -> MutexGuard<'_, RunningTrace> {
        // A thread that panicked held it between whole changes.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Asks for the ends of the traces.
    fn stop(&self) {
        let mut running = self.lock();
        running.is_stopping = true;
        running.stdins.clear();
        for number in &running.silent {
            running.logins.signal(Some(*number), Signal::TERM);
        }
    }

    /// Something has come from a host.
    fn begun(&self, number: usize) {
        self.lock().silent.remove(&number);
    }

    /// Ends them at once.
    fn kill(&self) {
        let mut running = self.lock();
        running.is_stopping = true;
        running.stdins.clear();
        running.logins.signal(None, Signal::KILL);
    }

    /// Starts a program, if they are not ended.
    fn start(
        &self,
        number: usize,
        command: &mut std::process::Command,
    ) -> io::Result<Option<(std::process::ChildStdout, std::process::ChildStderr)>> {
        let mut running = self.lock();
        if running.is_stopping {
            return Ok(None);
        }
        // A terminal's INT is for whit, which then asks for the ends of the traces.
        let child = running.logins.start(number, (command, true))?;
        let (started, stdin) = (child.stdout.take().zip(child.stderr.take()), child.stdin.take());
        running.stdins.extend(stdin.map(|stdin| (number, stdin)));
        running.silent.insert(number);
        Ok(started)
    }

    /// Waits for the end of a program, whose output has ended: its status.
    fn wait(&self, number: usize) -> u8 {
        let pid = {
            let mut running = self.lock();
            running.stdins.retain(|(own, _)| *own != number);
            running.silent.remove(&number);
            running.logins.pid(number)
        };
        wait_for_end(pid);
        let status = self.lock().logins.reap(number).ok();
        let code = status.map(|status| status.code().unwrap_or(128 + status.signal().unwrap_or(0)));
        code.and_then(|code| u8::try_from(code).ok()).unwrap_or(NOT_STARTED)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_gets_the_options_and_the_command_word_by_word() {
        let words = |words: &[&str]| words.iter().map(OsString::from).collect::<Vec<_>>();
        let options = words(&["-c", "--hosts", "a,b", "--ssh=x", "--"]);
        let command = words(&["make", "--hosts", "it's"]);
        let all = [options, command].concat();
        let traced = HostsTraced::new(("a,b", None), &all, 3).unwrap();
        let words = "-c -- make --hosts 'it'\"'\"'s'";
        let wanted = format!("exec whit trace --report-mark '{}' {words}", traced.mark);
        assert_eq!(String::from_utf8_lossy(&traced.command), wanted);
        assert_eq!((traced.hosts.names().len(), traced.mark.len()), (2, 33));
    }

    #[test]
    fn the_host_is_the_first_key_whatever_a_line_says() {
        assert_eq!(with_host("a", br#"{"host":"b","x":1}"#), r#"{"host":"a","x":1}"#);
        assert_eq!(with_host("a", b"\x1b[2J"), r#"{"host":"a","text":"\u001b[2J"}"#);
    }
}
