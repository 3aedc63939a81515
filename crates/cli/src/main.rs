//! whit: watch everything, weigh nothing.  The command line: each verb is a module in `commands/`, with
//! its `arguments` and its `run`.
//!
//! Exit codes: 0 done; 1 nothing found, or a verdict that is not "fine"; 2 an error, in one
//! line on stderr.  A closed pipe downstream is not an error.
//!
//! Uses every other crate of ours but `testkit`; nothing uses it.  What a verb does is in a library:
//! this crate turns options into plain structs and the errors it gets into sentences.
//! Begin with this file, then `commands/doctor/`, one of the shortest verbs.
#![allow(
    rustdoc::broken_intra_doc_links,
    reason = "help texts write optional parts in brackets, as manuals do"
)]

use std::ffi::OsString;
use std::process::ExitCode;

use clap::{Args, CommandFactory, FromArgMatches, Parser, Subcommand};
use text::error_text::with_causes;

mod commands;
mod compat;
mod daemon;
mod descriptors;
mod display;
#[cfg(target_env = "gnu")]
mod elementary;
mod end_signals;
#[cfg(test)]
mod every_option;
mod export;
mod help;
mod http;
mod pager;
mod server_tls;
mod size_limit;
mod stack;
mod start;
mod stderr;
mod usage;
mod words;
mod zone;

/// Tests check that a sample allocates nothing.
#[cfg(test)]
#[global_allocator]
static ALLOCATOR: testkit::CountingAllocator = testkit::CountingAllocator;

/// Watch everything, weigh nothing: record this machine, play it back, see what reading costs.
#[derive(Parser)]
#[command(name = "whit", version, max_term_width = 100, after_help = help::WHIT)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    /// The service: record this machine and serve what was recorded; more by one configuration
    Watch(commands::watch::WatchArguments),
    /// Show the configuration of the service, and where each value came from
    Config(commands::watch::ConfigArguments),
    /// Sample this machine: to the screen, or with -f to a recording
    Record(Box<commands::record::RecordArguments>),
    /// Show recordings: whit's own and collectl's
    Play(Box<commands::play::PlayArguments>),
    /// Processes on a terminal: of this machine, or of a recording at any moment
    Top(Box<commands::top::TopArguments>),
    /// System calls of a command, of processes or of the machine: counted and timed
    Trace(Box<commands::trace::TraceArguments>),
    /// Many jobs at once, by GNU parallel's command line
    Run(Box<commands::run::RunArguments>),
    /// Poll devices by MRTG's configuration files
    Poll(Box<commands::poll::PollArguments>),
    /// Round-robin databases, by RRDtool's command line
    Rrd(commands::rrd::RrdArguments),
    /// Collect updates of round-robin databases for many clients, and write them together
    Rrdcached(Box<commands::rrdcached::RrdcachedArguments>),
    /// Carry log records to a central store without loss, and look at them there
    Log(Box<commands::log::LogArguments>),
    /// Answer queries over recordings by HTTP, as Prometheus does: for Grafana and others
    Serve(commands::serve::ServeArguments),
    /// Rules over recordings, and messages to people when one fires
    Alert(commands::alert::AlertArguments),
    /// Hand recordings over to engines, nothing lost: Prometheus and others by remote write
    Send(commands::send::SendArguments),
    /// Reports as sar, iostat, mpstat, pidstat, vmstat, free and uptime make them, also of recordings
    Sysstat(commands::sysstat::SysstatArguments),
    /// What each kernel file costs to read here, and what is missing
    Doctor(commands::doctor::DoctorArguments),
    /// Repeat the classic overhead tables on this machine, beside the incumbents
    Bench(bench::arguments::BenchArguments),
    /// Make links under the incumbents' names, so that their command lines work
    Link(commands::link::LinkArguments),
    /// Write man pages, completions or the reference
    #[command(hide = true)]
    Generate(commands::generate::GenerateArguments),
    /// Values for the end of a command line, for the completions of shells
    #[command(hide = true)]
    Complete(commands::complete::CompleteArguments),
}

fn main() -> ExitCode {
    stack::with_room(run)
}

/// Runs what the command line asks for.
fn run() -> ExitCode {
    size_limit::report_as_error();
    let given = words::given();
    let incumbent = compat::incumbent(&given);
    let abbreviates = incumbent.is_some();
    let words = compat::command_line(given);
    if words.get(1).is_some_and(|word| word == "--version") && compat::is_called("collectl") {
        let done = stderr::print(&feed::collectl_switches::version());
        return done.map_or_else(|error| ExitCode::from(failed(&error, 2)), |()| ExitCode::SUCCESS);
    }
    let runs = words.get(1).is_some_and(|verb| verb == "run");
    let failure = match incumbent {
        Some(incumbent) => incumbent.failure,
        None if runs => commands::run::FAILURE,
        None if words.get(1).is_some_and(|verb| verb == "rrd") => commands::rrd::FAILURE,
        None if words.get(1).is_some_and(|verb| verb == "rrdcached") => {
            commands::rrdcached::FAILURE
        }
        None => 2,
    };
    let words = match commands::run::config::configured(words) {
        Ok(words) => words,
        Err(error) => {
            stderr::message(usage::in_one_line(&with_causes(&*error)));
            return ExitCode::from(failure);
        }
    };
    let arguments = match parse(&words, abbreviates) {
        Ok(arguments) => arguments,
        Err(error) => return refuse(&error, &words, failure),
    };
    // Who types another program's name expects what that program does.
    let pager = if abbreviates { None } else { pager_of(&arguments) };
    let done = match arguments.verb {
        Verb::Watch(arguments) => commands::watch::run(&arguments),
        Verb::Config(arguments) => commands::watch::show(&arguments),
        Verb::Record(arguments) => commands::record::run(*arguments),
        Verb::Play(arguments) => commands::play::run(*arguments),
        Verb::Top(arguments) => commands::top::run(&arguments),
        Verb::Trace(arguments) => commands::trace::run(&arguments),
        Verb::Run(arguments) => commands::run::run(*arguments),
        Verb::Rrd(arguments) => commands::rrd::run(arguments),
        Verb::Rrdcached(arguments) => commands::rrdcached::run(*arguments),
        Verb::Log(arguments) => commands::log::run(*arguments),
        Verb::Poll(arguments) => commands::poll::run(*arguments),
        Verb::Serve(arguments) => commands::serve::run(&arguments),
        Verb::Alert(arguments) => commands::alert::run(&arguments),
        Verb::Send(arguments) => commands::send::run(&arguments),
        Verb::Sysstat(arguments) => commands::sysstat::run(&arguments),
        Verb::Doctor(arguments) => commands::doctor::run(arguments),
        Verb::Bench(_) => commands::bench::run(),
        Verb::Link(arguments) => commands::link::run(&arguments),
        Verb::Generate(arguments) => commands::generate::run(&arguments),
        Verb::Complete(arguments) => commands::complete::run(&arguments),
    };
    let code = done.unwrap_or_else(|error| ExitCode::from(failed(&error, failure)));
    pager::end(pager, code)
}

