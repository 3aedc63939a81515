//! From the command line to an engine that is ready to run.

use std::ffi::{CString, OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use anyhow::{Context as _, bail};
use run::collect::{self, Collector};
use run::engine::{
    COMMAND_BYTES_MAX, Engine, EngineError, Feed, Live, Observer, Parts, Plan, Remote, Show, Stdin,
    Summary, Way,
};
use run::input::{self, Input, Linked, Packer, Source};
use run::joblog::{self, Log};
use run::progress::Style;
use run::quote::Shell;
use run::schedule::{self, Machine as _, Schedule};
use run::spawn::Environment;
use run::template::{self, Context, Template, Values};
use run::{Record, shell, units};

use super::arguments::{
    InputArguments, OutputArguments, PackingArguments, RunArguments, ScheduleArguments,
    StringArguments,
};
use super::notice::Notices;
use super::observers::{self, Observers};
use super::progress::ProgressLine;

/// Signals that the engine takes.
const SIGNALS: &[i32] = &[libc::SIGHUP, libc::SIGINT, libc::SIGTERM, libc::SIGUSR1, libc::SIGUSR2];

/// An engine that is ready, and who is told.
pub(crate) struct Prepared {
    parts: Parts<Live>,
    observer: Box<dyn Observer>,
    /// What is run after all jobs.
    after: Vec<Vec<Vec<u8>>>,
}

impl Prepared {
    /// Runs all jobs.
    pub(crate) fn run(mut self) -> Result<Summary, EngineError> {
        let summary = Engine::new(self.parts, &mut *self.observer).run();
        super::hosts::clean(&self.after);
        summary
    }

    /// The same, with one more who is told.
    pub(crate) fn run_with(self, other: Box<dyn Observer>) -> Result<Summary, EngineError> {
        let Prepared { parts, observer, after } = self;
        let observer = Box::new(Observers(vec![other, observer]));
        Prepared { parts, observer, after }.run()
    }
}

/// Puts everything together.
pub(crate) fn prepare(mut arguments: RunArguments) -> anyhow::Result<Prepared> {
    super::hosts::check(&arguments)?;
    // The one command of a semaphore reads what we would.
    let keeps_stdin = arguments.jobs.tty || super::semaphore::is_asked(&arguments.semaphore);
    // Signals are taken before anything could start a thread.
    let mut machine = schedule::Kernel::default();
    let threads = machine.threads();
    let spawners = arguments.jobs.spawners.unwrap_or_else(|| (threads as usize / 2).clamp(1, 8));
    let world = Live::new(SIGNALS, spawners).context("cannot listen for signals")?;

    let mut schedule_options = schedule_options(&arguments.schedule)?;
    // A dry run has done nothing that could be gone on after.
    let logs = if arguments.jobs.dry_run { Vec::new() } else { logs(&arguments.output)? };
    let (command, mut sources) =
        take_sources(std::mem::take(&mut arguments.words), &arguments.input)?;
    let blocks = super::pipe::asked(&arguments, &mut sources)?;
    let RunArguments { input, packing, strings, jobs, hosts, output, .. } = &arguments;
    if hosts.nonall && (blocks.is_some() || !sources.is_empty()) {
        bail!("--nonall takes no values");
    }
    let reads_stdin = !hosts.nonall
        && (sources.iter().any(|(source, _)| *source == Source::Stdin) || sources.is_empty());
    let retried = retried(output)?;
    let mut options = match &blocks {
        Some(_) => input::Options::default(),
        None => input_options(input)?,
    };
    options.continued = packing.lines.or(packing.max_lines).is_some();
    let stdin = rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stdin(), 3)?;
    let stdin = Box::new(File::from(stdin));
    let input = input::open(sources, &options, stdin)?;

    let user_shell = match shell::Choice::parse(&jobs.shell.to_string_lossy()) {
        shell::Choice::Named(name) => named_shell(&name)?,
        _ => super::shell::of_the_user(),
    };
    let dialect = Shell::of_program(user_shell.as_os_str().as_bytes());
    let mut syntax = syntax(strings, input.names(), dialect)?;
    if jobs.dry_run {
        syntax.shell_quote = 0;
    }
    let command: Vec<Vec<u8>> = command.into_iter().map(OsString::into_vec).collect();
    let mut template = Template::parse(&command, &syntax)?;
    let takes_none = hosts.nonall || packing.replace_args == Some(0) || packing.args == Some(0);
    if blocks.is_none() && !takes_none && !template.has_values() {
        template.append_value();
    }

    let (style, is_shown) = progress_style(output);
    let needs_total = template.needs_total() || schedule_options.halt.needs_total();
    if needs_total && blocks.as_ref().is_some_and(|blocks| !blocks.knows_total()) {
        bail!(
            "--pipe does not know how many jobs there will be, which --halt N% and total_jobs() need"
        );
    }
    let needs_total =
        needs_total || (matches!(style, Style::Eta | Style::Bar) && output.total_jobs.is_none());
    let limit_command = match &schedule_options.limit {
        Some(schedule::Limit::Command(text)) => Some(shell_words(&user_shell, text)?),
        _ => None,
    };
    let hosts = super::hosts::prepare(&arguments, &syntax, &mut machine)?;
    if let Some(hosts) = &hosts {
        schedule_options.jobs = schedule::Jobs::number(hosts.slots);
    }
    let (remote, after) = hosts.map(|hosts| (hosts.remote, hosts.after)).unzip();
    let schedule = Schedule::new(schedule_options, Instant::now(), &mut machine)?;
    let slots = schedule.slots();

    let template_packing = template_packing(packing);
    let fits = fits(&template, template_packing, dialect, packing)?;
    let packer = packer(input, packing, slots);
    let feed = match retried {
        Some(commands) => Feed::Given(commands.into()),
        None if let Some(blocks) = &blocks => blocks.feed(slots, world.waker())?,
        None if arguments.hosts.nonall => {
            let hosts = remote.as_ref().map_or(0, |remote: &Remote| remote.places.len());
            Feed::Known(vec![Vec::new(); hosts].into())
        }
        None if needs_total => Feed::known(packer, fits)?,
        None if reads_stdin && !is_regular_stdin() => Feed::thread(packer, fits, world.waker())?,
        None => Feed::here(packer, fits),
    };

    let is_dry = jobs.dry_run || strings.shell_quote > 0;
    let way = way(&template, &jobs.shell, &user_shell, dialect, is_dry)?;
    let show = match () {
        () if is_dry || jobs.verbose > 0 => Show::Output,
        () if jobs.trace_commands => Show::Error,
        () => Show::Nowhere,
    };
    let needs_text =
        show != Show::Nowhere || !logs.is_empty() || output.results.is_some() || remote.is_some();
    let tag = tag(output, &syntax)?;
    let bare = |text: &OsStr| Template::parse(&[text.as_bytes().to_vec()], &syntax);
    let results = output.results.as_deref().map(|name| results(name, &syntax)).transpose()?;
    let (results, place) = results.map_or((None, None), |(results, place)| (Some(results), place));
    let own: Vec<String> = ["PARALLEL_SEQ", "PARALLEL_JOBSLOT"]
        .into_iter()
        .map(str::to_owned)
        .chain(jobs.process_slot_var.clone())
        .collect();
    let plan = Plan {
        template,
        way,
        shell: dialect,
        packing: template_packing,
        tag,
        place,
        directory: jobs.workdir.as_deref().map(bare).transpose()?,
        show,
        environment: Environment::new(environment(), &own),
        own: own.len(),
        stdin: stdin_of_jobs(keeps_stdin, blocks.as_ref())?,
        nice: jobs.nice,
        shares_group: jobs.tty,
        is_done: is_done(output)?,
        needs_text,
        limit: limit_command,
        total: output.total_jobs,
        remote,
        zone_offset_s: zone_offset_s(),
    };
    let collector = Collector::new(
        collect_options(output, results, syntax.names),
        rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stdout(), 3)?,
        rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stderr(), 3)?,
    )?;
    let machine = Box::new(machine);
    let parts = Parts { plan, feed, schedule, machine, collector, logs, world };
    let progress = ProgressLine::new(style, threads, slots, is_shown);
    let mut observers = observers::of(&arguments.watch)?;
    observers.push(Box::new(progress));
    observers.push(Box::new(Notices));
    let observer = Box::new(Observers(observers));
    Ok(Prepared { parts, observer, after: after.unwrap_or_default() })
}

