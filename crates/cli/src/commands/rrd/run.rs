//! Runs a command, or answers commands from a pipe.

use std::ffi::OsString;
use std::io::{self, BufRead as _, BufReader, BufWriter, Write};
use std::process::ExitCode;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use rrd::Locking;
use rrd::command::Failure;
use rrd::header::Time;
use rrd::pipe::{Next, Session};
use rrdtool::{Tool, ToolEnvironment};

use super::{FAILURE, RrdArguments};

/// Runs the verb.
pub(crate) fn run(arguments: RrdArguments) -> anyhow::Result<ExitCode> {
    code(arguments).map(ExitCode::from)
}

/// Runs the verb, and gives the exit code.
pub(crate) fn code(arguments: RrdArguments) -> anyhow::Result<u8> {
    let text = |word: OsString| match word.into_string() {
        Ok(text) => text,
        Err(word) => word.to_string_lossy().into_owned(),
    };
    let words: Vec<String> = arguments.words.into_iter().map(text).collect();
    let world = tool();
    let mut out = BufWriter::with_capacity(1 << 16, io::stdout().lock());
    let done = match words.as_slice() {
        [pipe] if pipe == "-" => return serve(&world, out),
        [pipe, folder] if pipe == "-" => {
            if let Err(error) = std::env::set_current_dir(folder) {
                let why = rrd::reason(&error);
                crate::stderr::line(format_args!("ERROR: chdir {folder} {why}"));
                return Ok(error.raw_os_error().unwrap_or(1) as u8);
            }
            return serve(&world, out);
        }
        [] | [_] => {
            out.write_all(usage().as_bytes())?;
            Ok(())
        }
        [command, ..] if command == "help" => {
            out.write_all(usage().as_bytes())?;
            Ok(())
        }
        [command, rest @ ..] => world.run(command, rest, &mut out).unwrap_or_else(|| {
            let unknown = format!("unknown function '{command}'");
            Err(rrd::Error::Argument(unknown).into())
        }),
    };
    let flushed = out.flush();
    // The process ends now, and so does its memory.
    std::mem::forget((world, words));
    match done {
        Err(Failure::Output(error)) => Err(error.into()),
        Err(error) => {
            // The usage of `dump` has several lines, and some of RRDtool's texts end in a line break.
            for line in format!("ERROR: {error}").split('\n') {
                crate::stderr::line(line);
            }
            Ok(FAILURE)
        }
        Ok(()) => {
            flushed?;
            Ok(0)
        }
    }
}

/// What is shown for a line that is no complete command.  Programs such as Cacti and LibreNMS look
/// for RRDtool's version in the first line.
fn usage() -> String {
    let whit = env!("CARGO_PKG_VERSION");
    format!(
        "RRDtool 1.7.2  as whit {whit} has it\n\nUsage: whit rrd COMMAND ...\n\n{}\n",
        crate::help::RRD
    )
}

/// Descriptors that are left for everything but databases.
const DESCRIPTORS_LEFT: u64 = 64;

/// Answers commands from standard input until it ends.
fn serve(world: &Tool, mut out: BufWriter<io::StdoutLock<'static>>) -> anyhow::Result<u8> {
    let files_max = descriptors().saturating_sub(DESCRIPTORS_LEFT);
    // Updates for a caching daemon go there one by one.
    let is_direct = world.environment().daemon_address.is_none();
    let mut session = Session::new(usize::try_from(files_max).unwrap_or(usize::MAX));
    let mut input = BufReader::with_capacity(1 << 18, io::stdin().lock());
    let mut times = Times::new();
    let usage = usage();
    let mut line = Vec::new();
    let mut answer = |out: &mut dyn io::Write| out.write_all(times.answer());
    loop {
        // What is here already is done together; answers are written before waiting for more.
        if input.buffer().is_empty() && !is_input_waiting() {
            session.flush(world, &mut out, &mut answer)?;
            out.flush()?;
        }
        line.clear();
        let is_end = input.read_until(b'\n', &mut line)? == 0;
        if line.last() == Some(&b'\n') {
            line.pop();
        }
        if !is_end && is_direct && session.add(&line) {
            continue;
        }
        session.flush(world, &mut out, &mut answer)?;
        if is_end {
            break;
        }
        if is_direct && session.add(&line) {
            continue;
        }
        let text = String::from_utf8_lossy(&line);
        let mut other = |command: &str, words: &[String], out: &mut dyn Write| {
            world.run_graph(command, words, out)
        };
        match session.run(&text, world, &mut out, &usage, &mut other) {
            Ok(Next::Line) => answer(&mut out)?,
            Ok(Next::Quit) => break,
            Err(Failure::Output(error)) => return Err(error.into()),
            Err(error) => writeln!(out, "ERROR: {error}")?,
        }
    }
    out.flush()?;
    // The kernel closes and unmaps thousands of files together at less cost than one by one.
    std::mem::forget(session);
    Ok(0)
}

/// Whether standard input has more, without waiting for it.
fn is_input_waiting() -> bool {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    let stdin = io::stdin();
    let mut input = [PollFd::new(&stdin, PollFlags::IN)];
    let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
    poll(&mut input, Some(&at_once)).is_ok_and(|ready| ready > 0)
}

/// Raises the number of open files to what is allowed, and gives it.
fn descriptors() -> u64 {
    match connection::allow_descriptors(u64::MAX) {
        u64::MAX => 1 << 20,
        allowed => allowed,
    }
}

/// The times of the line `OK`: CPU time of this process and time since its start.
struct Times {
    start: Instant,
    /// Hundredths of a second since the start, of `line`.
    shown: u128,
    line: String,
}

impl Times {
    fn new() -> Self {
        Self { start: Instant::now(), shown: u128::MAX, line: String::new() }
    }

    /// The line; it changes a hundred times a second at most.
    fn answer(&mut self) -> &[u8] {
        let elapsed = self.start.elapsed();
        let hundredths = elapsed.as_millis() / 10;
        if hundredths != self.shown {
            self.shown = hundredths;
            let [user, system] = cpu_seconds();
            let real = elapsed.as_secs_f64();
            self.line = format!("OK u:{user:.2} s:{system:.2} r:{real:.2}\n");
        }
        self.line.as_bytes()
    }
}

/// User and system time of this process, in seconds.
fn cpu_seconds() -> [f64; 2] {
    // SAFETY: `rusage` is plain numbers, for which zero is a value; the call fills it.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_SELF, &raw mut usage);
        usage
    };
    let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 / 1e6;
    [seconds(usage.ru_utime), seconds(usage.ru_stime)]
}

/// The commands on this machine: its clock, its time zone and RRDtool's variables.
fn tool() -> Tool {
    let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    let mut here = ToolEnvironment::new(now, calendar::CivilZone::found_by(crate::zone::local));
    here.locking = variable("RRD_LOCKING").and_then(|word| Locking::of(&word)).unwrap_or_default();
    here.default_font = variable("RRD_DEFAULT_FONT");
    here.daemon_address = variable("RRDCACHED_ADDRESS");
    here.stripped_folder = variable("RRDCACHED_STRIPPATH");
    here.tls = crate::export::tls_files();
    Tool::new(here)
}

fn now() -> Time {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Time { seconds: now.as_secs() as i64, microseconds: i64::from(now.subsec_micros()) }
}
