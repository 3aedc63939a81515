//! The engine over simulated processes and a simulated clock: nothing is started and nobody waits.

use std::cell::Cell;
use std::collections::{BTreeMap, VecDeque};
use std::fs::File;
use std::io::{self, Read as _, Seek as _, Write as _};
use std::os::fd::{BorrowedFd, OwnedFd, RawFd};
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use run::collect::{self, Collector};
use run::engine::{
    Engine, EngineEvent, EngineOptions, EngineParts, Interest, JobSource, JobStdin, Observer,
    OperatingSystem, RunOutcome, ShowCommand, StartMethod,
};
use run::input::{self, InputSource, Packer};
use run::joblog::{Format, Log};
use run::schedule::{self, Delay, Halt, Jobs, Limit, Schedule, Timeout};
use spawn::{Child, Environment, Launch, Reaped, ResourceUsage, SpawnError};
use template::Record;
use template::quote::Shell;
use template::{Packing, Syntax, Template};

/// The slot that stands for the command of `--limit`.
const LIMIT: u32 = 0;

/// What a simulated command does: `TIME EXIT TEXT`, in milliseconds.
struct Script {
    takes: Duration,
    exit: u8,
    text: String,
}

impl Script {
    fn of(launch: &Launch) -> Script {
        let line = launch.arguments.words().last().unwrap_or_default();
        let line = String::from_utf8(line.to_vec()).expect("text");
        let mut words = line.splitn(3, ' ');
        let mut number =
            || words.next().and_then(|word| word.parse::<u64>().ok()).expect("a number");
        let (takes, exit) = (Duration::from_millis(number()), number());
        Script {
            takes,
            exit: u8::try_from(exit).expect("a code"),
            text: words.next().unwrap_or("").into(),
        }
    }
}

/// A machine that is not there.
struct Fake {
    now: Rc<Cell<Instant>>,
    origin: Instant,
    started: VecDeque<EngineEvent>,
    /// Ends by their moments, and in the order of starts.
    ends: BTreeMap<(Instant, i32), (u8, u8)>,
    pids: i32,
    /// So many starts fail for want of a process.
    refusals: u32,
    /// What the command of `--limit` answers, in this order: an exit code, or none if there is no
    /// such program.
    limit: VecDeque<Option<u8>>,
    /// The most that ran at once.
    most: Rc<Cell<usize>>,
}

impl Fake {
    fn advance(&self, to: Instant) {
        self.now.set(self.now.get().max(to));
    }

    /// Runs the command of `--limit` as one of several spawning threads does whose news comes
    /// late: it has ended, and been reaped, before its start is told.
    fn answer(&mut self, launch: Box<Launch>) {
        let answer = self.limit.pop_front().expect("the limit is not asked so often");
        self.pids += 1;
        let pid = self.pids;
        let exit = Some(answer.unwrap_or(127));
        let reaped = Reaped { pid, exit, signal: 0, usage: ResourceUsage::default() };
        self.started.push_back(EngineEvent::Ended(reaped));
        let child = Child::new(pid, launch);
        let child = if answer.is_some() { child } else { child.failing(libc::ENOENT) };
        self.started.push_back(EngineEvent::Started {
            slot: LIMIT,
            result: Ok(child),
            at: self.now(),
        });
    }
}

impl OperatingSystem for Fake {
    fn now(&self) -> Instant {
        self.now.get()
    }

    fn epoch_ns(&self, at: Instant) -> u64 {
        1_700_000_000_000_000_000 + u64::try_from((at - self.origin).as_nanos()).expect("a time")
    }

    fn spawn(&mut self, slot: u32, launch: Box<Launch>) {
        if slot == LIMIT {
            return self.answer(launch);
        }
        let result = if self.refusals > 0 {
            self.refusals -= 1;
            let error = io::Error::from_raw_os_error(libc::EAGAIN);
            Err((launch, SpawnError::Busy(error)))
        } else {
            let script = Script::of(&launch);
            // SAFETY: the collector keeps what it hands out open until the job is closed.
            let stdout = launch.streams[1].map(|fd| unsafe { BorrowedFd::borrow_raw(fd) });
            let mut stdout =
                File::from(stdout.expect("a stream").try_clone_to_owned().expect("a copy"));
            stdout.write_all(script.text.as_bytes()).expect("written");
            self.pids += 1;
            self.ends.insert((self.now() + script.takes, self.pids), (script.exit, 0));
            self.most.set(self.most.get().max(self.ends.len()));
            Ok(Child::new(self.pids, launch))
        };
        self.started.push_back(EngineEvent::Started { slot, result, at: self.now() });
    }