/// The command's words, and the sources: those of `-a` come first.
fn take_sources(
    words: Vec<OsString>,
    input: &InputArguments,
) -> anyhow::Result<(Vec<OsString>, input::Sources)> {
    let mut separators = input::Separators::default();
    if let Some(word) = &input.arg_sep {
        separators.arguments = word.as_bytes().to_vec();
    }
    if let Some(word) = &input.arg_file_sep {
        separators.files = word.as_bytes().to_vec();
    }
    let words = words.into_iter().map(OsString::into_vec).collect();
    let (command, given) = input::split(words, &separators);
    let mut sources: input::Sources = input
        .arg_files
        .iter()
        .map(|file| {
            let bytes = file.as_bytes();
            let (name, linked) = match bytes.strip_prefix(b"+") {
                Some(name) => (name, Linked::Previous),
                None => (bytes, Linked::No),
            };
            (input::file(name.to_vec()), linked)
        })
        .collect();
    sources.extend(given);
    Ok((command.into_iter().map(OsString::from_vec).collect(), sources))
}

fn input_options(input: &InputArguments) -> anyhow::Result<input::Options> {
    let mut options = input::Options {
        link: input.link,
        shuffle: input.shuf.then(seed),
        skip_first_line: input.skip_first_line,
        no_run_if_empty: input.no_run_if_empty,
        ..input::Options::default()
    };
    if input.null {
        options.delimiter = vec![0];
    } else if let Some(text) = &input.delimiter {
        options.delimiter = input::delimiter(text.as_bytes())?;
    }
    options.columns = match (&input.colsep, input.csv) {
        (Some(separator), true) => input::Columns::Csv(separator.as_bytes().to_vec()),
        (None, true) => input::Columns::Csv(b",".to_vec()),
        (Some(regex), false) => input::Columns::Separator(regex.as_bytes().to_vec()),
        (None, false) => input::Columns::None,
    };
    options.header = match input.header.as_deref() {
        None => input::Header::None,
        Some("0") => input::Header::FileNames,
        Some(":" | ".*\\n") => input::Header::First,
        Some(other) => bail!("--header {other}: only :, .*\\n and 0 are offered"),
    };
    options.trim = match input.trim.as_deref() {
        None => None,
        Some("n") => Some(input::Trim::None),
        Some("l") => Some(input::Trim::Left),
        Some("r") => Some(input::Trim::Right),
        Some("lr" | "rl") => Some(input::Trim::Both),
        Some(other) => bail!("--trim {other}: must be n, l, r, lr or rl"),
    };
    let end = input.end.as_ref().or(input.eof.as_ref());
    options.end_of_file = end.filter(|end| !end.is_empty()).map(|end| end.as_bytes().to_vec());
    Ok(options)
}

