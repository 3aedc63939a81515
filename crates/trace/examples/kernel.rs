//! Writes what a command does as lines, by the engine in the kernel: `kernel COMMAND ARGUMENTS…`.

#![allow(clippy::print_stderr, reason = "what it is for")]

use std::io::{BufWriter, Write as _, stderr};
use std::ops::ControlFlow;

use trace::engine::{Command, Engine as _, Error, KernelEvents, KernelSettings, Progress, Scope};
use trace::{LineOptions, Naming, Printer};

fn main() -> Result<(), Error> {
    let mut words = std::env::args_os().skip(1);
    let Some(program) = words.next() else {
        eprintln!("usage: kernel COMMAND ARGUMENTS...");
        return Ok(());
    };
    let command = Command {
        program,
        arguments: words.collect(),
        name: None,
        environment: std::env::vars_os().collect(),
        folders: std::env::var_os("PATH").unwrap_or_default(),
        user: None,
    };
    let mut engine = KernelEvents::start(&command, &KernelSettings::new(Scope::Tree))?;
    engine.measure(true)?;
    let mut printer =
        Printer::new(LineOptions { naming: Naming::Several, ..LineOptions::default() });
    let mut out = BufWriter::new(stderr());
    while engine.run(None, &mut |event, memory| {
        let written = printer.event(event, memory, &(), &mut out);
        if written.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    })? != Progress::Ended
    {}
    let _ = out.flush();
    let weight = engine.weight();
    let call_ns = weight.call_ns().unwrap_or_default();
    eprintln!("{:?}, {call_ns:.0} ns a call, {} lost", engine.end(), engine.lost());
    Ok(())
}