    fn signal(&mut self, pid: i32, signal: i32) {
        let key = self.ends.keys().find(|(_, other)| *other == pid).copied();
        if let Some(key) = key {
            self.ends.remove(&key);
            self.ends.insert((self.now(), pid), (0, u8::try_from(signal).expect("a signal")));
        }
    }

    fn stop(&mut self) {}

    fn is_gone(&self, _pid: i32) -> bool {
        true
    }

    fn signal_rest(&mut self, _pid: i32, _signal: i32) {}

    fn watch(&mut self, _fd: RawFd, _interest: Interest) -> io::Result<()> {
        Ok(())
    }

    fn forget(&mut self, _fd: RawFd) {}

    fn wait(&mut self, until: Option<Instant>, events: &mut Vec<EngineEvent>) -> io::Result<()> {
        if !self.started.is_empty() {
            events.extend(self.started.drain(..));
            return Ok(());
        }
        let next = self.ends.keys().next().copied();
        match (next, until) {
            (Some((at, _)), Some(until)) if until < at => self.advance(until),
            (None, Some(until)) => self.advance(until),
            (None, None) => panic!("nothing runs and no timer is set: this would wait for ever"),
            (Some(key @ (at, pid)), _) => {
                self.advance(at);
                let (exit, signal) = self.ends.remove(&key).expect("an end");
                let exit = (signal == 0).then_some(exit);
                events.push(EngineEvent::Ended(Reaped {
                    pid,
                    exit,
                    signal,
                    usage: ResourceUsage::default(),
                }));
            }
        }
        Ok(())
    }
}

/// Keeps what is told.
#[derive(Default)]
struct Messages(Vec<String>);

impl Observer for Messages {
    fn warn(&mut self, text: &[u8]) {
        self.0.push(String::from_utf8_lossy(text).into_owned());
    }

    fn show_command(&mut self, command: &[u8]) {
        self.warn(command);
    }
}

/// What a run came to.
struct Run {
    output: String,
    /// Lines of the joblog: number, start and run time in milliseconds, exit value, signal.
    log: Vec<(u64, u64, u64, i32, i32)>,
    run_outcome: RunOutcome,
    told: Vec<String>,
    most: usize,
    /// From the beginning to the end of the run.
    took: Duration,
}

/// What is run.
#[derive(Default)]
struct Given<'a> {
    scripts: &'a [&'a str],
    jobs: u32,
    options: schedule::ScheduleOptions,
    keep_order: bool,
    refusals: u32,
    limit: &'a [Option<u8>],
    /// Jobs need no shell, and nobody asks for their command lines beforehand.
    is_direct: bool,
}