/// Something different each time.
fn seed() -> u64 {
    use std::hash::{BuildHasher as _, Hasher as _, RandomState};
    RandomState::new().build_hasher().finish()
}

fn syntax(
    strings: &StringArguments,
    names: &[Vec<u8>],
    shell: Shell,
) -> anyhow::Result<template::Syntax> {
    let bytes = |text: &Option<OsString>| text.as_ref().map(|text| text.as_bytes().to_vec());
    let rpl = strings
        .rpl
        .iter()
        .map(|text| {
            let text = text.as_bytes();
            let at = text.iter().position(u8::is_ascii_whitespace);
            let at = at.context("--rpl needs a name, a blank and an expression")?;
            Ok((text[..at].to_vec(), text[at + 1..].to_vec()))
        })
        .collect::<anyhow::Result<_>>()?;
    let parens = strings.parens.as_ref().map(|text| {
        let text = text.as_bytes();
        let (open, close) = text.split_at(text.len() / 2);
        (open.to_vec(), close.to_vec())
    });
    Ok(template::Syntax {
        plus: strings.plus,
        parens,
        rpl,
        names: names.to_vec(),
        renames: template::Renames {
            value: bytes(&strings.replace).or_else(|| bytes(&strings.replace_default)),
            without_extension: bytes(&strings.without_extension),
            base_name: bytes(&strings.base_name),
            directory: bytes(&strings.directory),
            base_name_without_extension: bytes(&strings.base_name_without_extension),
            seq: bytes(&strings.seqreplace),
            slot: bytes(&strings.slotreplace),
        },
        quote_command: strings.quote,
        shell,
        shell_quote: strings.shell_quote.into(),
    })
}

