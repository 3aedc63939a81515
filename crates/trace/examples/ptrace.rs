//! Counts the calls of a command by the ptrace engines, to weigh them beside `strace -c`:
//! `ptrace [seccomp NAME,NAME…] COMMAND ARGUMENTS…`.

#![allow(clippy::print_stdout, reason = "what it is for")]

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use trace::EventKind;
use trace::engine::{
    CallFilter, Error, FollowScope, PtraceEngine, RunResult, TraceEngine as _, TracedCommand,
};

fn main() -> Result<(), Error> {
    let mut words: Vec<String> = std::env::args().skip(1).collect();
    let mut names = None;
    if words.first().is_some_and(|word| word == "seccomp") && words.len() > 2 {
        names = Some(words.remove(1));
        words.remove(0);
    }
    if words.is_empty() {
        println!("usage: ptrace [seccomp NAME,NAME...] COMMAND ARGUMENTS...");
        return Ok(());
    }
    let folders = std::env::var_os("PATH").unwrap_or_default();
    let command = TracedCommand::new(words, std::env::vars_os().collect(), folders);
    let mut engine = match names {
        Some(names) => {
            let names: Vec<&str> = names.split(',').collect();
            let wanted = |name| names.contains(&name);
            let wanted = CallFilter::of(|call| call.known_name().is_some_and(wanted));
            PtraceEngine::start_selected(&command, FollowScope::Tree, wanted)?
        }
        None => PtraceEngine::start(&command, FollowScope::Tree, CallFilter::all())?,
    };
    let mut counts = BTreeMap::new();
    while engine.run(None, &mut |event, _| {
        if let EventKind::Exit { call, wall_ns, .. } = event.what {
            let count: &mut (u64, u64) = counts.entry(call.id).or_default();
            count.0 += 1;
            count.1 += wall_ns;
        }
        ControlFlow::Continue(())
    })? != RunResult::Ended
    {}
    for (call, (calls, wall_ns)) in counts {
        println!("{:>10} {:>10} ns each  {}", calls, wall_ns / calls, call.name());
    }
    let weight = engine.cost();
    println!("{:?}, {} stops of {} ns", engine.end(), weight.times, weight.held_ns / weight.times);
    Ok(())
}
