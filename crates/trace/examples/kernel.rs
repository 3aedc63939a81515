//! Writes what a command does as lines, by the engine in the kernel: `kernel COMMAND ARGUMENTS…`.

#![allow(clippy::print_stderr, reason = "what it is for")]

use std::io::{BufWriter, Write as _, stderr};
use std::ops::ControlFlow;

use trace::engine::{
    Error, FollowScope, KernelEngine, KernelSettings, RunResult, TraceEngine as _, TracedCommand,
};
use trace::{LineOptions, PidPrefix, Printer};

fn main() -> Result<(), Error> {
    let words: Vec<_> = std::env::args_os().skip(1).collect();
    if words.is_empty() {
        eprintln!("usage: kernel COMMAND ARGUMENTS...");
        return Ok(());
    }
    let folders = std::env::var_os("PATH").unwrap_or_default();
    let command = TracedCommand::new(words, std::env::vars_os().collect(), folders);
    let mut engine = KernelEngine::start(&command, &KernelSettings::new(FollowScope::Tree))?;
    engine.measure(true)?;
    let mut printer =
        Printer::new(LineOptions { pid_prefix: PidPrefix::WhenSeveral, ..LineOptions::default() });
    let mut out = BufWriter::new(stderr());
    while engine.run(None, &mut |event, memory| {
        let written = printer.event(event, memory, &(), &mut out);
        if written.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    })? != RunResult::Ended
    {}
    let _ = out.flush();
    let weight = engine.cost();
    let call_ns = weight.call_ns().unwrap_or_default();
    eprintln!("{:?}, {call_ns:.0} ns a call, {} lost", engine.end(), engine.lost());
    Ok(())
}
