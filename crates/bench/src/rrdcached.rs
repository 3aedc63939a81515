//! The benchmark of the caching daemon: `whit rrdcached` with each `--ack`, the installed rrdcached
//! with its journal, and the floor.
//!
//! *Updates*: a million of them over Unix sockets, in batches, one at a time, and from four clients.
//! The client sends texts that were made before and waits for each answer; it is the same for all,
//! and its CPU time counts.  The floor is a socket whose other end reads and answers.  *MRTG*: an
//! hour of 3,164 targets, the table of MRTG's mailing list, with and without a daemon.  *Start*:
//! 100,000 files whose readings are all in the journal.
//!
//! Every turn has a daemon and a journal of its own.  Answers are checked, and so are numbers of
//! updates; after the hour the files of all must be the same bytes.

use std::borrow::Cow;
use std::hash::{Hash as _, Hasher as _};
use std::net::{Ipv4Addr, TcpListener};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use crate::Progress;
use crate::error::{Context, Result, ensure};
use crate::measure::{Measurement, Series, own_process_cpu};
use crate::programs::{Programs, run_quietly};
use crate::report::{Report, Turns};
use crate::rrd::Preparation;
use crate::rrd::files::{self, Layout, MRTG, ONE_SOURCE};

pub(crate) mod client;
pub(crate) mod daemon;
mod hour;
mod mounts;
mod report;

use client::{Client, Load};
use daemon::{Daemon, Way};

/// A part of the benchmark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DaemonCase {
    /// Updates over sockets.
    Updates,
    /// An hour of MRTG.
    Mrtg,
    /// The start with a full journal.
    Start,
    /// Writers on other addresses.
    Writers,
    /// The hour of MRTG on other mounts.
    Mounts,
}

impl DaemonCase {
    /// All of them, in the order of the tables.
    pub const ALL: [DaemonCase; 5] = [
        DaemonCase::Updates,
        DaemonCase::Writers,
        DaemonCase::Mrtg,
        DaemonCase::Start,
        DaemonCase::Mounts,
    ];

    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            DaemonCase::Updates => "updates",
            DaemonCase::Mrtg => "mrtg",
            DaemonCase::Start => "start",
            DaemonCase::Writers => "writers",
            DaemonCase::Mounts => "mounts",
        }
    }
}

/// The size of the benchmark.
#[derive(Clone, Debug)]
pub struct DaemonPlan {
    /// Turns of each contestant.
    pub rounds: usize,
    /// The parts.
    pub cases: Vec<DaemonCase>,
    /// Updates of a turn in batches.
    pub batched: u64,
    /// Updates of a turn one at a time.
    pub single: u64,
    /// Files that these updates go to.
    pub files: u64,
    /// Targets of MRTG.
    pub targets: u64,
    /// Steps of five minutes of MRTG, and in the journal.
    pub steps: u64,
    /// Files of the journal.
    pub many: u64,
    /// Where to make the files; the temporary folder without it.
    pub folder: Option<PathBuf>,
}

/// Clients at once.
const CLIENTS: u64 = 4;
/// Updates of a batch.
const BATCHES: [u64; 2] = [1_000, 10_000];
/// `-w` where no file shall be written.
const NO_WRITES_SECONDS: u64 = 1_000_000_000;

/// Who takes part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Who {
    Floor,
    Rrdcached,
    /// With its `--ack`.
    Whit(&'static str),
}

impl Who {
    fn name(self) -> &'static str {
        match self {
            Who::Floor => "floor",
            Who::Rrdcached => "rrdcached -j",
            Who::Whit("none") => "whit --ack none",
            Who::Whit("disk") => "whit --ack disk",
            Who::Whit(_) => "whit --ack os",
        }
    }
}

/// How clients reach a daemon.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Route {
    /// By a socket file.
    Unix,
    /// By TCP, each client from an address of its own.
    Tcp,
}

/// A row of updates: the same work by everybody.
struct Row {
    name: String,
    updates: u64,
    contests: Vec<Contest>,
}

/// One contestant in one row.
struct Contest {
    series: Series,
    /// Bytes of pages that the daemon made dirty, of each turn.
    dirtied_bytes: Vec<u64>,
}

impl Contest {
    fn new(name: &str) -> Self {
        let series = Series { name: name.to_owned(), turns: Vec::new() };
        Contest { series, dirtied_bytes: Vec::new() }
    }