impl Given<'_> {
    fn options(&self) -> EngineOptions {
        let words = if self.is_direct { vec![b"job".to_vec()] } else { Vec::new() };
        let mut template = Template::parse(&words, &Syntax::default()).expect("a template");
        template.append_value();
        let program = Arc::new(c"sh".into());
        EngineOptions {
            template,
            start_method: match self.is_direct {
                true => StartMethod::Direct { program },
                false => StartMethod::Shell {
                    program,
                    words: vec![b"sh".to_vec()],
                    prologue: Vec::new(),
                },
            },
            shell: Shell::default(),
            packing: Packing::One,
            tag: None,
            place: None,
            directory: None,
            show: ShowCommand::Nowhere,
            environment: Environment::new([], &[]),
            own: 0,
            stdin: JobStdin::Inherited,
            descriptors: None,
            shortage: None,
            nice: 0,
            shares_group: false,
            is_done: None,
            own_folders: None,
            retries: None,
            resumes_results: false,
            needs_text: !self.is_direct,
            limit: Some((Arc::new(c"limit".into()), vec![b"limit".to_vec()])),
            remote: None,
            total: None,
            filters: Vec::new(),
            zone_offset_s: 0,
        }
    }

    fn job_source(&self) -> JobSource {
        let values = self.scripts.iter().map(|script| script.as_bytes().to_vec()).collect();
        let sources = vec![(InputSource::Arguments(values), input::Linked::No)];
        let options = input::InputOptions::default();
        let input = input::open(sources, &options, Box::new(io::empty())).expect("input");
        let packer = Packer::new(input, input::RecordPacking::default());
        JobSource::here(packer, Box::new(|_, _: &[Record]| true))
    }

    /// Runs it.
    fn simulate(self) -> Run {
        let folder = tempfile::tempdir().expect("a folder");
        let now = Instant::now();
        let mut machine = schedule::LocalMachine::default();
        let (engine_options, job_source) = (self.options(), self.job_source());
        let options = schedule::ScheduleOptions { jobs: Jobs::number(self.jobs), ..self.options };
        let schedule = Schedule::new(options, now, &mut machine).expect("a schedule");
        let mut output = tempfile::tempfile().expect("a file");
        let copy = |file: &File| OwnedFd::from(file.try_clone().expect("a copy"));
        let options = collect::OutputOptions {
            keep_order: self.keep_order,
            directory: folder.path().into(),
            ..Default::default()
        };
        let collector = Collector::new(options, copy(&output), copy(&output)).expect("a collector");
        let joblog = folder.path().join("joblog");
        let log = Log::create(&joblog, Format::Columns, false).expect("a log");
        let (clock, most) = (Rc::new(Cell::new(now)), Rc::<Cell<usize>>::default());
        let os = Fake {
            now: clock.clone(),
            origin: now,
            started: VecDeque::new(),
            ends: BTreeMap::new(),
            pids: 0,
            refusals: self.refusals,
            limit: self.limit.iter().copied().collect(),
            most: most.clone(),
        };
        let machine = Box::new(machine);
        let parts = EngineParts {
            options: engine_options,
            job_source,
            schedule,
            machine,
            collector,
            logs: vec![log],
            os,
        };
        let mut told = Messages::default();
        let run_outcome = Engine::new(parts, &mut told).run().expect("run");
        let mut text = String::new();
        output.rewind().expect("a beginning");
        output.read_to_string(&mut text).expect("text");
        let log = std::fs::read_to_string(joblog).expect("a joblog");
        let log = log.lines().skip(1).map(columns).collect();
        Run {
            output: text,
            log,
            run_outcome,
            told: told.0,
            most: most.get(),
            took: clock.get() - now,
        }
    }
}

fn columns(line: &str) -> (u64, u64, u64, i32, i32) {
    let fields: Vec<&str> = line.split('\t').collect();
    let ms = |text: &str| (text.trim().parse::<f64>().expect("a time") * 1e3).round() as u64;
    let number = |text: &str| text.parse().expect("a number");
    let start_ms = ms(fields[2]) - 1_700_000_000_000;
    (
        fields[0].parse().expect("a number"),
        start_ms,
        ms(fields[3]),
        number(fields[6]),
        number(fields[7]),
    )
}

#[test]
fn as_many_as_there_are_slots_run_and_the_next_one_starts_at_an_end() {
    let scripts = &["30 0 a", "10 0 b", "10 0 c", "20 3 d"];
    let run = Given { scripts, jobs: 2, ..Given::default() }.simulate();
    assert_eq!(run.log, [(2, 0, 10, 0, 0), (3, 10, 10, 0, 0), (1, 0, 30, 0, 0), (4, 20, 20, 3, 0)]);
    assert_eq!((run.output.as_str(), run.most), ("bcad", 2));
    assert_eq!(
        (run.run_outcome.exit_code, run.run_outcome.failed, run.run_outcome.ended),
        (1, 1, 4)
    );
    assert!(run.told.is_empty());
}

#[test]
fn order_is_kept_whoever_ends_first() {
    let scripts = &["30 0 a", "10 0 b", "5 0 c", "20 0 d"];
    let run = Given { scripts, jobs: 4, keep_order: true, ..Given::default() }.simulate();
    assert_eq!(run.output, "abcd");
    assert_eq!(run.log.iter().map(|line| line.0).collect::<Vec<_>>(), [1, 2, 3, 4]);
}

