//! Writes what a command does as lines, by the engine in the kernel: `kernel COMMAND ARGUMENTS…`.

#![allow(clippy::print_stderr, reason = "what it is for")]

use std::io::{BufWriter, Write as _, stderr};
use std::ops::ControlFlow;

use trace::engine::{
    Error, FollowScope, KernelEngine, KernelSettings, RunResult, TraceEngine as _, TracedCommand,
};
use trace::{LineOptions, PidPrefix, Printer};

fn main() -> Result<(), Error> {
    let mut words = std::env::args_os().skip(1);
    let Some(program) = words.next() else {
        eprintln!("usage: kernel COMMAND ARGUMENTS...");
        return Ok(());
    };
    let command = TracedCommand {
        program,
        arguments: words.collect(),
        name: None,
        environment: std::env::vars_os().collect(),
        folders: std::env::var_os("PATH").unwrap_or_default(),
        user: None,
        closed: [false; 3],
        handed_over: [false; 2],
        tracer: None,
    };
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