fn schedule_options(schedule: &ScheduleArguments) -> anyhow::Result<schedule::Options> {
    let mut options = schedule::Options::default();
    if let Some(text) = &schedule.jobs {
        options.jobs = schedule::Jobs::parse(text)?;
    }
    if let Some(text) = &schedule.delay {
        options.delay =
            Some(schedule::Delay::parse(text).with_context(|| format!("--delay {text}"))?);
    }
    if let Some(text) = &schedule.timeout {
        let timeout = schedule::Timeout::parse(text);
        options.timeout = Some(timeout.with_context(|| format!("--timeout {text}"))?);
    }
    options.retries = schedule.retries;
    if let Some(text) = &schedule.halt {
        options.halt = schedule::Halt::parse(text)?;
    }
    if let Some(text) = &schedule.term_seq {
        options.term_sequence = schedule::TermSequence::parse(text)?;
    }
    options.load = schedule.load.as_deref().map(schedule::Load::parse).transpose()?;
    let size = |name: &str, text: &Option<String>| {
        let read = |text: &String| units::size(text).with_context(|| format!("{name} {text}"));
        text.as_ref().map(read).transpose()
    };
    options.memory_free_bytes = size("--memfree", &schedule.memfree)?;
    options.memory_suspend_bytes = size("--memsuspend", &schedule.memsuspend)?;
    options.no_swap = schedule.noswap;
    let limit = schedule.limit.as_ref().map(|text| schedule::Limit::parse(text.as_bytes()));
    options.limit = limit.transpose()?;
    Ok(options)
}

/// How many records a job gets at most, where that is said.
fn records_max(packing: &PackingArguments) -> Option<u64> {
    let PackingArguments { replace_args, args, lines, max_lines, .. } = *packing;
    replace_args.or(args).or(lines).or(max_lines.map(|lines| lines.max(1)))
}

fn template_packing(packing: &PackingArguments) -> template::Packing {
    if records_max(packing).is_some_and(|records| records > 1) || packing.context_replace {
        template::Packing::Repeat
    } else if packing.multiple || packing.xargs {
        template::Packing::Join
    } else {
        template::Packing::One
    }
}

fn packer(input: Input, packing: &PackingArguments, slots: u32) -> Packer {
    let fill = packing.context_replace || packing.multiple || packing.xargs;
    let spreads = (packing.context_replace || packing.multiple) && slots > 1;
    Packer::new(
        input,
        input::Packing {
            records_max: records_max(packing).unwrap_or(if fill { u64::MAX } else { 1 }),
            spread: spreads.then_some(slots),
            exact: packing.exact,
        },
    )
}

/// A number of jobs of as many digits as there may be, for measuring command lines.
const TOTAL_MAX: u64 = 999_999_999;

/// What says whether a command line with so many records can still be run.
fn fits(
    template: &Template,
    packing: template::Packing,
    shell: Shell,
    arguments: &PackingArguments,
) -> anyhow::Result<run::engine::feed::Fits> {
    let mut bytes_max = COMMAND_BYTES_MAX;
    if let Some(text) = &arguments.chars {
        let asked = units::size(text).with_context(|| format!("-s {text}"))?;
        bytes_max = bytes_max.min(usize::try_from(asked).unwrap_or(usize::MAX));
    }
    let template = template.clone();
    Ok(Box::new(move |records: &[Record]| {
        let context = Context {
            seq: 1,
            slot: 1,
            slots: 1,
            total: Some(TOTAL_MAX),
            records,
            packing,
            local_time_s: 0,
        };
        template.rendered_len(&context, Values::Quoted(shell)).is_ok_and(|bytes| bytes <= bytes_max)
    }))
}

/// A shell by name or path.
fn named_shell(name: &Path) -> anyhow::Result<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    shell::find(name.as_os_str().as_bytes(), path.as_bytes())
        .with_context(|| format!("--shell {}: no such program", name.display()))
}

/// What a shell is started with to run `text`.
fn shell_words(shell: &Path, text: &[u8]) -> anyhow::Result<(Arc<CString>, Vec<Vec<u8>>)> {
    let program = CString::new(shell.as_os_str().as_bytes())?;
    let words = vec![shell.as_os_str().as_bytes().to_vec(), b"-c".to_vec(), text.to_vec()];
    Ok((Arc::new(program), words))
}

