//! Events as JSON, one object a line, for other programs.

use std::io::{self, Write as _};

use serde_json::{Map, Value, json};

use super::single::{PrinterOutput, SingleOutput};
use crate::report::output::TraceOutput;
use crate::{Abi, EventKind, LineOptions, Memory, PidPrefix, TraceEvent, WaitStatus};

/// Separates arguments until a line is split: no argument contains it, because it is escaped there.
const SEPARATOR: &str = "\u{1f}";

/// Writes each event as a JSON object in a line.
pub struct JsonWriter {
    inner: PrinterOutput,
    wall_offset_ns: i64,
    line: Vec<u8>,
}

impl JsonWriter {
    /// Lines are written whole and split again; time and task are separate members.
    pub fn new(options: LineOptions, output: TraceOutput) -> Self {
        let options = LineOptions {
            stamp: None,
            relative: None,
            took: None,
            numbers: false,
            pid_prefix: PidPrefix::Never,
            column: 0,
            whole_lines: true,
            announce: false,
            ends: false,
            separator: SEPARATOR,
            ..options
        };
        JsonWriter {
            wall_offset_ns: options.wall_offset_ns,
            inner: PrinterOutput::new(options, output),
            line: Vec::new(),
        }
    }

    fn object(&self, event: &TraceEvent) -> Map<String, Value> {
        let time_ns = (event.time_ns as i64).saturating_add(self.wall_offset_ns);
        let mut object = Map::new();
        object.insert("time_s".to_owned(), json!((time_ns / 1_000) as f64 / 1e6));
        object.insert("thread".to_owned(), event.thread.into());
        object.insert("process".to_owned(), event.process.into());
        object
    }

    fn write(&mut self, object: Map<String, Value>) -> io::Result<()> {
        writeln!(self.inner.batch.text(), "{}", Value::Object(object))?;
        self.inner.batch.added()
    }
}

impl SingleOutput for JsonWriter {
    fn inner(&mut self) -> &mut PrinterOutput {
        &mut self.inner
    }

    fn write_event(&mut self, event: &TraceEvent, memory: &dyn Memory) -> io::Result<()> {
        self.line.clear();
        let PrinterOutput { printer, descriptors, .. } = &mut self.inner;
        printer.event(event, memory, descriptors, &mut self.line)?;
        let text = String::from_utf8_lossy(&self.line).trim_end().to_owned();
        let mut object = self.object(event);
        match event.what {
            EventKind::Enter(_) => return Ok(()),
            EventKind::Exit { call, result, wall_ns, cpu_ns } => {
                if text.is_empty() {
                    return Ok(());
                }
                call_members(&text, &mut object);
                if call.id.abi == Abi::I386 {
                    object.insert("abi".to_owned(), "i386".into());
                }
                object.insert("result".to_owned(), result.into());
                object.insert("wall_ns".to_owned(), wall_ns.into());
                if let Some(cpu_ns) = cpu_ns {
                    object.insert("cpu_ns".to_owned(), cpu_ns.into());
                }
            }
            EventKind::Signal(_) | EventKind::Stopped(_) => {
                if text.is_empty() {
                    return Ok(());
                }
                let kind =
                    if matches!(event.what, EventKind::Signal(_)) { "signal" } else { "stopped" };
                signal_members(&text, kind, &mut object);
            }
            EventKind::Began { parent } => {
                object.insert("event".to_owned(), "began".into());
                object.insert("parent".to_owned(), parent.into());
            }
            EventKind::Superseded { former } => {
                object.insert("event".to_owned(), "superseded".into());
                object.insert("former".to_owned(), former.into());
            }
            EventKind::Ended(end) => {
                // The call from which the task did not return.
                if !text.is_empty() {
                    let mut last = self.object(event);
                    call_members(&text, &mut last);
                    last.insert("result".to_owned(), Value::Null);
                    self.write(last)?;
                }
                object.insert("event".to_owned(), "ended".into());
                match end {
                    WaitStatus::Exited(status) => object.insert("status".to_owned(), status.into()),
                    WaitStatus::Signaled { number, dumped } => {
                        object.insert("dumped".to_owned(), dumped.into());
                        object.insert("signal".to_owned(), number.into())
                    }
                };
            }
        }
        self.write(object)
    }