/// Starts a pager for verbs that have long output.
fn pager_of(arguments: &Arguments) -> Option<terminal::Pager> {
    let pager = match &arguments.verb {
        Verb::Play(arguments) => Some(&arguments.pager).filter(|_| arguments.is_long()),
        Verb::Log(log) => match &log.action {
            commands::log::Action::Query(arguments) => Some(&arguments.pager),
            _ => None,
        },
        Verb::Doctor(arguments) => Some(&arguments.pager),
        _ => None,
    };
    pager.filter(|pager| !pager.no_pager).and_then(|_| pager::start())
}

/// Says why a verb failed, and gives the exit code.
fn failed(error: &anyhow::Error, failure: u8) -> u8 {
    if stderr::is_broken_pipe(error) {
        return 0;
    }
    stderr::message(usage::in_one_line(&with_causes(&**error)));
    failure
}

/// Reads a command line.  Incumbents take any abbreviation of a long switch that is not
/// ambiguous; whit itself does not, so that a new switch breaks no script.
fn parse(words: &[OsString], abbreviates: bool) -> Result<Arguments, clap::Error> {
    if let Some(verb) = parse_alone(words) {
        return Ok(Arguments { verb });
    }
    if let Some(arguments) = commands::rrd::RrdArguments::of(words) {
        return Ok(Arguments { verb: Verb::Rrd(arguments) });
    }
    let mut command = Arguments::command();
    if words.iter().any(|word| word == "help" || word == "--help" || word == "-h") {
        command = help::fitted(completion::examples::with_examples(command));
    }
    if abbreviates {
        for verb in ["record", "play"] {
            command = command.mut_subcommand(verb, |verb| verb.infer_long_args(true));
        }
    }
    // As in collectl, what is said again replaces what was said before; files are added.
    let replaced = |option: clap::Arg| match option.is_positional() {
        true => option,
        false => {
            let id = option.get_id().clone();
            option.overrides_with(id)
        }
    };
    command = command.mut_subcommand("play", |verb| verb.mut_args(replaced));
    Arguments::from_arg_matches(&command.try_get_matches_from(words)?)
}

/// Parses the plain command line of a verb that runs for weeks or is started often, without building the
/// options of every other verb: those are 0.8 MiB, and a process keeps all memory that its start has
/// touched.  Help and errors are left to the whole command, which prints them.
fn parse_alone(words: &[OsString]) -> Option<Verb> {
    let (verb, given) = words.get(1..)?.split_first()?;
    match verb.to_str()? {
        "record" => arguments_of(given).map(|one| Verb::Record(Box::new(one))),
        "run" => arguments_of(given).map(|one| Verb::Run(Box::new(one))),
        "watch" => arguments_of(given).map(Verb::Watch),
        "serve" => arguments_of(given).map(Verb::Serve),
        "alert" => arguments_of(given).map(Verb::Alert),
        "send" => arguments_of(given).map(Verb::Send),
        "poll" => arguments_of(given).map(|one| Verb::Poll(Box::new(one))),
        "rrdcached" => arguments_of(given).map(|one| Verb::Rrdcached(Box::new(one))),
        "log" => arguments_of(given).map(|one| Verb::Log(Box::new(one))),
        _ => None,
    }
}

fn arguments_of<A: Args>(given: &[OsString]) -> Option<A> {
    let command = A::augment_args(clap::Command::new("whit").no_binary_name(true));
    A::from_arg_matches(&command.try_get_matches_from(given).ok()?).ok()
}

/// Prints help, the version, or what is wrong with the command line.
fn refuse(error: &clap::Error, words: &[OsString], failure: u8) -> ExitCode {
    let words: Vec<String> = words.iter().map(|word| word.to_string_lossy().into()).collect();
    match usage::explain(error, &words) {
        Some(text) => stderr::message(text),
        None => {
            let is_paged = error.exit_code() == 0 && !words.iter().any(|word| word == "--no-pager");
            let pager = is_paged.then(pager::start).flatten();
            let printed = match pager.is_some() && !display::is_without_colors() {
                true => stderr::print(&error.render().ansi().to_string()),
                false => error.print().map_err(Into::into),
            };
            drop(pager);
            if let Some(error) = printed.err().filter(|error| !stderr::is_broken_pipe(error)) {
                stderr::message(error);
                return ExitCode::from(failure);
            }
        }
    }
    if error.exit_code() == 0 { ExitCode::SUCCESS } else { ExitCode::from(failure) }
}