    fn push(&mut self, (turn, dirtied): (Measurement, u64)) {
        self.series.turns.push(turn);
        self.dirtied_bytes.push(dirtied);
    }
}

/// Times from the start of a daemon, in ms, of each turn.
struct Start {
    name: &'static str,
    first_update_ms: Vec<f64>,
    replayed_ms: Vec<f64>,
    /// From a FLUSHALL until all files are written.
    written_ms: Vec<f64>,
}

/// The results.
#[derive(Default)]
struct Results {
    updates: Vec<Row>,
    mrtg: Option<Row>,
    mounts: Vec<Row>,
    starts: Vec<Start>,
    notes: Vec<String>,
}

/// What all parts need.
struct Bench<'a> {
    plan: &'a DaemonPlan,
    programs: &'a Programs,
    rrdcached: Option<PathBuf>,
    rrdtool: Option<PathBuf>,
    folder: &'a Path,
    progress: &'a Progress<'a>,
}

/// Runs the benchmark.
///
/// # Errors
/// Those of the programs that take part and of files; wrong answers; and files that are not the
/// same afterwards.
pub fn run(plan: &DaemonPlan, programs: &Programs, progress: &Progress<'_>) -> Result<Report> {
    let Preparation { machine, folder, rrdtool } =
        Preparation::new(plan.folder.as_deref(), programs)?;
    let rrdcached = programs.path.find("rrdcached");
    let folder = folder.path().canonicalize()?;
    let bench = Bench { plan, programs, rrdcached, rrdtool, folder: &folder, progress };
    let mut results = Results::default();
    if bench.rrdcached.is_none() {
        results.notes.push("rrdcached is not installed: its lines are missing".to_owned());
    }
    for case in &plan.cases {
        match case {
            DaemonCase::Updates => bench.updates(&mut results)?,
            DaemonCase::Mrtg => bench.mrtg(&mut results)?,
            DaemonCase::Start => bench.start(&mut results)?,
            DaemonCase::Writers => bench.writers(&mut results)?,
            DaemonCase::Mounts => bench.mounts(&mut results)?,
        }
    }
    progress.done();
    let summary = report::human(plan, &results);
    let json = report::json(plan, &results, &machine);
    let rows = results.updates.iter().map(|row| ("updates", row));
    let rows = rows.chain(results.mrtg.iter().map(|row| ("mrtg", row)));
    let rows = rows.chain(results.mounts.iter().map(|row| ("mounts", row)));
    let turns: Vec<Turns<'_>> = rows
        .flat_map(|(table, row)| {
            let turns = move |contest| Turns { table, case: &row.name, series: contest };
            row.contests.iter().map(|contest| Cow::Borrowed(&contest.series)).map(turns)
        })
        .collect();
    Ok(Report::new("-rrdcached", machine, summary, json, &turns))
}

