//! `tail` and `query` of a central server on another machine.

use std::io::{self, Write};
use std::ops::ControlFlow;
use std::process::ExitCode;

use log_store::remote::{RemoteAnswer, RemotePart, RemoteQuery};

use super::reach::ReachArguments;
use super::show::{Newest, Printer, QueryArguments, TailArguments, found};

fn ask(reach: &ReachArguments, central: &str, query: &RemoteQuery) -> anyhow::Result<RemoteAnswer> {
    let (reader, mut writer) = reach.connect(central)?;
    Ok(RemoteAnswer::ask(reader, &mut writer, query)?)
}

fn complain(damaged: &[String]) {
    damaged.iter().for_each(crate::stderr::message);
}

/// Runs `whit log query --central`.
pub(crate) fn query(arguments: &QueryArguments, central: &str) -> anyhow::Result<ExitCode> {
    let query = RemoteQuery {
        filter: arguments.records.filter.filter()?,
        limit: arguments.limit.unwrap_or(0),
        counts: arguments.count,
        ..RemoteQuery::default()
    };
    let mut answer = ask(&arguments.records.reach, central, &query)?;
    let stdout = io::stdout();
    let format = arguments.records.format.format(terminal::shows(&stdout));
    let mut printer = Printer::new(format, query.filter.clone(), stdout.lock());
    loop {
        match answer.next(&mut |item| printer.show(item))? {
            RemotePart::Records => {}
            RemotePart::Enough => return Ok(found(printer.finish()?)),
            RemotePart::End { records, damaged } => {
                complain(&damaged);
                if arguments.count {
                    drop(printer);
                    crate::stderr::print(&format!("{records}\n"))?;
                    return Ok(found(records));
                }
                return Ok(found(printer.finish()?));
            }
        }
    }
}

/// Runs `whit log tail --central`.
pub(crate) fn tail(arguments: &TailArguments, central: &str) -> anyhow::Result<ExitCode> {
    let query = RemoteQuery {
        filter: arguments.records.filter.filter()?,
        newest: Some(u32::try_from(arguments.lines).unwrap_or(u32::MAX)),
        follows: !arguments.no_follow,
        ..RemoteQuery::default()
    };
    let mut answer = ask(&arguments.records.reach, central, &query)?;
    let stdout = io::stdout();
    let format = arguments.records.format.format(terminal::shows(&stdout));
    let mut printer = Printer::new(format, query.filter.clone(), stdout.lock());
    let mut newest = Newest::new(arguments.lines);
    loop {
        let part = answer.next(&mut |item| {
            newest.add(&mut printer, item);
            ControlFlow::Continue(())
        })?;
        if let RemotePart::End { damaged, .. } = part {
            complain(&damaged);
            break;
        }
    }
    newest.show(&mut printer);
    while !arguments.no_follow && printer.write().is_continue() {
        printer.out.flush()?;
        if answer.next(&mut |item| printer.show(item))? == RemotePart::Enough {
            break;
        }
    }
    printer.finish()?;
    Ok(ExitCode::SUCCESS)
}