/// How command lines become processes, decided once for all of them.
fn way(
    template: &Template,
    asked: &OsStr,
    user_shell: &Path,
    dialect: Shell,
    is_dry: bool,
) -> anyhow::Result<Way> {
    if is_dry {
        return Ok(Way::Not);
    }
    let choice = shell::Choice::parse(&asked.to_string_lossy());
    let surroundings = shell::Surroundings {
        shell: dialect,
        reads_startup_file: ["BASH_ENV", "ENV"].iter().any(|name| std::env::var_os(name).is_some()),
        functions: super::shell::functions(),
    };
    let needed = shell::needed(template, &surroundings);
    if choice == shell::Choice::Never
        && let Some(reason) = needed
    {
        bail!("--shell never: {reason}");
    }
    if needed.is_none() && !matches!(choice, shell::Choice::Named(_)) {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let found = program(template).and_then(|name| shell::find(&name, path.as_bytes()));
        match found {
            Some(program) => {
                let program = CString::new(program.into_os_string().into_vec())?;
                return Ok(Way::Direct { program: Arc::new(program) });
            }
            None if choice == shell::Choice::Never => bail!("--shell never: no such program"),
            // The shell says that it does not know it, in the words that users know.
            None => {}
        }
    }
    let (program, mut words) = shell_words(user_shell, b"")?;
    words.pop();
    Ok(Way::Shell { program, words })
}

/// The first word of a template that needs no shell: it has no values in it.
fn program(template: &Template) -> Option<Vec<u8>> {
    let mut words = template::Words::default();
    let packing = template::Packing::One;
    let context =
        Context { seq: 1, slot: 1, slots: 1, total: None, records: &[], packing, local_time_s: 0 };
    template.render_words(&context, &mut words).ok()?;
    words.iter().next().map(<[u8]>::to_vec)
}

fn tag(output: &OutputArguments, syntax: &template::Syntax) -> anyhow::Result<Option<Template>> {
    let text = match &output.tagstring {
        Some(text) => text.as_bytes().to_vec(),
        None if output.tag => match &syntax.renames.value {
            Some(name) => name.clone(),
            None => b"{}".to_vec(),
        },
        None => return Ok(None),
    };
    Ok(Some(Template::parse(&[text], syntax)?))
}

fn results(
    name: &OsStr,
    syntax: &template::Syntax,
) -> anyhow::Result<(collect::Results, Option<Template>)> {
    use collect::TableFormat::{Csv, Json, Tsv};
    let path = Path::new(name);
    for (ending, format) in [(".csv", Csv), (".tsv", Tsv), (".json", Json)] {
        if let Some(stem) = name.as_bytes().strip_suffix(ending.as_bytes()) {
            let file = (stem != b"-").then(|| path.to_owned());
            return Ok((collect::Results::Table(format, file), None));
        }
    }
    let template = Template::parse(&[name.as_bytes().to_vec()], syntax)?;
    Ok(match template.has_values() {
        true => (collect::Results::Template, Some(template)),
        false => (collect::Results::Tree(path.to_owned()), None),
    })
}

/// How progress is shown, and whether before anybody asks (SIGUSR2).
fn progress_style(output: &OutputArguments) -> (Style, bool) {
    let OutputArguments { progress, eta, bar, .. } = *output;
    match () {
        () if bar => (Style::Bar, true),
        () if eta => (Style::Eta, true),
        () => (Style::Progress, progress),
    }
}

fn collect_options(
    output: &OutputArguments,
    results: Option<collect::Results>,
    names: Vec<Vec<u8>>,
) -> collect::Options {
    let mode = match () {
        () if output.ungroup => collect::Mode::Ungroup,
        () if output.line_buffer => collect::Mode::LineBuffer,
        () => collect::Mode::Group,
    };
    let files = match () {
        () if output.files0 => Some(0),
        () if output.files => Some(b'\n'),
        () => None,
    };
    let directory = output.tmpdir.clone().unwrap_or_else(std::env::temp_dir);
    let OutputArguments { keep_order, color, color_failed, .. } = *output;
    collect::Options { mode, keep_order, files, results, names, directory, color, color_failed }
}