#[test]
fn a_timeout_ends_a_job_to_the_millisecond_and_names_its_command() {
    for is_direct in [false, true] {
        let timeout = Some(Timeout::Fixed(Duration::from_millis(500)));
        let options = schedule::ScheduleOptions { timeout, ..Default::default() };
        let scripts = &["3000 0 late", "400 0 soon"];
        let run = Given { scripts, jobs: 2, options, is_direct, ..Given::default() }.simulate();
        assert_eq!(run.log, [(2, 0, 400, 0, 0), (1, 0, 500, -1, libc::SIGTERM)]);
        let command = if is_direct { "job '3000 0 late'" } else { "3000 0 late" };
        assert_eq!(run.told, [format!("job 1 timed out: {command}")]);
        assert_eq!(run.run_outcome.exit_code, 1);
    }
}

#[test]
fn failed_jobs_are_tried_again_and_logged_once() {
    let options = schedule::ScheduleOptions { retries: Some(3), ..Default::default() };
    let scripts = &["10 1 x", "10 0 y"];
    let run = Given { scripts, jobs: 1, options, ..Given::default() }.simulate();
    assert_eq!(run.log.iter().map(|line| (line.0, line.3)).collect::<Vec<_>>(), [(1, 1), (2, 0)]);
    assert_eq!(run.output, "xy", "the output of the attempts before is dropped");
}

#[test]
fn without_processes_jobs_wait_and_none_is_lost() {
    let scripts = &["10 0 a", "10 0 b", "10 0 c", "10 0 d"];
    let given = Given { scripts, jobs: 3, keep_order: true, refusals: 5, ..Given::default() };
    let run = given.simulate();
    assert_eq!(run.output, "abcd");
    assert_eq!(run.run_outcome.ended, 4);
    assert_eq!(run.told.len(), 1, "told once: {:?}", run.told);
}

#[test]
fn halt_now_ends_those_that_run_and_starts_no_more() {
    let halt = Halt::parse("now,fail=1").expect("a halt");
    let options = schedule::ScheduleOptions { halt, ..Default::default() };
    let scripts = &["50 0 a", "10 7 b", "50 0 c", "50 0 d"];
    let run = Given { scripts, jobs: 3, options, is_direct: true, ..Given::default() }.simulate();
    assert_eq!(run.log, [(2, 0, 10, 7, 0)], "the others have neither output nor a line");
    assert_eq!((run.output.as_str(), run.run_outcome.exit_code), ("b", 7));
    assert_eq!(run.told, ["this job failed: job '10 7 b'"]);
}

#[test]
fn the_answer_of_a_limit_is_heard_whose_end_comes_before_its_start() {
    let limit = Some(Limit::parse(b"limit").expect("a limit"));
    let options = schedule::ScheduleOptions { limit, ..Default::default() };
    let scripts = &["10 0 a", "10 0 b"];
    let answers = &[Some(1), Some(0), Some(0)];
    let run = Given { scripts, jobs: 1, options, limit: answers, ..Given::default() }.simulate();
    assert_eq!(run.log, [(1, 1000, 10, 0, 0), (2, 1010, 10, 0, 0)]);
    assert_eq!(run.output, "ab");
}

#[test]
fn a_limit_that_cannot_run_holds_jobs_back_and_is_told() {
    let limit = Some(Limit::parse(b"limit").expect("a limit"));
    let options = schedule::ScheduleOptions { limit, ..Default::default() };
    let answers = &[None, Some(0)];
    let run = Given { scripts: &["10 0 a"], jobs: 1, options, limit: answers, ..Given::default() };
    let run = run.simulate();
    assert_eq!(run.log, [(1, 1000, 10, 0, 0)]);
    assert_eq!(run.told.len(), 1, "{:?}", run.told);
}

#[test]
fn nothing_is_waited_for_when_no_job_is_left() {
    let delay = Some(Delay::parse("5").expect("a delay"));
    let options = schedule::ScheduleOptions { delay, ..Default::default() };
    let run =
        Given { scripts: &["10 0 a", "10 0 b"], jobs: 1, options, ..Given::default() }.simulate();
    assert_eq!(run.log, [(1, 0, 10, 0, 0), (2, 5000, 10, 0, 0)]);
    assert_eq!(run.took, Duration::from_millis(5010));
}