impl Bench<'_> {
    fn base(&self) -> PathBuf {
        self.folder.join("files")
    }

    fn journal(&self) -> PathBuf {
        self.folder.join("journal")
    }

    /// Starts a daemon; with an empty journal if `is_new`.
    fn daemon(&self, who: Who, write_seconds: u64, is_new: bool) -> Result<Daemon> {
        let (program, acknowledge) = match who {
            Who::Whit(acknowledge) => (&self.programs.whit, Some(acknowledge)),
            _ => (self.rrdcached.as_ref().context("rrdcached")?, None),
        };
        let journal = self.journal();
        if is_new && journal.exists() {
            std::fs::remove_dir_all(&journal)?;
        }
        let base = self.base();
        let way = Way { program, acknowledge, base: &base, write_seconds };
        Daemon::start(way, &journal).with_context(|| who.name())
    }

    /// Makes all files anew.
    fn make(&self, layout: &Layout, files: u64) -> Result<()> {
        self.progress.show(&format!("making {files} files"));
        // Made once: rows begin at a random place.
        let template = self.folder.join(format!("template{}", layout.file_bytes()));
        if !template.exists() {
            let line = format!("rrd create {} {}", template.display(), layout.definitions());
            run_quietly(Command::new(&self.programs.whit).args(line.split(' ')))?;
        }
        let bytes = std::fs::read(&template)?;
        let folder = self.base();
        if folder.exists() {
            std::fs::remove_dir_all(&folder)?;
        }
        std::fs::create_dir(&folder)?;
        for number in 0..files {
            std::fs::write(folder.join(files::name(number)), &bytes)?;
        }
        Ok(())
    }

    /// All that was written reaches the disk.
    fn clean(&self) -> std::io::Result<()> {
        let folder = std::fs::File::open(self.folder)?;
        Ok(rustix::fs::syncfs(&folder)?)
    }

    fn show(&self, name: &str, who: &str, round: usize) {
        let rounds = self.plan.rounds;
        self.progress.show(&format!("{name}: {who}, round {} of {rounds}", round + 1));
    }

    /// The rows of updates over sockets.
    fn updates(&self, results: &mut Results) -> Result<()> {
        let DaemonPlan { batched, single, files, .. } = *self.plan;
        self.make(&MRTG, files)?;
        self.clean()?;
        let steps = |updates: u64| 2..2 + (updates / files).max(1);
        for batch in BATCHES {
            let loads = [Load::new(&MRTG, 0..files, steps(batched), Some(batch))];
            self.row(&format!("one client, batches of {batch}"), &loads, Route::Unix, results)?;
        }
        self.row(
            &format!("{CLIENTS} clients, batches of {}", BATCHES[0]),
            &self.parts(batched, Some(BATCHES[0])),
            Route::Unix,
            results,
        )?;
        let loads = [Load::new(&MRTG, 0..files, steps(single), None)];
        self.row("one client, one at a time", &loads, Route::Unix, results)?;
        let name = format!("{CLIENTS} clients, one at a time each");
        self.row(&name, &self.parts(single, None), Route::Unix, results)
    }

    /// Updates by several clients, each of files of its own.
    fn parts(&self, updates: u64, batch: Option<u64>) -> Vec<Load> {
        let files = self.plan.files;
        let steps = 2..2 + (updates / files).max(1);
        let part = |client: u64| files * client / CLIENTS..files * (client + 1) / CLIENTS;
        let load = |client| Load::new(&MRTG, part(client), steps.clone(), batch);
        (0..CLIENTS).map(load).collect()
    }

    /// The rows of writers that come by TCP, each from an address of its own, to one daemon.
    fn writers(&self, results: &mut Results) -> Result<()> {
        let DaemonPlan { batched, single, files, .. } = *self.plan;
        self.make(&MRTG, files)?;
        self.clean()?;
        let name = format!("{CLIENTS} addresses, batches of {}", BATCHES[0]);
        self.row(&name, &self.parts(batched, Some(BATCHES[0])), Route::Tcp, results)?;
        let name = format!("{CLIENTS} addresses, one at a time each");
        self.row(&name, &self.parts(single, None), Route::Tcp, results)
    }

    fn row(&self, name: &str, loads: &[Load], route: Route, results: &mut Results) -> Result<()> {
        let mut who = vec![Who::Floor];
        who.extend(self.rrdcached.as_ref().map(|_| Who::Rrdcached));
        who.extend(["none", "os", "disk"].map(Who::Whit));
        let mut contests: Vec<Contest> = who.iter().map(|who| Contest::new(who.name())).collect();
        for round in 0..self.plan.rounds {
            for (who, contest) in who.iter().zip(&mut contests) {
                self.show(name, who.name(), round);
                contest.push(match who {
                    Who::Floor => floor(loads, route)?,
                    who => self.send(*who, loads, route).with_context(|| who.name())?,
                });
            }
        }
        let updates = loads.iter().map(|load| load.updates).sum();
        results.updates.push(Row { name: name.to_owned(), updates, contests });
        Ok(())
    }

    /// A turn of a daemon: each client sends its load.
    fn send(&self, who: Who, loads: &[Load], route: Route) -> Result<(Measurement, u64)> {
        let mut daemon = self.daemon(who, NO_WRITES_SECONDS, true)?;
        // The first update of a file opens it.
        let first = Load::new(&MRTG, 0..self.plan.files, 1..2, Some(BATCHES[0]));
        let mut watcher = daemon.connect()?;
        watcher.send(&first)?;
        let mut clients = Vec::new();
        for (number, _) in (1..).zip(loads) {
            clients.push(match route {
                Route::Unix => daemon.connect()?,
                Route::Tcp => daemon.connect_from(number)?,
            });
        }
        daemon.begin();
        let (sent, mut turn) = timed(|| {
            std::thread::scope(|scope| {
                let all = clients.iter_mut().zip(loads);
                let threads: Vec<_> =
                    all.map(|(client, load)| scope.spawn(move || client.send(load))).collect();
                threads.into_iter().try_for_each(joined)
            })
        });
        sent?;
        let dirtied = daemon.end(&mut turn);
        let updates = first.updates + loads.iter().map(|load| load.updates).sum::<u64>();
        watcher.wait_for("UpdatesReceived", updates)?;
        Ok((turn, dirtied))
    }

    /// A number that depends on every byte of a hundred files.
    fn hash(&self, files: u64) -> Result<u64> {
        let mut hasher = std::hash::DefaultHasher::new();
        for number in (0..files).step_by(usize::try_from(files / 100)?.max(1)) {
            std::fs::read(self.base().join(files::name(number)))?.hash(&mut hasher);
        }
        Ok(hasher.finish())
    }

    /// The start with a full journal.
    fn start(&self, results: &mut Results) -> Result<()> {
        let mut who = vec![Who::Whit("os")];
        who.extend(self.rrdcached.as_ref().map(|_| Who::Rrdcached));
        for who in who {
            let start = self.start_of(who).with_context(|| who.name())?;
            results.starts.push(start);
        }
        Ok(())
    }

    fn start_of(&self, who: Who) -> Result<Start> {
        let DaemonPlan { many, steps, rounds, .. } = *self.plan;
        self.make(&ONE_SOURCE, many)?;
        self.show("filling the journal", who.name(), 0);
        let daemon = self.daemon(who, NO_WRITES_SECONDS, true)?;
        daemon.connect()?.send(&Load::new(&ONE_SOURCE, 0..many, 1..1 + steps, Some(BATCHES[0])))?;
        daemon.stop()?;
        let (name, none) = (who.name(), Vec::new);
        let mut start =
            Start { name, first_update_ms: none(), replayed_ms: none(), written_ms: none() };
        for round in 0..rounds {
            self.show("start with a full journal", who.name(), round);
            self.clean()?;
            let daemon = self.daemon(who, NO_WRITES_SECONDS, false)?;
            let ms = || daemon.age().as_secs_f64() * 1e3;
            let mut client = daemon.connect()?;
            let step = 1 + steps + round as u64;
            client.send(&Load::new(&ONE_SOURCE, 0..1, step..step + 1, None))?;
            start.first_update_ms.push(ms());
            // This waits until the journal was read.
            let other = files::name(many - 1);
            let pending = client.ask(&format!("PENDING {other}"))?.len() as u64 - 1;
            start.replayed_ms.push(ms());
            ensure!(pending == steps, "{pending} of {steps} updates came back");
            if round + 1 == rounds {
                let begun = ms();
                client.flush_all(many)?;
                start.written_ms.push(ms() - begun);
            }
            daemon.stop()?;
        }
        Ok(start)
    }
}