    fn end_lines(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn into_inner(self) -> PrinterOutput {
        self.inner
    }
}

/// Splits the line of a call: `name(arguments) = result words`.
fn call_members(text: &str, object: &mut Map<String, Value>) {
    object.insert("event".to_owned(), "call".into());
    // Text among the arguments may contain `) = `, the words after the result do not.
    let (call, result) = text.rsplit_once(") = ").unwrap_or((text, ""));
    let (name, arguments) = call.split_once('(').unwrap_or((call, ""));
    object.insert("syscall".to_owned(), name.into());
    object.insert("arguments".to_owned(), split_arguments(arguments).into());
    let mut words = result.split(' ');
    if matches!(words.next(), Some("-1" | "?"))
        && let Some(error) = words.next()
    {
        object.insert("error".to_owned(), error.into());
    }
    object.insert("told".to_owned(), result.into());
}

/// The arguments as strings; for a call that never ended those that were known at its entry.
fn split_arguments(arguments: &str) -> Vec<Value> {
    let arguments = arguments.strip_suffix(" <unfinished ...>").unwrap_or(arguments);
    let arguments = arguments.strip_suffix(SEPARATOR).unwrap_or(arguments);
    if arguments.is_empty() {
        return Vec::new();
    }
    arguments.split(SEPARATOR).map(Value::from).collect()
}

/// Splits the line of a signal: `--- SIGCHLD {si_signo=SIGCHLD, …} ---`.
fn signal_members(text: &str, kind: &str, object: &mut Map<String, Value>) {
    object.insert("event".to_owned(), kind.into());
    let inner = text.trim_start_matches("--- ").trim_end_matches(" ---");
    let inner = inner.trim_start_matches("stopped by ");
    let (name, details) = inner.split_once(' ').unwrap_or((inner, ""));
    object.insert("signal".to_owned(), name.into());
    if !details.is_empty() {
        object.insert("details".to_owned(), details.into());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_taken_apart() {
        let of = |text: &str| {
            let mut object = Map::new();
            call_members(text, &mut object);
            object
        };
        let read = of("read(3\u{1f}\"a) = b, c\"\u{1f}9) = 7");
        assert_eq!(read["syscall"], "read");
        assert_eq!(read["arguments"], json!(["3", r#""a) = b, c""#, "9"]));
        assert_eq!(read["told"], "7");
        assert!(!read.contains_key("error"));
        let open = of(r#"open("/x", O_RDONLY) = -1 ENOENT (No such file or directory)"#);
        assert_eq!(open["error"], "ENOENT");
        assert_eq!(
            of("pause() = ? ERESTARTNOHAND (To be restarted if no handler)")["error"],
            "ERESTARTNOHAND"
        );
        assert!(!of("exit_group(0) = ?").contains_key("error"));
        assert_eq!(of("getpid() = 7")["arguments"], json!([]));
        let cut = of("read(3\u{1f} <unfinished ...>) = ?");
        assert_eq!(cut["arguments"], json!(["3"]), "{cut:?}");
        assert_eq!(of("wait4( <unfinished ...>) = ?")["arguments"], json!([]));
        let mut object = Map::new();
        signal_members("--- SIGUSR1 {si_signo=SIGUSR1} ---", "signal", &mut object);
        assert_eq!(object["signal"], "SIGUSR1");
        assert_eq!(object["details"], "{si_signo=SIGUSR1}");
        signal_members("--- stopped by SIGSTOP ---", "stopped", &mut object);
        assert_eq!(object["signal"], "SIGSTOP");
    }
}
