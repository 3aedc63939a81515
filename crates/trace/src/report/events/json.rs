//! Events as JSON, one object a line, for other programs.

use std::io::{self, Write as _};

use serde_json::{Map, Value, json};

use super::single::{PrinterOutput, SingleOutput};
use crate::decode::{ValueStyle, signals};
use crate::event::{Call, Signal, error_of};
use crate::flags::errors;
use crate::line::CallText;
use crate::report::output::TraceOutput;
use crate::{
    Abi, CallChanges, Dumps, EventKind, LineOptions, Memory, PidPrefix, TraceEvent, WaitStatus,
};

/// Writes each event as a JSON object in a line.
pub struct JsonWriter {
    inner: PrinterOutput,
    wall_offset_ns: i64,
}

impl JsonWriter {
    /// A writer to this output: the printer keeps the parts of calls, and its lines go nowhere.
    pub fn new(options: LineOptions, output: TraceOutput) -> Self {
        let options = LineOptions {
            stamp: None,
            relative: None,
            took: None,
            numbers: false,
            pointers: false,
            dumps: Dumps::default(),
            pid_prefix: PidPrefix::Never,
            column: 0,
            whole_lines: true,
            keep_calls: true,
            announce: false,
            ends: false,
            ..options
        };
        JsonWriter {
            wall_offset_ns: options.wall_offset_ns,
            inner: PrinterOutput::new(options, output),
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
        let PrinterOutput { printer, descriptors, .. } = &mut self.inner;
        printer.event(event, memory, descriptors, &mut io::sink())?;
        let call = printer.take_call();
        let mut object = self.object(event);
        match event.what {
            EventKind::Enter(_) => return Ok(()),
            EventKind::Exit { call: Call { id, .. }, result, wall_ns, cpu_ns, changes } => {
                let Some(call) = call else { return Ok(()) };
                call_members(call, error_of(result).and_then(errors::any_name), &mut object);
                if id.abi == Abi::I386 {
                    object.insert("abi".to_owned(), "i386".into());
                }
                object.insert("result".to_owned(), result.into());
                object.insert("wall_ns".to_owned(), wall_ns.into());
                if changes != CallChanges::default() {
                    object.insert("injected".to_owned(), changes.is_injected.into());
                    object.insert("delayed".to_owned(), changes.is_delayed.into());
                }
                if let Some(cpu_ns) = cpu_ns {
                    object.insert("cpu_ns".to_owned(), cpu_ns.into());
                }
            }
            EventKind::Signal(Signal { number, .. }) | EventKind::Stopped(number) => {
                if !self.inner.printer.options().signals.has(number) {
                    return Ok(());
                }
                signal_members(event.what, number, &mut object);
            }
            EventKind::Began { parent } => {
                object.insert("event".to_owned(), "began".into());
                object.insert("parent".to_owned(), parent.into());
            }
            EventKind::Superseded { former } => {
                object.insert("event".to_owned(), "superseded".into());
                object.insert("former".to_owned(), former.into());
            }
            EventKind::Detached => {
                object.insert("event".to_owned(), "detached".into());
            }
            EventKind::Ended(status) => {
                // The call from which the task did not return.
                if let Some(call) = call {
                    let mut last = self.object(event);
                    call_members(call, None, &mut last);
                    last.insert("result".to_owned(), Value::Null);
                    self.write(last)?;
                }
                end_members(status, &mut object);
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

/// The members of a call that has a line, with the name of its error.
fn call_members(call: CallText, error: Option<&str>, object: &mut Map<String, Value>) {
    object.insert("event".to_owned(), "call".into());
    object.insert("syscall".to_owned(), call.id.name().into());
    object.insert("arguments".to_owned(), call.arguments.into());
    if let Some(name) = error {
        object.insert("error".to_owned(), name.into());
    }
    object.insert("result_text".to_owned(), call.result.into());
}

/// The members of a signal that is delivered, with its `siginfo_t`, or that stops a task.
fn signal_members(event: EventKind, number: i32, object: &mut Map<String, Value>) {
    let text = |write: &dyn Fn(&mut Vec<u8>)| {
        let mut text = Vec::new();
        write(&mut text);
        String::from_utf8_lossy(&text).into_owned()
    };
    let is_delivered = matches!(event, EventKind::Signal(_));
    object.insert("event".to_owned(), if is_delivered { "signal" } else { "stopped" }.into());
    let name = text(&|out| signals::write_signal(number, out));
    object.insert("signal".to_owned(), name.into());
    if let EventKind::Signal(signal) = event {
        let details = text(&|out| signals::siginfo(&signal, None, &ValueStyle::default(), out));
        object.insert("details".to_owned(), details.into());
    }
}

/// The members of a task that has exited.
fn end_members(status: WaitStatus, object: &mut Map<String, Value>) {
    object.insert("event".to_owned(), "ended".into());
    match status {
        WaitStatus::Exited(status) => object.insert("status".to_owned(), status.into()),
        WaitStatus::Signaled { number, dumped } => {
            object.insert("dumped".to_owned(), dumped.into());
            object.insert("signal".to_owned(), number.into())
        }
    };
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{CallId, Printer};

    fn call(name: &str, arguments: [u64; 6]) -> Call {
        Call { id: CallId::by_name(Abi::X86_64, name).expect("a call"), arguments }
    }

    /// The parts of the call that the last of these events finishes.
    fn parts(events: &[EventKind], memory: &dyn Memory) -> Option<CallText> {
        let options = LineOptions { whole_lines: true, keep_calls: true, ..LineOptions::default() };
        let mut printer = Printer::new(options);
        let mut last = None;
        for what in events {
            let event = TraceEvent { time_ns: 0, thread: 1, process: 1, what: *what };
            printer.event(&event, memory, &(), &mut io::sink()).expect("no output fails");
            last = printer.take_call();
        }
        last
    }

    fn ended(call: Call, result: i64) -> [EventKind; 2] {
        let exit = EventKind::Exit {
            call,
            result,
            wall_ns: 0,
            cpu_ns: None,
            changes: CallChanges::default(),
        };
        [EventKind::Enter(call), exit]
    }

    /// A text that looks like the end of a call.
    struct LooksLikeAnEnd;

    impl Memory for LooksLikeAnEnd {
        fn read(&self, _: u64, into: &mut [u8]) -> usize {
            let text = b"a) = b, c";
            let length = into.len().min(text.len());
            into[..length].copy_from_slice(&text[..length]);
            length
        }
    }

    #[test]
    fn a_call_has_its_parts() {
        let read = call("read", [3, 0x1000, 9, 0, 0, 0]);
        let text = parts(&ended(read, 9), &LooksLikeAnEnd).expect("a call");
        assert_eq!(text.arguments, ["3", r#""a) = b, c""#, "9"]);
        assert_eq!(text.result, "9");
        let failed = parts(&ended(call("close", [4, 0, 0, 0, 0, 0]), -9), &()).expect("a call");
        assert_eq!(failed.result, "-1 EBADF (Bad file descriptor)");
        let none = parts(&ended(call("getpid", [0; 6]), 7), &()).expect("a call");
        assert_eq!(none.arguments, [""; 0]);
    }

    #[test]
    fn a_call_that_did_not_return_has_what_was_known_at_its_entry() {
        let killed = EventKind::Ended(WaitStatus::Signaled { number: 9, dumped: false });
        let read = EventKind::Enter(call("read", [3, 0x1000, 9, 0, 0, 0]));
        let text = parts(&[read, killed], &()).expect("a call");
        assert_eq!((text.arguments, text.result), (vec!["3".to_owned()], "?".to_owned()));
        assert_eq!(parts(&[killed], &()), None, "it was in no call");
    }

    #[test]
    fn errors_have_names() {
        assert_eq!(errors::any_name(2), Some("ENOENT"));
        assert_eq!(errors::any_name(514), Some("ERESTARTNOHAND"));
        assert_eq!(errors::any_name(4000), None);
    }

    #[test]
    fn signals_have_names_and_details() {
        let mut object = Map::new();
        let number = libc::SIGUSR1;
        let signal = Signal { number, ..Signal::default() };
        signal_members(EventKind::Signal(signal), number, &mut object);
        assert_eq!(object["signal"], "SIGUSR1");
        assert!(
            object["details"].as_str().is_some_and(|text| text.starts_with("{si_signo=SIGUSR1"))
        );
        let mut object = Map::new();
        signal_members(EventKind::Stopped(libc::SIGSTOP), libc::SIGSTOP, &mut object);
        assert_eq!((&object["event"], &object["signal"]), (&json!("stopped"), &json!("SIGSTOP")));
        assert!(!object.contains_key("details"));
    }
}