/// A turn of the floor.
fn floor(loads: &[Load], route: Route) -> Result<(Measurement, u64)> {
    let mut pairs: Vec<(Client, OwnedFd)> = Vec::new();
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    for (number, _) in (1..).zip(loads) {
        pairs.push(match route {
            Route::Unix => {
                let (ours, theirs) = UnixStream::pair()?;
                (Client::new(ours)?, theirs.into())
            }
            Route::Tcp => {
                let own = Ipv4Addr::new(127, 0, 1, number);
                let ours = Client::from_address(own, listener.local_addr()?)?;
                let (theirs, _) = listener.accept()?;
                theirs.set_nodelay(true)?;
                (ours, theirs.into())
            }
        });
    }
    let (done, turn) = timed(|| {
        std::thread::scope(|scope| {
            let mut threads = Vec::new();
            for ((mut client, theirs), load) in pairs.into_iter().zip(loads) {
                threads.push(scope.spawn(move || client.send(load)));
                threads.push(scope.spawn(move || client::echo(theirs, load)));
            }
            threads.into_iter().try_for_each(joined)
        })
    });
    done?;
    Ok((turn, 0))
}

/// Does work in this process: elapsed time and the CPU time of all its threads.
fn timed<T>(work: impl FnOnce() -> T) -> (T, Measurement) {
    let (cpu, start) = (own_process_cpu(), Instant::now());
    let value = work();
    let wall_us = start.elapsed().as_micros() as u64;
    let user_us = (own_process_cpu() - cpu).as_micros() as u64;
    (value, Measurement { wall_us, user_us, ..Measurement::default() })
}

/// The result of a thread.
fn joined(thread: std::thread::ScopedJoinHandle<'_, std::io::Result<()>>) -> std::io::Result<()> {
    thread.join().unwrap_or_else(|_| Err(std::io::Error::other("a client failed")))
}