/// The joblog's path, and whether it is added to.
fn joblog(output: &OutputArguments) -> Option<(PathBuf, bool)> {
    let name = output.joblog.as_ref()?;
    let resumes = output.resume || output.resume_failed || output.retry_failed;
    Some(match name.as_bytes().strip_prefix(b"+") {
        Some(name) => (PathBuf::from(OsStr::from_bytes(name)), true),
        None => (PathBuf::from(name), resumes),
    })
}

fn logs(output: &OutputArguments) -> anyhow::Result<Vec<Log>> {
    let mut logs = Vec::new();
    if let Some((path, appends)) = joblog(output) {
        logs.push(match path.as_os_str() == "-" {
            true => Log::on(stdout()?, joblog::Format::Columns)?,
            false => Log::create(&path, joblog::Format::Columns, appends)?,
        });
    }
    if let Some(path) = &output.joblog_json {
        logs.push(match path.as_os_str() == "-" {
            true => Log::on(stdout()?, joblog::Format::Json)?,
            false => Log::create(path, joblog::Format::Json, false)?,
        });
    }
    Ok(logs)
}

fn stdout() -> io::Result<OwnedFd> {
    Ok(rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stdout(), 3)?)
}

/// What the joblog says of earlier runs.
fn earlier(output: &OutputArguments, option: &str) -> anyhow::Result<joblog::Done> {
    let (path, _) = joblog(output).with_context(|| format!("{option} needs --joblog"))?;
    Ok(joblog::read(&path)?)
}

fn is_done(output: &OutputArguments) -> anyhow::Result<Option<run::engine::IsDone>> {
    if output.resume_failed {
        let done = earlier(output, "--resume-failed")?;
        return Ok(Some(Box::new(move |seq| done.succeeded(seq))));
    }
    if output.resume {
        let done = earlier(output, "--resume")?;
        return Ok(Some(Box::new(move |seq| done.was_run(seq))));
    }
    Ok(None)
}

/// Jobs by their numbers and command lines.
type GivenJobs = Vec<(u64, Vec<u8>)>;

/// The jobs of `--retry-failed`.
fn retried(output: &OutputArguments) -> anyhow::Result<Option<GivenJobs>> {
    if !output.retry_failed {
        return Ok(None);
    }
    Ok(Some(earlier(output, "--retry-failed")?.into_failed()))
}

/// The environment of jobs but for what each has of its own.
fn environment() -> impl Iterator<Item = Vec<u8>> {
    let pid = format!("PARALLEL_PID={}", std::process::id()).into_bytes();
    let own = ["PARALLEL_PID", "PARALLEL_SSHLOGIN", "PARALLEL_SSHHOST"];
    let inherited = std::env::vars_os().filter(move |(name, _)| !own.iter().any(|own| name == own));
    // Jobs on other hosts have theirs.
    let here = [b"PARALLEL_SSHLOGIN=:".to_vec(), b"PARALLEL_SSHHOST=:".to_vec()];
    let text = |(name, value): (OsString, OsString)| {
        let mut text = name.into_vec();
        text.push(b'=');
        text.extend_from_slice(value.as_bytes());
        text
    };
    inherited.map(text).chain([pid]).chain(here)
}

/// What jobs read.  Whoever reads our standard input has it by now: in its place comes nothing,
/// unless jobs are to have ours.
fn stdin_of_jobs(keeps_ours: bool, blocks: Option<&super::pipe::Asked>) -> anyhow::Result<Stdin> {
    if !keeps_ours {
        let null = File::open("/dev/null").context("cannot open /dev/null")?;
        rustix::stdio::dup2_stdin(&null)?;
    }
    Ok(match blocks {
        Some(blocks) => Stdin::Block { goes_on: blocks.goes_on },
        None => Stdin::Inherited,
    })
}

fn is_regular_stdin() -> bool {
    rustix::fs::fstat(rustix::stdio::stdin())
        .is_ok_and(|stat| rustix::fs::FileType::from_raw_mode(stat.st_mode).is_file())
}

/// Seconds to be added to UTC for the time here.
fn zone_offset_s() -> i64 {
    let now = jiff::Timestamp::now();
    crate::zone::local().to_offset(now).seconds().into()
}
